// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/agent tests/system/record tests/shell */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/agent.h"
#include "system/record.h"

/* What the agent does where it would cost more than it may, and where its child is killed. */

static void wait_until_said(const char *pattern)
{
	for (int i = 0; i < 600; i++) {
		if (!shell("grep -q -e '%s' %ssaid", pattern, test_dir()))
			return;
		(void)usleep(100 * 1000);
	}
	FAIL("\"%s\" was not said in a minute: %s", pattern, output_of(NULL, "cat %ssaid", test_dir()));
}

static long long ask_store(const char *query)
{
	return atoll(
		output_of(NULL, "sqlite3 -readonly $(ls %sstore/*.db | tail -1) \"%s\"", test_dir(), query));
}

static struct folded report(long long since)
{
	char path[128];

	must("%s report --config none --store %sstore --since @%lld -o %sout.txt -o %sout.folded", hotleaf(),
	     test_dir(), since, test_dir(), test_dir());
	(void)snprintf(path, sizeof(path), "%sout.folded", test_dir());
	return read_folded(path);
}

/* Windows whose weight is not what so many samples of their frequency stand for. */
#define OFF                                                                                 \
	"SELECT count(*) FROM windows w JOIN sources s ON s.id = w.source WHERE level = 0 " \
	"AND abs(w.weight - w.samples * 1e9 / s.frequency)"

/* Every sample is accounted for, and stands for the time between two of its frequency, the first of a step apart. */
static void check_store(long long since)
{
	struct folded folded = report(since);

	/* Of a window that was lost, samples at its edges are in the next one, or the one before. */
	if (shell("grep -q 'not stored' %sout.txt", test_dir()))
		check_account(&folded);
	else
		NOTE("a window was lost: %s", output_of(NULL, "cat %ssaid", test_dir()));
	folded_done(&folded);
	CHECK(ask_store("SELECT count(*) FROM windows WHERE level = 0 AND samples > 0") >= 4);
	/* A few samples of the frequency before fall into the first window of a step. */
	CHECK(ask_store(OFF " > w.weight / 20.0") <= 5);
	CHECK_INT(ask_store(OFF " > w.weight * 1.1"), 0);
}

HL_TEST_TIMEOUT(over_cpu_max_the_frequency_is_halved, 180)
{
	long long since = (long long)time(NULL);
	pid_t storm, agent;

	storm = start("%s 100 exec >/dev/null", workload("storm"));
	agent = start_agent("-F 99 --cpu-max 0.01 --caps-hold 3");
	wait_until_said("over --cpu-max: sampled at 12 Hz instead of 99$");
	wait_until_said("over --cpu-max: sampled at 12 Hz instead of 99, unwind tables below");
	(void)sleep(5);
	end_agent(agent);
	stop(storm);
	check_store(since);
	/* Each step has its windows, but perhaps the first: a host that is busy otherwise may be too slow. */
	CHECK(ask_store(
		      "SELECT count(DISTINCT frequency) FROM sources WHERE frequency IN (99, 49, 24, 12)") >=
	      3);
	must("tr -s ' \\n' ' ' <%sout.txt | grep -q -e 'over --cpu-max: sampled at 24 Hz instead of 99'",
	     test_dir());
	(void)shell("%s status --config none --store %sstore >%sstatus; %s status --config none --store "
		    "%sstore -f json "
		    ">%sstatus.json",
		    hotleaf(), test_dir(), test_dir(), hotleaf(), test_dir(), test_dir());
	must("grep -q '^caps: over --cpu-max: sampled at 12 Hz instead of 99' %sstatus", test_dir());
	must("python3 -c 'import json, sys; x = json.load(open(sys.argv[1])); "
	     "sys.exit(not any(\"at 24 Hz\" in c for c in x[\"caps\"]) or not isinstance(x[\"losses\"], "
	     "dict))' "
	     "%sstatus.json",
	     test_dir());
}

HL_TEST_TIMEOUT(over_memory_max_tables_go, 180)
{
	long long since = (long long)time(NULL);
	pid_t compiler, agent;

	/* The unwind tables of clang and its libraries are some of the largest that there are. */
	must("for i in $(seq 300); do echo \"int f$i(int x, int *p) { for (int i = 0; i < x; i++) p[i] += x "
	     "* $i; return p[x]; }\"; done >%ssource.c",
	     test_dir());
	compiler = start("sh -c 'while :; do clang -O2 -c %ssource.c -o /dev/null; done'", test_dir());
	agent = start_agent("-F 99 --memory-max 24M --cpu-max 0 --cache none --caps-hold 1h");
	wait_until_said("over --memory-max: sampled at 12 Hz instead of 99, unwind tables below");
	(void)sleep(5);
	end_agent(agent);
	stop(compiler);
	check_store(since);
	CHECK(ask_store("SELECT count(*) FROM notes WHERE text LIKE 'over --memory-max: %unwind tables%'") >
	      0);
}

HL_TEST_TIMEOUT(a_killed_symbolizer_is_started_anew, 120)
{
	long long since = (long long)time(NULL);
	pid_t agent = start_agent("-F 99 --cache none"), load = start("%s 60 >/dev/null", workload("load"));
	int kills = 0;

	(void)sleep(
		5); /* one that is killed as it starts may end the agent, as any fault at the start does */
	for (int i = 0; i < 100; i++) {
		kills += !shell("pkill -KILL -P %d", (int)agent);
		(void)usleep(100 * 1000);
	}
	NOTE("%d kills", kills);
	CHECK(kills > 5);
	(void)sleep(5);
	stop(load);
	end_agent(agent);
	check_store(since);
	/*
	 * Names are known again, but of a file at which it was killed twice: that is given up, and counted. So
	 * may its unwind table be: then main is missing.
	 */
	must("%s report --config none --store %sstore --since @%lld -o - -f folded >%sload.folded && "
	     "{ grep -q '^load;.*;chase[^;]*;[a-z]' %sload.folded || "
	     "{ grep -q '^load;' %sload.folded && grep -q 'file denied' %sout.txt; }; }",
	     hotleaf(), test_dir(), since, test_dir(), test_dir(), test_dir(), test_dir());
	must("tr -s ' \\n' ' ' <%sout.txt | grep -q 'symd, which parses files in a sandbox, died'",
	     test_dir());
}
