// SPDX-License-Identifier: BSD-2-Clause
#include "command/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/nobody.h"

#define BIT(cap) (UINT64_C(1) << (cap))

enum when { ALWAYS, WRITES_ELSEWHERE, PARANOID };

static const struct {
	struct hl_privilege privilege;
	enum when when;
} rows[] = {
	{ { CAP_BPF, "CAP_BPF", "new unwind tables" }, ALWAYS },
	{ { CAP_PERFMON, "CAP_PERFMON", "CPUs that come back" }, ALWAYS },
	{ { CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "CPUs that come back, as kernel.perf_event_paranoid is above 2" },
	  PARANOID },
	{ { CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "files of others' processes" }, ALWAYS },
	{ { CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "files that only their owner may read" }, ALWAYS },
	{ { CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", "deleted files" }, ALWAYS },
	{ { CAP_SYSLOG, "CAP_SYSLOG", "kernel names" }, ALWAYS },
	{ { CAP_KILL, "CAP_KILL", "to end symd, which runs as nobody" }, ALWAYS },
	{ { CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "outputs in others' directories" }, WRITES_ELSEWHERE },
	{ { CAP_FOWNER, "CAP_FOWNER", "the same" }, WRITES_ELSEWHERE },
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };
_Static_assert(sizeof(rows) / sizeof(rows[0]) <= HL_PRIVILEGES, "room in hl_privileges_kept()");

/* What a child of root needs in order to lock itself in (user/symd/sandbox.c). */
#define FOR_SYMD \
	(BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP))

static bool is_paranoid(void)
{
	_cleanup_free_ char *text = NULL;

	return hl_read_file_at(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 64, &text, NULL) < 0 ||
	       strtol(text, NULL, 10) > 2;
}

/* capget(2) and capset(2) in their only form that knows 64 capabilities. */
struct sets {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int get_sets(struct sets *ret)
{
	*ret = (struct sets){ .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
	return syscall(SYS_capget, &ret->header, ret->data) ? -errno : 0;
}

static uint64_t permitted(const struct sets *sets)
{
	return sets->data[0].permitted | (uint64_t)sets->data[1].permitted << 32;
}

unsigned int hl_privileges_kept(bool writes_elsewhere, const struct hl_privilege **ret,
				unsigned int *ret_dropped)
{
	bool paranoid = is_paranoid();
	unsigned int n = 0;
	struct sets sets;
	uint64_t have;

	if (get_sets(&sets))
		sets = (struct sets){ 0 };
	have = permitted(&sets);
	for (int i = 0; i < N_ROWS; i++) {
		if (!(have & BIT(rows[i].privilege.cap)) ||
		    (rows[i].when == WRITES_ELSEWHERE && !writes_elsewhere) ||
		    (rows[i].when == PARANOID && !paranoid))
			continue;
		ret[n++] = &rows[i].privilege;
	}
	*ret_dropped = (unsigned int)__builtin_popcountll(have) - n;
	return n;
}

int hl_privileges_drop(bool writes_elsewhere, struct hl_err *err)
{
	const struct hl_privilege *kept[HL_PRIVILEGES];
	unsigned int dropped, n = hl_privileges_kept(writes_elsewhere, kept, &dropped);
	uint64_t keep = 0;
	int r;

	for (unsigned int i = 0; i < n; i++)
		keep |= BIT(kept[i]->cap);
	/* Without CAP_SETPCAP there is nothing to lose either: a new program gets nothing. */
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!((keep | FOR_SYMD) & BIT(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	r = hl_keep_capabilities(keep);
	return r ? hl_err_errno(err, r, "cannot drop capabilities") : 0;
}
