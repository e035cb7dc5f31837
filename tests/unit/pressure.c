// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
#include "process/pressure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"

static char dir[] = "/tmp/hotleaf-pressure-XXXXXX";

static void clean(void)
{
	(void)shell("rm -rf '%s'", dir);
}

static void put(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

HL_TEST(psi_first_then_busy_time)
{
	struct hl_pressure p = { 0 };
	uint64_t got = 7;
	char path[200];
	int proc;

	CHECK(mkdtemp(dir) && atexit(clean) == 0);
	proc = open(dir, O_PATH | O_DIRECTORY);
	CHECK(!hl_pressure_look(&p, proc, &got));
	put("stat", "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n");
	CHECK(!hl_pressure_look(&p, proc, &got));
	put("stat", "cpu  150 10 120 800 20 0 0 0 0 0\n");
	CHECK(hl_pressure_look(&p, proc, &got));
	CHECK_INT(got, 80000);
	/* A counter that goes back, as idle time may, is no share. */
	put("stat", "cpu  150 10 100 900 20 0 0 0 0 0\n");
	got = 7;
	CHECK(!hl_pressure_look(&p, proc, &got));
	CHECK_INT(got, 7);
	(void)snprintf(path, sizeof(path), "%s/pressure", dir);
	CHECK(mkdir(path, 0755) == 0);
	put("pressure/cpu", "some avg10=12.05 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00\n");
	CHECK(hl_pressure_look(&p, proc, &got));
	CHECK_INT(got, 12050);
	put("pressure/cpu", "none\n");
	put("stat", "cp\n");
	CHECK(!hl_pressure_look(&p, proc, &got));
}
