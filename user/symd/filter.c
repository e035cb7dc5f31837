// SPDX-License-Identifier: BSD-2-Clause
/*
 * The system calls that parsing needs. What libraries try but can do without is answered EACCES: libdw opens
 * files that a hostile file names. All else kills the process, as does another architecture's call table.
 * Written as plain BPF: a table of 35 rows needs no library.
 */
#include "symd/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH    AUDIT_ARCH_X86_64
/* The x32 table shares the architecture: its numbers start here. */
#define NUMBERS 0x40000000
#elif defined(__aarch64__)
#define ARCH    AUDIT_ARCH_AARCH64
#define NUMBERS 0x40000000
#endif

enum answer { ALLOW, REFUSE, ALLOW_NO_EXEC, ALLOW_STDERR };

static const struct row {
	uint16_t nr;
	uint16_t answer; /* enum answer */
} rows[] = {
	/* Most frequent first: rows are tried in order. */
	{ SYS_pread64, ALLOW },
	{ SYS_recvmsg, ALLOW },
	{ SYS_sendmsg, ALLOW },
	{ SYS_brk, ALLOW },
	{ SYS_mmap, ALLOW_NO_EXEC },
	{ SYS_munmap, ALLOW },
	{ SYS_mremap, ALLOW },
	{ SYS_mprotect, ALLOW_NO_EXEC },
	{ SYS_madvise, ALLOW },
	{ SYS_read, ALLOW },
	{ SYS_lseek, ALLOW },
	{ SYS_fstat, ALLOW },
	{ SYS_newfstatat, ALLOW }, /* glibc's fstat */
	{ SYS_close, ALLOW },
	{ SYS_fcntl, ALLOW }, /* descriptors are duplicated */
	{ SYS_futex, ALLOW },
	{ SYS_clock_gettime, ALLOW },
	{ SYS_getrandom, ALLOW },
	{ SYS_sysinfo, ALLOW }, /* glibc's qsort */
	{ SYS_rt_sigreturn, ALLOW },
	{ SYS_exit_group, ALLOW },
	{ SYS_write, ALLOW_STDERR },
#ifdef SYS_open
	{ SYS_open, REFUSE },
	{ SYS_stat, REFUSE },
	{ SYS_lstat, REFUSE },
	{ SYS_access, REFUSE },
	{ SYS_readlink, REFUSE },
#endif
	{ SYS_openat, REFUSE },
	{ SYS_readlinkat, REFUSE },
	{ SYS_faccessat, REFUSE },
	{ SYS_statx, REFUSE },
	{ SYS_getcwd, REFUSE },
#ifdef __SANITIZE_ADDRESS__
	/* What ASan's runtime calls beyond that, reporting included. */
	{ SYS_sigaltstack, ALLOW },
	{ SYS_rt_sigaction, ALLOW },
	{ SYS_rt_sigprocmask, ALLOW },
	{ SYS_gettid, ALLOW },
	{ SYS_getpid, ALLOW },
	{ SYS_sched_yield, ALLOW },
#endif
};

struct program {
	struct sock_filter code[8 + 6 * sizeof(rows) / sizeof(rows[0])];
	unsigned short n;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->code[p->n++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void finish(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

/* The low half of argument @i; all that is asked of one here lies in it. */
static size_t argument(unsigned int i)
{
	return offsetof(struct seccomp_data, args) + i * sizeof(__u64);
}

static void add_row(struct program *p, const struct row *row)
{
	bool plain = row->answer == ALLOW || row->answer == REFUSE;

	emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->nr, 0, plain ? 1 : 4);
	if (row->answer == ALLOW_NO_EXEC) {
		load(p, argument(2));
		emit(p, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
		finish(p, SECCOMP_RET_KILL_PROCESS);
	} else if (row->answer == ALLOW_STDERR) {
		load(p, argument(0));
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, STDERR_FILENO, 1, 0);
		finish(p, SECCOMP_RET_KILL_PROCESS);
	}
	finish(p, row->answer == REFUSE ? SECCOMP_RET_ERRNO | EACCES : SECCOMP_RET_ALLOW);
}

int hl_sandbox_filter(void)
{
	struct program p = { .n = 0 };
	struct sock_fprog prog = { .filter = p.code };

	load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	finish(&p, SECCOMP_RET_KILL_PROCESS);
	load(&p, offsetof(struct seccomp_data, nr));
	emit(&p, BPF_JMP | BPF_JGE | BPF_K, NUMBERS, 0, 1);
	finish(&p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add_row(&p, &rows[i]);
	finish(&p, SECCOMP_RET_KILL_PROCESS);
	prog.len = p.n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) ? -errno : 0;
}
