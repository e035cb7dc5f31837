// SPDX-License-Identifier: BSD-2-Clause
/*
 * The order matters. Limits and namespaces come first, since they need privileges; the identity next, since
 * changing it clears the parent-death signal and the dumpable flag, which are set after it; the filter last,
 * since it forbids all of this. A root of its own is a tmpfs that was never mounted anywhere: nothing has to
 * be made and removed in the host's file system, and nothing can be made in it.
 */
#include "symd/sandbox.h"

#include <errno.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nobody.h"
#include "symd/client.h"

enum { DESCRIPTORS = 1024 };

/*
 * The time limit is the parent's, which sees wall time too. FSIZE 0 also kills on writing to a file. ASan
 * reserves terabytes of address space.
 */
static bool set_limits(uint32_t memory_mb)
{
	static const struct {
		int resource;
		rlim_t limit;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NPROC, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_NOFILE, DESCRIPTORS },
	};
	bool all = true;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (!hl_limit_resource(limits[i].resource, limits[i].limit))
			all = false;
#ifndef __SANITIZE_ADDRESS__
	if (memory_mb && !hl_limit_resource(RLIMIT_AS, (rlim_t)memory_mb << 20))
		all = false;
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

uint32_t hl_sandbox_enter(uint32_t memory_mb)
{
	uint32_t guards = 0;

	guards |= set_limits(memory_mb) ? HL_GUARD_LIMITS : 0;
	guards |= leave_namespaces() ? HL_GUARD_NAMESPACES : 0;
	guards |= leave_root() ? HL_GUARD_ROOT : 0;
	hl_empty_bounding_set(); /* or else NO_NEW_PRIVS does the same */
	guards |= hl_become_nobody() ? HL_GUARD_NOBODY : 0;
	guards |= hl_drop_capabilities() ? HL_GUARD_NO_CAPS : 0;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	guards |= prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? HL_GUARD_NO_NEW_PRIVS : 0;
	guards |= hl_sandbox_filter() == 0 ? HL_GUARD_FILTER : 0;
	return guards;
}
