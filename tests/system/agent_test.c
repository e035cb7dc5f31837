// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/agent tests/system/record tests/shell */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/agent.h"
#include "system/record.h"

/* The agent on this host, its store, and what a report makes of it. */

static void need_root(void)
{
	if (geteuid())
		SKIP("needs root to sample the host");
}

/* Waits until the store holds samples that were taken after @since. */
static void wait_for_window(long long since)
{
	for (int i = 0; i < 200; i++) {
		if (!shell("%s report --store %sstore --since @%lld -o %swait.txt 2>/dev/null", hotleaf(),
			   test_dir(), since, test_dir()))
			return;
		(void)usleep(100 * 1000);
	}
	FAIL("no window in 20 s: %s", output_of(NULL, "cat %ssaid", test_dir()));
}

/* Whether the last report says @pattern, however its lines are wrapped. */
static bool report_says(const char *pattern)
{
	return !shell("tr -s ' \\n' ' ' <%sout.txt | grep -q -e '%s'", test_dir(), pattern);
}

static struct folded report(long long since)
{
	char path[128];

	must("%s report --store %sstore --since @%lld -o %sout.txt -o %sout.folded", hotleaf(), test_dir(),
	     since, test_dir(), test_dir());
	(void)snprintf(path, sizeof(path), "%sout.folded", test_dir());
	return read_folded(path);
}

HL_TEST_TIMEOUT(every_sample_is_in_the_report, 120)
{
	long long since = (long long)time(NULL), length;
	struct account account;
	struct folded folded;
	pid_t load, agent;

	need_root();
	load = start("%s 60 >/dev/null", workload("load"));
	agent = start_agent("-F 99");
	wait_for_window(since);
	(void)sleep(10);
	length = (long long)time(NULL) - since;
	end_agent(agent);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	stop(load);
	folded = report(since);
	check_account(&folded);
	account = read_account();
	NOTE("%llu shown of %llu expected", (unsigned long long)account.shown,
	     (unsigned long long)account.expected);
	/* Start and end of the agent apart, all of the time is there. */
	CHECK(account.expected > (uint64_t)(99 * (length - 6) * sysconf(_SC_NPROCESSORS_ONLN)));
	CHECK(account.seen >= account.expected || report_says("not delivered"));
	CHECK(report_says("windows, [0-9]* s missing") || report_says("none missing"));
	/* A whole stack down to the instruction, as a recording has it. */
	CHECK(sum_of(&folded, "^load;.*;main;chase[^;]*;[a-z]+ .* \\[0x[0-9a-f]+\\]$") > 50);
	check_at_least("with text", account.shown - account.textless, account.shown, 0.99);
	folded_done(&folded);
	must("%s report --store %sstore --since @%lld --leaf function -o %sout.folded", hotleaf(), test_dir(),
	     since, test_dir());
	must("! grep -q '\\[0x[0-9a-f]*\\] [0-9]*$' %sout.folded", test_dir());
}

/* What is excluded comes to no store, but for its number. */
HL_TEST_TIMEOUT(what_is_excluded_is_not_kept, 90)
{
	long long since = (long long)time(NULL);
	struct folded folded;
	pid_t load, agent;

	need_root();
	load = start("%s 60 >/dev/null", workload("load"));
	agent = start_agent("-F 99 --exclude process=load --host node-7");
	wait_for_window(since);
	(void)sleep(6);
	end_agent(agent);
	stop(load);
	folded = report(since);
	CHECK(folded.total > 0);
	CHECK_INT(sum_of(&folded, "^load;|;by_value;"), 0);
	folded_done(&folded);
	CHECK(read_account().filtered > 100);
	CHECK(shell("grep -q by_value %sstore/*.db", test_dir()) == 1);
	CHECK_STR(output_of(NULL, "sqlite3 %sstore/*.db 'SELECT DISTINCT host FROM sources'", test_dir()),
		  "node-7\n");
}

HL_TEST_TIMEOUT(one_agent_a_store, 60)
{
	long long since = (long long)time(NULL);
	const char *said;
	pid_t agent;
	int status;

	need_root();
	agent = start_agent("");
	wait_for_window(since);
	said = output_of(&status, "%s agent --store %sstore", hotleaf(), test_dir());
	CHECK_INT(status, 1);
	if (!strstr(said, "another hotleaf writes to the store"))
		FAIL("%s", said);
	said = output_of(&status, "%s status --store %sstore", hotleaf(), test_dir());
	if (status || strncmp(said, "ok: the last window ended ", 26) != 0)
		FAIL("%s", said);
	must("%s status --store %sstore -f json | python3 -c 'import json, sys; x = json.load(sys.stdin); "
	     "sys.exit(x[\"state\"] != \"ok\" or x[\"age_s\"] > 20 or x[\"frequency_hz\"] != 19)'",
	     hotleaf(), test_dir());
	end_agent(agent);
}

/* The agent has them rewritten by a process of its own, and samples on. */
HL_TEST_TIMEOUT(old_days_are_rewritten, 120)
{
	static const char ask[] =
		"test \"$(sqlite3 %sstore/2024-02-28.db 'SELECT value FROM facts' 2>/dev/null)\" = "
		"3600000000000";
	long long since = (long long)time(NULL);
	pid_t agent;
	int tries = 0;

	need_root();
	agent = start_agent("");
	wait_for_window(since);
	end_agent(agent);
	must("cd %sstore && cp 20*.db old && mv old 2024-02-28.db", test_dir());
	/* It is older than days may be. */
	agent = start_agent("--store-age 36500d");
	while (shell(ask, test_dir()) && tries++ < 300)
		(void)usleep(200 * 1000);
	end_agent(agent);
	must(ask, test_dir());
	must("%s store check --store %sstore | grep -c ', sound$' | grep -qx 2", hotleaf(), test_dir());
	must("! ls -A %sstore | grep '[.]new'", test_dir());
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
}

HL_TEST_TIMEOUT(the_store_looked_after, 60)
{
	long long since = (long long)time(NULL);
	const char *said;
	pid_t agent;
	int status;

	need_root();
	agent = start_agent("");
	wait_for_window(since);
	end_agent(agent);
	must("%s store list --store %sstore | grep -q '^20.*[.]db .* MB .*Z to .*Z .* samples$'", hotleaf(),
	     test_dir());
	must("%s store check --store %sstore | grep -q ', sound$'", hotleaf(), test_dir());
	must("%s store prune --store %sstore --min-free 0 && ls %sstore | grep -q db$", hotleaf(), test_dir(),
	     test_dir());
	/* Whoever copies days does not show them to more people than the agent does. */
	must("(umask 022; %s store export --store %sstore -o %scopied && %s store import --store %sother "
	     "%scopied) "
	     ">/dev/null && cd %s && test \"$(stat -c %%a copied other/20*.db | sort -u)\" = 640",
	     hotleaf(), test_dir(), test_dir(), hotleaf(), test_dir(), test_dir(), test_dir());
	must("cd %sstore && truncate -s -9000 20*.db", test_dir());
	said = output_of(&status, "%s store check --store %sstore", hotleaf(), test_dir());
	CHECK_INT(status, 1);
	if (!strstr(said, "malformed"))
		FAIL("%s", said);
	must("touch %sdisabled", test_dir());
	said = output_of(&status, "%s status --store %sstore --disabled-file %sdisabled", hotleaf(),
			 test_dir(), test_dir());
	CHECK_INT(status, 1);
	if (!strstr(said, "disabled: "))
		FAIL("%s", said);
}

HL_TEST_TIMEOUT(a_killed_agent_goes_on, 90)
{
	long long since = (long long)time(NULL);
	struct account account;
	struct folded folded;
	uint64_t before, shown;

	need_root();
	for (int i = 0; i < 3; i++) {
		pid_t agent = start_agent("-F 49");

		wait_for_window((long long)time(NULL));
		CHECK(kill(agent, SIGKILL) == 0);
		CHECK(waitpid(agent, NULL, 0) == agent);
		(void)sleep(2); /* shorter ones could be the correction of a clock */
	}
	folded = report(since);
	before = folded.total;
	CHECK(before > 0);
	folded_done(&folded);
	if (!report_says("the agent did not run"))
		FAIL("%s", output_of(NULL, "head -30 %sout.txt", test_dir()));
	{
		pid_t agent = start_agent("-F 49");

		wait_for_window((long long)time(NULL));
		end_agent(agent);
	}
	folded = report(since);
	CHECK(folded.total > before);
	/* Those that were seen, but not drained yet, went with the killed. */
	account = read_account();
	CHECK_INT(folded.total, account.shown);
	shown = account.shown + account.idle + account.filtered + account.lost;
	CHECK(shown <= account.seen &&
	      account.seen - shown < (uint64_t)(3 * 49 * sysconf(_SC_NPROCESSORS_ONLN)));
	folded_done(&folded);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	must("! ls %sstore | grep -v -e '^[0-9-]*[.]db$' -e '^lock$'", test_dir());
}

/* How many descriptors of BPF objects the process holds. */
static int bpf_objects(pid_t pid)
{
	return atoi(
		output_of(NULL, "ls -l /proc/%d/fd 2>/dev/null | grep -c -e bpf -e perf_event", (int)pid));
}

HL_TEST_TIMEOUT(a_file_switches_it_off, 90)
{
	long long since = (long long)time(NULL);
	struct folded folded;
	pid_t agent;
	int i;

	need_root();
	agent = start_agent("-F 49");
	wait_for_window(since);
	CHECK(bpf_objects(agent) > 0);
	must("touch %sdisabled", test_dir());
	/* Within a second; unloading takes as long again, on a busy host. */
	for (i = 0; i < 100 && bpf_objects(agent); i++)
		(void)usleep(100 * 1000);
	CHECK_INT(bpf_objects(agent), 0);
	NOTE("nothing is left after %d.%d s", i / 10, i % 10);
	(void)sleep(3);
	must("rm %sdisabled", test_dir());
	wait_for_window((long long)time(NULL));
	end_agent(agent);
	folded = report(since);
	check_account(&folded);
	folded_done(&folded);
	must("tr -s ' \\n' ' ' <%sout.txt | grep -q \"(disabled by '%sdisabled')\"", test_dir(), test_dir());
	/* What it may not ask for any more it says. */
	must("! grep -v 'the CPU time of the kernel programs is not known until a restart$' %ssaid",
	     test_dir());
}

/* Descriptors of the copies of a program that the agent holds. */
static int held_copies(pid_t pid)
{
	return atoi(output_of(NULL, "ls -l /proc/%d/fd 2>/dev/null | grep -c %scopy", (int)pid, test_dir()));
}

HL_TEST_TIMEOUT(files_are_let_go_of, 120)
{
	long long since = (long long)time(NULL);
	struct folded folded;
	int most = 0, left = -1;
	pid_t agent;

	need_root();
	agent = start_agent("-F 499 --generation 4");
	wait_for_window(since);
	/* Each is another file, which runs for a fifth of a second and is deleted. */
	for (int i = 0; i < 60; i++) {
		must("cp %s %scopy && timeout 0.2 %scopy 9 >/dev/null; rm %scopy", workload("load"),
		     test_dir(), test_dir(), test_dir());
		if (i % 10 == 9) {
			int n = held_copies(agent);

			most = n > most ? n : most;
		}
	}
	CHECK(most > 10);
	/* Two generations and what it takes to be sure. */
	for (int i = 0; i < 60 && left; i++) {
		(void)sleep(1);
		left = held_copies(agent);
	}
	NOTE("at most %d files were held, %d at the end", most, left);
	CHECK_INT(left, 0);
	end_agent(agent);
	/* Names were right all the while. */
	folded = report(since);
	CHECK(sum_of(&folded, "^copy;.*;main;chase[^;]*;[a-z]") > 100);
	/* On a busy host some are gone before they can be opened. */
	CHECK(sum_of(&folded, "^copy;.*\\[copy\\+0x") * 4 < sum_of(&folded, "^copy;"));
	folded_done(&folded);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
}

HL_TEST(wrong_usage)
{
	int status;

	CHECK(strstr(output_of(&status, "%s agent --window 7", hotleaf()), "must divide an hour"));
	CHECK_INT(status, 2);
	CHECK(strstr(output_of(&status, "%s agent --host a/b", hotleaf()), "must be a name"));
	CHECK_INT(status, 2);
	CHECK(strstr(output_of(&status, "%s report --since tomorrow", hotleaf()), "is no point in time"));
	CHECK_INT(status, 2);
	CHECK(strstr(output_of(&status, "%s report --since -1h --until -2h", hotleaf()), "is not before"));
	CHECK_INT(status, 2);
	CHECK(strstr(output_of(&status, "%s report --store /nowhere", hotleaf()),
		     "there is no store '/nowhere': `hotleaf agent` makes one"));
	CHECK_INT(status, 1);
}

HL_TEST_TIMEOUT(reports_have_names, 60)
{
	long long since = (long long)time(NULL);
	pid_t agent;

	need_root();
	agent = start_agent("");
	wait_for_window(since);
	end_agent(agent);
	must("mkdir %sreports && %s report --store %sstore --since @%lld --until @%lld -o %sreports/ "
	     ">%ssilent 2>&1",
	     test_dir(), hotleaf(), test_dir(), since, since + 1000, test_dir(), test_dir());
	must("! test -s %ssilent", test_dir());
	must("ls %sreports | grep -q -E '^[A-Za-z0-9_.-]+-[0-9]{8}T[0-9]{6}Z-[0-9]+s[.]html$'", test_dir());
	must("cmp %sreports/latest.html %sreports/*Z-*s.html", test_dir(), test_dir());
	must("%s report --store %sstore --since @%lld -o %sreports/ && test $(ls %sreports | wc -l) -ge 2",
	     hotleaf(), test_dir(), since, test_dir(), test_dir());
}
