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

/* The agent's files of settings: read at the start, and again when it is asked to. */

/* Writes settings: what every test has, and @more. */
static void write_settings(const char *more)
{
	must("printf '%%b' 'store = %sstore\\nmin-free = 0\\ndisabled-file = %sdisabled\\n[agent]\\n"
	     "event = cpu-clock\\nwindow = 2\\n%s' >%shotleaf.conf",
	     test_dir(), test_dir(), more, test_dir());
}

static pid_t start_with_settings(const char *options)
{
	if (geteuid())
		SKIP("needs root to sample the host");
	return start("%s agent --config %shotleaf.conf %s >>%ssaid 2>&1", hotleaf(), test_dir(), options,
		     test_dir());
}

/* Waits until the shell command succeeds. */
static void wait_until(const char *command)
{
	for (int i = 0; i < 250; i++) {
		if (!shell("cd %s && { %s; } >/dev/null 2>&1", test_dir(), command))
			return;
		(void)usleep(100 * 1000);
	}
	FAIL("not in 25 s: %s: %s", command, output_of(NULL, "cat %ssaid", test_dir()));
}

/* Waits until a window of @hz is in the store. */
static void wait_for_frequency(const char *store, int hz)
{
	char command[300];

	(void)snprintf(command, sizeof(command),
		       "sqlite3 -readonly %s/*.db 'SELECT frequency FROM sources s "
		       "JOIN windows w ON w.source = s.id' | grep -qx %d",
		       store, hz);
	wait_until(command);
}

HL_TEST(mistakes_are_found_before_the_start)
{
	const char *said;
	int status;

	must("printf 'frequency = 7\\n\\nwindow = 7\\n' >%shotleaf.conf", test_dir());
	said = output_of(&status, "%s agent --check-config --config %shotleaf.conf", hotleaf(), test_dir());
	CHECK_INT(status, 2);
	if (!strstr(said, "hotleaf.conf' line 3: option \"--window\" must divide an hour"))
		FAIL("%s", said);
	must("printf 'metrics = 10.0.0.1:99\\n' >%shotleaf.conf", test_dir());
	said = output_of(&status, "%s agent --check-config --config %shotleaf.conf", hotleaf(), test_dir());
	CHECK_INT(status, 2);
	if (!strstr(said, "hotleaf.conf' line 1: '10.0.0.1:99' is no loopback address"))
		FAIL("%s", said);
	must("printf 'frequency = 7\\n\\nwindow = 7\\n' >%shotleaf.conf", test_dir());
	/* Not only by that option. */
	said = output_of(&status, "%s agent --config %shotleaf.conf", hotleaf(), test_dir());
	CHECK_INT(status, 2);
	must("%s agent --check-config --config %shotleaf.conf --window 6 | grep -q hotleaf.conf", hotleaf(),
	     test_dir());
	must("mkdir %sconf.d && printf '\\n[status]\\nformt = json\\n' >%sconf.d/a.conf", test_dir(),
	     test_dir());
	said = output_of(&status, "%s status --config %shotleaf.conf", hotleaf(), test_dir());
	CHECK_INT(status, 2);
	if (!strstr(said, "conf.d/a.conf' line 3: unknown setting \"formt\"; did you mean \"format\"?"))
		FAIL("%s", said);
}

HL_TEST_TIMEOUT(settings_are_read_again, 120)
{
	pid_t agent;

	write_settings("frequency = 31\\n");
	agent = start_with_settings("");
	wait_for_frequency("store", 31);
	/* Other commands find the store by the same file. */
	must("%s status --config %shotleaf.conf", hotleaf(), test_dir());
	write_settings("frequency = 37\\n");
	CHECK(kill(agent, SIGHUP) == 0);
	wait_for_frequency("store", 37);
	CHECK_STR(output_of(NULL, "cat %ssaid", test_dir()), "");
	/* The time of its programs is known, though it may not ask for it any more. */
	wait_until("sqlite3 -readonly store/*.db 'SELECT sum(programs) > 0 FROM windows w JOIN sources s "
		   "ON w.source = s.id WHERE frequency = 37 AND level = 0' | grep -qx 1");

	/* Mistakes leave all as it is: one of form, one that shows only when it is tried. */
	write_settings("frequency = 41\\nwindw = 3\\n");
	CHECK(kill(agent, SIGHUP) == 0);
	wait_until("grep -q \"the settings stay as they were: '.*hotleaf.conf' line 8: unknown setting "
		   "\\\"windw\\\"\" said");
	must("printf 'store = /proc/nowhere\\n' >>%shotleaf.conf; sed -i -e /windw/d -e 1d %shotleaf.conf",
	     test_dir(), test_dir());
	CHECK(kill(agent, SIGHUP) == 0);
	wait_until("grep -q \"the settings stay as they were: cannot make the store '/proc/nowhere'\" said");
	(void)sleep(3);
	must("%s status --store %sstore -f json | grep -q '\"frequency_hz\":37'", hotleaf(), test_dir());
	must("! sqlite3 -readonly %sstore/*.db 'SELECT frequency FROM sources' | grep -qx 41", test_dir());

	/* Another store: the first is let go of. */
	write_settings("frequency = 43\\n");
	must("sed -i 's|store = .*|store = %sother|' %shotleaf.conf", test_dir(), test_dir());
	CHECK(kill(agent, SIGHUP) == 0);
	wait_for_frequency("other", 43);
	must("flock -n %sstore/lock true", test_dir());
	must("sqlite3 -readonly %sstore/*.db 'SELECT reason FROM gaps' | grep -qx 'the settings were read "
	     "again'",
	     test_dir());
	must("! flock -n %sother/lock true", test_dir());
	end_agent(agent);
}

/* What was sampled before is written while the next sampler samples already. */
HL_TEST_TIMEOUT(a_slow_store_stops_no_sampling_when_settings_are_read, 60)
{
	pid_t agent, holder;

	write_settings("frequency = 31\\n");
	agent = start_with_settings("");
	wait_for_frequency("store", 31);
	/* Nobody else writes to the day for four seconds: for five, each writer waits. */
	holder = start("sqlite3 %sstore/*.db 'BEGIN IMMEDIATE' '.shell touch %sheld; sleep 4'", test_dir(),
		       test_dir());
	wait_until("test -e held");
	write_settings("frequency = 37\\n");
	CHECK(kill(agent, SIGHUP) == 0);
	CHECK(waitpid(holder, NULL, 0) == holder);
	wait_for_frequency("store", 37);
	end_agent(agent);
	must("test \"$(sqlite3 -readonly %sstore/*.db \"SELECT count(*), sum(length) < 2e9 FROM gaps "
	     "WHERE reason = 'the settings were read again'\")\" = '1|1'",
	     test_dir());
}

HL_TEST_TIMEOUT(the_command_line_stays, 60)
{
	pid_t agent;

	write_settings("frequency = 31\\n");
	agent = start_with_settings("-F 29");
	wait_for_frequency("store", 29);
	write_settings("frequency = 37\\nsyntax = intel\\n");
	CHECK(kill(agent, SIGHUP) == 0);
	(void)sleep(5);
	end_agent(agent);
	must("test \"$(sqlite3 -readonly %sstore/*.db 'SELECT DISTINCT frequency FROM sources')\" = 29",
	     test_dir());
}
