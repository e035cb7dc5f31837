// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order matters. Limits and namespaces come first, since they need privileges; the identity next, since
 * changing it clears the parent-death signal and the dumpable flag, which are set after it; the filter last,
 * since it forbids all of this. A root of its own is a tmpfs that was never mounted anywhere: nothing has to
 * be made and removed in the host's file system, and nothing can be made in it.
 */
#include "symd/sandbox.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symd/client.h"

enum { NOBODY = 65534, DESCRIPTORS = 1024 };

static bool limit(int resource, rlim_t value)
{
	struct rlimit old, limit = { value, value };

	if (getrlimit(resource, &old) == 0 && old.rlim_max < value)
		limit = (struct rlimit){ old.rlim_max, old.rlim_max };
	return setrlimit(resource, &limit) == 0;
}

/*
 * The time limit is the parent's, which sees wall time too. FSIZE 0 also kills on writing to a file. ASan
 * reserves terabytes of address space.
 */
static bool set_limits(uint32_t memory_mb)
{
	bool all = limit(RLIMIT_CORE, 0) & limit(RLIMIT_NPROC, 0) & limit(RLIMIT_FSIZE, 0) &
		   limit(RLIMIT_MEMLOCK, 0) & limit(RLIMIT_NOFILE, DESCRIPTORS);

#ifndef __SANITIZE_ADDRESS__
	if (memory_mb)
		all &= limit(RLIMIT_AS, (rlim_t)memory_mb << 20);
#endif
	return all;
}

/* Without CAP_SYS_ADMIN a user namespace gives the right to the others, where the host allows that. */
static bool leave_namespaces(void)
{
	const int own = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	return unshare(own) == 0 || unshare(own | CLONE_NEWUSER) == 0;
}

/* fsopen(2) and its kin: Linux 5.2. */
static bool leave_root(void)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	_cleanup_close_ int root = -1;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return false;
	root = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
			    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return root >= 0 && fchdir(root) == 0 && chroot(".") == 0 && chdir("/") == 0;
}

/* Dropping the bounding set needs CAP_SETPCAP; without it NO_NEW_PRIVS does the same. */
static void empty_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static bool become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

uint32_t hl_sandbox_enter(uint32_t memory_mb)
{
	uint32_t guards = 0;

	guards |= set_limits(memory_mb) ? HL_GUARD_LIMITS : 0;
	guards |= leave_namespaces() ? HL_GUARD_NAMESPACES : 0;
	guards |= leave_root() ? HL_GUARD_ROOT : 0;
	empty_bounding_set();
	guards |= become_nobody() ? HL_GUARD_NOBODY : 0;
	guards |= drop_capabilities() ? HL_GUARD_NO_CAPS : 0;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	guards |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? HL_GUARD_NO_NEW_PRIVS : 0;
	guards |= hl_sandbox_filter() == 0 ? HL_GUARD_FILTER : 0;
	return guards;
}
