// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store tests/stores tests/system/record tests/shell */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"

#include "harness.h"
#include "shell.h"
#include "stores.h"
#include "system/record.h"

/*
 * The jobs of tools/ as cron and systemd run them: no terminal, no environment but what the file sets. Paths are
 * moved into a directory of the test, where sendmail is a script that keeps what it is given.
 */

#define HOUR (3600 * STORES_S)
#define DAY  (24 * HOUR)

static char dir[64];

static void fill(uint64_t start_ns, unsigned int windows, unsigned int seed)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%sstore", dir);
	stores_fill(path, start_ns, windows, seed);
}

/* Programs in dir/bin; a store with the last two hours, and a bit of the last two days. */
static void prepare(void)
{
	uint64_t now = hl_realtime_ns(), hour = now - now % HOUR, today = now - now % DAY;

	(void)snprintf(dir, sizeof(dir), "%s", test_dir());
	must("mkdir %sbin && ln -s $(realpath %s) %sbin/hotleaf && cp tools/hotleaf-mail %sbin/", dir,
	     hotleaf(), dir, dir);
	must("printf '#!/bin/sh\\necho \"$@\" >%sargs\\ncat >%smail\\n' >%sbin/sendmail && chmod +x "
	     "%sbin/sendmail",
	     dir, dir, dir, dir);
	fill(today - 2 * DAY, 2, 1);
	fill(today - DAY, 2, 2);
	fill(hour - 2 * HOUR, 3, 1);
	fill(hour - HOUR, 3, 1);
}

/* Runs the command in the file dir/command, as cron does, with @settings; it must be silent and end well. */
static void run_silently(const char *settings)
{
	int status = 1;
	const char *said = output_of(
		&status,
		"env -i %s HOME=/root LOGNAME=root SHELL=/bin/sh setsid -w sh -c \"$(cat %scommand)\" "
		"</dev/null",
		settings, dir);

	if (status || *said)
		FAIL("status %d: %s", status, said);
}

static void keep_command(const char *command)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%scommand", dir);
	f = fopen(path, "w");
	CHECK(f && fputs(command, f) >= 0 && fclose(f) == 0);
}

static bool exists(const char *name)
{
	return shell("test -e %s%s", dir, name) == 0;
}

static char *read_tool(const char *name)
{
	char path[128], *text;

	(void)snprintf(path, sizeof(path), "tools/%s", name);
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 1 << 16, &text, NULL), 0);
	return text;
}

/* The rest of a line of the table behind five times and a user; NULL: it is a setting or nothing. */
static char *command_of(char *line)
{
	if (!strchr("0123456789*", *line) || !*line)
		return NULL;
	for (int field = 0; field < 6; field++) {
		line += strcspn(line, " \t");
		line += strspn(line, " \t");
	}
	return line;
}

HL_TEST_TIMEOUT(jobs_of_the_cron_table, 300)
{
	char *text, *at, *line, settings[1024];
	int jobs = 0;

	prepare();
	(void)snprintf(settings, sizeof(settings),
		       "PATH=%sbin:/usr/bin:/bin STORE=%sstore REPORTS=%sreports/ DELAY=0 UNLESS=/nowhere "
		       "MAILTO=ops",
		       dir, dir, dir);
	text = at = read_tool("hotleaf.cron");
	while ((line = strsep(&at, "\n"))) {
		char *command = command_of(line);

		if (!command)
			continue;
		/* cron takes it for the end of the command. */
		CHECK(!strchr(command, '%'));
		keep_command(command);
		run_silently(settings);
		jobs++;
	}
	CHECK_INT(jobs, 2);
	CHECK_INT(shell("ls %sreports/host1-*T??0000Z-3600s.html %sreports/latest.html %sreports/index.html "
			">/dev/null",
			dir, dir, dir),
		  0);
	CHECK_INT(shell("test $(stat -c %%a %sreports) = 750 && test $(stat -c %%a %sreports/latest.html) = "
			"640",
			dir, dir),
		  0);
	CHECK_INT(shell("grep -qx 'To: ops' %smail && grep -q '^Subject: hotleaf host1: time missing' %smail",
			dir, dir),
		  0);
	CHECK_INT(shell("grep -qx -- '-t -oi' %sargs", dir), 0);
	free(text);
}

HL_TEST_TIMEOUT(services_of_the_timers, 300)
{
	static const char *const units[] = { "hotleaf-report", "hotleaf-mail" };
	char settings[256];

	prepare();
	must("mkdir %sunits %sreports", dir, dir);
	(void)snprintf(settings, sizeof(settings), "PATH=%sbin:/usr/bin:/bin MAILTO=root", dir);
	for (size_t i = 0; i < 2; i++) {
		must("sed -e 's@/usr/local/bin/@%sbin/@; s@/var/lib/hotleaf-reports/@%sreports/@; "
		     "s@--store /var/lib/hotleaf@--store %sstore@' tools/%s.service >%sunits/%s.service",
		     dir, dir, dir, units[i], dir, units[i]);
		must("cp tools/%s.timer %sunits/", units[i], dir);
		must("grep -q '^RandomizedDelaySec=' tools/%s.timer", units[i]);
		if (shell("command -v systemd-analyze >/dev/null") == 0)
			must("systemd-analyze verify --man=no %sunits/%s.service %sunits/%s.timer 2>&1 | "
			     "grep %sunits "
			     "&& exit 1 || exit 0",
			     dir, units[i], dir, units[i], dir);
		must("sed -n 's/^ExecStart=//p' %sunits/%s.service >%scommand", dir, units[i], dir);
		run_silently(settings);
	}
	CHECK(exists("reports/latest.html") && exists("mail"));
}

HL_TEST(what_fails_is_said_and_sends_nothing)
{
	prepare();
	CHECK_INT(shell("env -i PATH=%sbin:/usr/bin:/bin hotleaf-mail --store /nowhere 2>%serr", dir, dir),
		  1);
	CHECK_INT(shell("grep -q /nowhere %serr && test $(wc -l <%serr) = 1", dir, dir), 0);
	CHECK(!exists("mail"));
}
