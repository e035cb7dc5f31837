// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/agent tests/system/record tests/shell */
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/agent.h"
#include "system/record.h"

/* The flame graphs that an agent writes by itself. */

/* It has nothing to say. */
static void end_silent_agent(pid_t pid)
{
	end_agent(pid);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
}

/* Waits until the shell command succeeds in the directory of flame graphs. */
static void wait_until(const char *command)
{
	for (int i = 0; i < 1200; i++) {
		if (!shell("cd %sstore/flamegraphs 2>/dev/null && { %s; } >/dev/null 2>&1", test_dir(),
			   command))
			return;
		(void)usleep(100 * 1000);
	}
	FAIL("not in two minutes: %s: %s", command, output_of(NULL, "cat %ssaid", test_dir()));
}

HL_TEST_TIMEOUT(one_of_each_span_of_time, 150)
{
	pid_t load = start("%s 140 >/dev/null", workload("load")), agent;

	must("mkdir -p %sstore/flamegraphs && cd %sstore/flamegraphs && echo old "
	     ">host-20200101T000000Z-10s.html && "
	     "touch -d '8 days ago' host-20200101T000000Z-10s.html && echo mine >notes.txt",
	     test_dir(), test_dir());
	agent = start_agent("-F 99 --flamegraph-every 10");
	wait_until("test $(ls *Z-10s.html | wc -l) -ge 3");
	wait_until("! test -e host-20200101T000000Z-10s.html");
	end_silent_agent(agent);
	stop(load);
	/* Their times are multiples of ten seconds, and the last is the latest. */
	must("cd %sstore/flamegraphs && ls *Z-10s.html | grep -v -q '0Z-10s.html$' && exit 1; cmp "
	     "latest.html "
	     "$(ls *Z-10s.html | tail -1)",
	     test_dir());
	must("cd %sstore/flamegraphs && test -e notes.txt && test \"$(stat -c %%a latest.html)\" = 640",
	     test_dir());
	/* They are of the store as any report is, and it is none the worse for them. */
	must("grep -q -a 'hotleaf' %sstore/flamegraphs/latest.html", test_dir());
	must("%s store check --config none --store %sstore", hotleaf(), test_dir());
}

HL_TEST_TIMEOUT(one_of_an_incident, 180)
{
	pid_t load[8], agent;

	agent = start_agent("-F 99 --flamegraph-when 20%");
	for (int i = 0; i < 8; i++)
		load[i] = start("%s 170 >/dev/null", workload("load"));
	wait_until("ls *Z-90s-pressure.html");
	(void)sleep(1);
	for (int i = 0; i < 8; i++)
		stop(load[i]);
	end_silent_agent(agent);
	/* One incident, one page, which is not the latest of those that come by the hour. */
	must("cd %sstore/flamegraphs && test \"$(ls | wc -l)\" = 1", test_dir());
}

/* Old pages go, too, where no new ones come; the index names none that is gone. */
HL_TEST_TIMEOUT(old_ones_go_by_themselves, 150)
{
	pid_t agent;

	must("mkdir -p %sstore/flamegraphs && cd %sstore/flamegraphs && touch -d '8 days ago' "
	     "host-20200101T000000Z-90s-pressure.html && touch host-20300101T000000Z-90s-pressure.html",
	     test_dir(), test_dir());
	agent = start_agent("-F 99 --flamegraph-when 100%");
	wait_until("! test -e host-20200101T000000Z-90s-pressure.html");
	end_silent_agent(agent);
	must("test -e %sstore/flamegraphs/host-20300101T000000Z-90s-pressure.html", test_dir());
	/* A megabyte has no room for more than a few pages. */
	must("cd %sstore/flamegraphs && head -c 700000 /dev/zero >host-20200101T000000Z-10s.html",
	     test_dir());
	agent = start_agent("-F 99 --flamegraph-every 10 --flamegraph-age 100d --flamegraph-max 1M "
			    "--flamegraph-when 100%");
	wait_until("test -s index.html");
	end_silent_agent(agent);
	must("cd %sstore/flamegraphs && ! test -e host-20200101T000000Z-10s.html && for f in $(grep -o "
	     "'href=\"[^\"]*' index.html | cut -d'\"' -f2); do test -e $f || exit 1; done",
	     test_dir());
}
