// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Processes that come, go and change while they are recorded; and a recorder that is late or too small. */

/*
 * A storm's samples stand under the storm's name and, where they are its own work, under its function. What a
 * child does before it is replaced stands under its parent's name, which is the storm's too.
 */
static void storm(const char *mode, const char *caller)
{
	struct folded folded = record("-F 999 -d 3 -- %s 60 %s", workload("storm"), mode);
	uint64_t all = sum_of(&folded, "^storm;"), user, named;
	char regex[128];

	check_account(&folded);
	CHECK(all > 200);
	/* Before it became the storm, the child was hotleaf's. */
	check_at_least("samples named storm", all, folded.total, 0.97);
	CHECK_INT(sum_of(&folded, "^(storm|hotleaf|\\[idle task\\]);"), folded.total);
	(void)snprintf(regex, sizeof(regex), ";%s;short_life;", caller);
	CHECK(sum_of(&folded, ";short_life;") > 20);
	check_at_least("callers of short_life", sum_of(&folded, regex), sum_of(&folded, ";short_life;"),
		       0.97);
	user = sum_of(&folded, "\\[0x[0-9a-f]+\\]$");
	named = user - sum_of(&folded, "\\+0x[0-9a-f]+\\];[^;]+ \\[0x[0-9a-f]+\\]$");
	check_at_least("user code with a name", named, user, 0.97);
	folded_done(&folded);
}

HL_TEST(storm_of_forks)
{
	storm("fork", "start_child");
}

HL_TEST(storm_of_execs)
{
	storm("exec", "main");
}

HL_TEST(storm_of_vforks)
{
	storm("vfork", "main");
}

HL_TEST(storm_of_orphaned_grandchildren)
{
	storm("double", "start_child");
}

HL_TEST(storm_of_threads)
{
	storm("thread", "thread_life");
}

/* A program that is sampled once or twice and is gone: other processes still have the libraries it used. */
HL_TEST(libraries_of_a_process_that_is_gone)
{
	struct folded folded;
	uint64_t in_loader;

	/* Each of these lives about a millisecond, most of it in the loader. */
	folded = record("-F 1999 -d 3 -- sh -c 'while :; do /bin/true; done'");
	in_loader = sum_of(&folded, "^true;.*\\[0x[0-9a-f]+\\]$");
	check_account(&folded);
	CHECK(in_loader > 20);
	check_at_least("named",
		       in_loader - sum_of(&folded, "^true;.*\\+0x[0-9a-f]+\\];[^;]+ \\[0x[0-9a-f]+\\]$"),
		       in_loader, 0.9);
	folded_done(&folded);
}

/* The loader is first seen in the child that is about to become sleep, at an address that is gone with it. */
HL_TEST(loader_of_a_program_that_replaced_itself)
{
	uint64_t all = 0, nameless = 0;

	/* Each is sampled a handful of times, on a fast machine. */
	for (int i = 0; i < 20; i++) {
		struct folded folded = record("-F 9999 -d 1 -- sleep 0.1");

		all += sum_of(&folded, "\\[0x[0-9a-f]+\\]$");
		nameless += sum_of(&folded,
				   ";\\[(ld-linux|libc\\.)[^;]*\\+0x[0-9a-f]+\\];[^;]+ \\[0x[0-9a-f]+\\]$");
		folded_done(&folded);
	}
	CHECK(all > 20);
	check_at_least("named", all - nameless, all, 0.97);
}

static void check_orphans(const struct folded *folded)
{
	uint64_t all = sum_of(folded, "^orphans;"),
		 work = sum_of(folded, ";orphan_work;[^;]+ \\[0x[0-9a-f]+\\]$");

	CHECK(work > 100);
	check_at_least("samples of the process", all, folded->total, 0.97);
	check_at_least("their callers", sum_of(folded, "^orphans;(.*;)?orphan;orphan_work;"), work, 0.97);
	check_at_least("their work", work + sum_of(folded, ";main;"), all, 0.9);
}

HL_TEST(first_thread_ends_while_recorded)
{
	struct folded folded = record("-F 499 -d 4 -- %s 3", workload("orphans"));

	check_account(&folded);
	check_orphans(&folded);
	folded_done(&folded);
}

HL_TEST(first_thread_had_ended_before)
{
	pid_t pid = start("%s 15", workload("orphans"));
	bool ended = false;
	struct folded folded;

	for (int i = 0; i < 100 && !ended; i++) {
		(void)usleep(100000);
		ended = shell("grep -q zombie /proc/%d/status", (int)pid) == 0;
	}
	CHECK(ended);
	folded = record("-F 499 -d 2 -p %d", (int)pid);
	stop(pid);
	check_orphans(&folded);
	folded_done(&folded);
}

/* ---- a recorder that cannot keep up -------------------------------------------------------------------- */

HL_TEST(stopped_for_ten_seconds)
{
	pid_t load = start("%s 600", workload("load")), recorder = start_recording("-F 499 -d 14");
	struct folded folded;

	(void)sleep(3);
	CHECK_INT(kill(recorder, SIGSTOP), 0);
	(void)sleep(10);
	CHECK_INT(kill(recorder, SIGCONT), 0);
	folded = finish_recording(recorder);
	stop(load);
	check_account(&folded);
	CHECK(sum_of(&folded, "^load;") > 0);
	folded_done(&folded);
}

static void too_small(const char *option, bool loses_samples)
{
	struct folded folded = record("-F 1999 -d 3 %s -- %s 60 14 wide", option, workload("deep"));
	struct account account = read_account();

	check_account(&folded);
	if (loses_samples)
		CHECK(account.lost > 100);
	else
		CHECK_INT(account.lost, 0);
	if (strstr(option, "stacks")) {
		CHECK(account.stackless > 100);
		CHECK_INT(sum_of(&folded, ";\\[unwind: stack lost\\];"), account.stackless);
	}
	/* What is there is right. */
	CHECK_INT(sum_of(&folded, ";(left|right);[^;]+;bottom;"), 0);
	folded_done(&folded);
}

HL_TEST(too_few_samples_fit)
{
	too_small("--map-samples 64", true);
}

HL_TEST(too_few_stacks_fit)
{
	too_small("--map-stacks 64", false);
}

HL_TEST(processor_that_goes_and_comes_back)
{
	pid_t loads[2], recorder;
	struct folded folded;

	if (access("/sys/devices/system/cpu/cpu1/online", W_OK))
		SKIP("this kernel cannot take processors offline");
	for (int i = 0; i < 2; i++)
		loads[i] = start("taskset -c %d %s 600", i, workload("load"));
	recorder = start_recording("-F 499 -d 10");
	(void)sleep(2);
	if (shell("echo 0 2>/dev/null >/sys/devices/system/cpu/cpu1/online")) {
		stop(recorder);
		SKIP("the kernel refuses to take processor 1 offline");
	}
	(void)sleep(1);
	must("echo 1 >/sys/devices/system/cpu/cpu1/online");
	folded = finish_recording(recorder);
	for (int i = 0; i < 2; i++)
		stop(loads[i]);
	check_account(&folded);
	/* With one processor only 5,000 samples could have come. */
	CHECK(folded.total > 6000);
	folded_done(&folded);
}
