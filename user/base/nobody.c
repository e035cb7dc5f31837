// SPDX-License-Identifier: BSD-2-Clause
#include "base/nobody.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool hl_limit_resource(int resource, uint64_t value)
{
	struct rlimit old, limit = { value, value };

	if (getrlimit(resource, &old) == 0 && old.rlim_max < value)
		limit = (struct rlimit){ old.rlim_max, old.rlim_max };
	return setrlimit(resource, &limit) == 0;
}

void hl_empty_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

bool hl_become_nobody(void)
{
	return setgroups(0, NULL) == 0 && setresgid(HL_NOBODY, HL_NOBODY, HL_NOBODY) == 0 &&
	       setresuid(HL_NOBODY, HL_NOBODY, HL_NOBODY) == 0;
}

bool hl_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0;
}

int hl_keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, data))
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}
