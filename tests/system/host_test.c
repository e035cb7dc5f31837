// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* The whole host while compilers, an interpreter and a JIT work: every sample ends in its instruction. */

/* A program of the load, the process its samples stand under, and the shell command that keeps it busy. */
struct program {
	const char *tool, *root, *command;
	pid_t pid;
};

static struct program programs[] = {
	{ "gcc", "cc1",
	  "while gcc -O2 -Iuser -Iinclude -D_GNU_SOURCE -c user/render/svg.c -o %scc.o; do :; done", 0 },
	{ "python3", "python3",
	  "exec python3 -c 'd = {}\nwhile True:\n  for i in range(9999): d[str(i)] = d.get(str(i // 2), i)' "
	  "# %s",
	  0 },
	{ "node", "node",
	  "exec node -e 'let s = 0; for (;;) s = (s * 31 + [3, 1, 2].sort().length + s %% 7) | 0' # %s", 0 },
	{ "rustc", "rustc",
	  "printf 'fn main() { let v: Vec<u64> = (0..9).map(|x| x * x).collect(); println!(\"{:?}\", v); }' "
	  ">%1$sm.rs; while rustc -O -o %1$sm %1$sm.rs; do :; done",
	  0 },
};

enum { N_PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

/* Starts all that are installed; how many. They are process groups, to be ended with all they start. */
static unsigned int start_programs(void)
{
	unsigned int n = 0;

	for (int i = 0; i < N_PROGRAMS; i++) {
		struct program *p = &programs[i];
		char command[1024];

		if (shell("%s --version >/dev/null 2>&1", p->tool)) {
			NOTE("no %s here: the host is recorded without it", p->tool);
			continue;
		}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(command, sizeof(command), p->command, test_dir());
#pragma GCC diagnostic pop
		p->pid = fork();
		CHECK(p->pid >= 0);
		if (p->pid == 0) {
			(void)setpgid(0, 0);
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
				_exit(1);
			(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
			_exit(1);
		}
		n++;
	}
	return n;
}

static void stop_programs(void)
{
	for (int i = 0; i < N_PROGRAMS; i++)
		if (programs[i].pid) {
			(void)kill(-programs[i].pid, SIGKILL);
			stop(programs[i].pid);
		}
}

HL_TEST_TIMEOUT(every_sample_ends_in_an_instruction, 120)
{
	struct folded folded;
	struct account account;
	uint64_t text, bytes, none;

	if (geteuid() != 0)
		SKIP("needs root");
	CHECK(start_programs() > 0);
	(void)sleep(1);
	folded = record("-F 499 -d 10");
	stop_programs();
	check_account(&folded);
	account = read_account();
	none = sum_of(&folded, ";\\(no code bytes\\) [^;]*$");
	bytes = sum_of(&folded, ";\\.byte [^;]*$");
	text = sum_of(&folded, ";[^;]+ \\[0x[0-9a-f]+\\](_\\[k\\])?$") - none - bytes;
	NOTE("%llu of %llu samples with text, %llu as bytes, %llu with neither", (unsigned long long)text,
	     (unsigned long long)folded.total, (unsigned long long)bytes, (unsigned long long)none);
	CHECK(folded.total > 1000);
	check_at_least("leaves with text", text, folded.total, 0.999);
	/* The rest has its reason in the header. */
	CHECK_INT(text + bytes + none, folded.total);
	CHECK_INT(account.textless, none);
	CHECK_INT(account.undecoded, bytes);
	for (int i = 0; i < N_PROGRAMS; i++) {
		char regex[64];

		(void)snprintf(regex, sizeof(regex), "^%s;", programs[i].root);
		if (programs[i].pid && sum_of(&folded, regex) == 0)
			FAIL("no sample of %s", programs[i].root);
	}
	/* Kernel threads and the idle task stand apart; nothing has an empty name. */
	CHECK_INT(sum_of(&folded, "(^|;)(;|$)"), 0);
	folded_done(&folded);
}
