// SPDX-License-Identifier: BSD-2-Clause
/* needs: all tests/stores tests/shell */
#include "command/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "command/report_name.h"

#include "harness.h"
#include "shell.h"
#include "stores.h"

/* What `hotleaf report -o DIR/` makes of its folder. */

static char store[80], folder[80];

static void prepare(void)
{
	(void)snprintf(store, sizeof(store), "%s/store", stores_dir());
	(void)snprintf(folder, sizeof(folder), "%s/reports/", stores_dir());
	must("mkdir -m 755 %s", folder);
	stores_fill(store, STORES_NOON, 60, 1);
}

/* A report of the minute @minute past noon, with more options. */
static int report(unsigned int minute, const char *const *more)
{
	char since[32], until[32];
	char *argv[32] = { "hotleaf", "report",  "--store", store, "--since",
			   since,     "--until", until,     "-o",  folder };
	int argc = 10;

	(void)snprintf(since, sizeof(since), "2024-02-28T12:%02u:00Z", minute);
	(void)snprintf(until, sizeof(until), "2024-02-28T12:%02u:00Z", minute + 1);
	while (*more)
		argv[argc++] = (char *)*more++;
	return hl_cli_run(hl_commands, argc, argv);
}
#define REPORT(minute, ...) report(minute, (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static bool exists(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", folder, name);
	return access(path, F_OK) == 0;
}

/* index.html, whose answer stays until the next call. */
static const char *listed(void)
{
	static char *text;
	char path[128];

	free(text);
	(void)snprintf(path, sizeof(path), "%sindex.html", folder);
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 1 << 20, &text, NULL), 0);
	return text;
}

static size_t count_of(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

/* A store may be called like a pattern that does not match it. */
HL_TEST(a_store_named_like_a_pattern)
{
	char odd[160];

	prepare();
	(void)snprintf(odd, sizeof(odd), "%s/odd[1]", stores_dir());
	CHECK_INT(REPORT(1, "--store", odd), 1);
	must("cp -r %s '%s'", store, odd);
	CHECK_INT(REPORT(1, "--store", odd), 0);
	(void)snprintf(odd, sizeof(odd), "%s/od*", stores_dir());
	CHECK_INT(REPORT(1, "--store", odd), 0);
}

HL_TEST(a_condition_that_nothing_meets)
{
	prepare();
	CHECK_INT(REPORT(0, "--where", "process=nosuch"), 1);
	CHECK(!exists("index.html") && !exists("latest.html"));
	CHECK_INT(REPORT(0, "--exclude", "process=nosuch"), 0);
	CHECK(exists("latest.html"));
}

HL_TEST(lists_reports_and_compares_with_the_one_before)
{
	const char *index;
	struct stat st;
	char path[160];

	prepare();
	CHECK_INT(REPORT(0), 0);
	CHECK(exists("host1-20240228T120000Z-60s.html") && exists("latest.html"));
	CHECK(!exists("host1-20240228T120000Z-60s.diff.html"));
	CHECK_INT(REPORT(1), 0);
	CHECK(exists("host1-20240228T120100Z-60s.diff.html"));
	index = listed();
	CHECK_INT(count_of(index, "<tr><td>"), 2);
	/* The page is linked where a row begins, as its end can lie beyond the edge of the window. */
	CHECK(strstr(index, "<tr><td><a href=\"./host1-20240228T120100Z-60s.html\">2024-02-28T12:01:00Z</a>"
			    "<td>2024-02-28T12:02:00Z<td>host1<td"));
	/* The newest stands first. */
	CHECK(strstr(index, "12:01:00Z</a><td>2024") < strstr(index, "12:00:00Z</a><td>2024"));
	CHECK_INT(count_of(index, "href=\"./host1-20240228T120100Z-60s.diff.html\">with the one before</a>"),
		  1);
	CHECK_INT(count_of(index, "20240228T120100Z-60s.diff.html"), 1);
	CHECK_INT(count_of(index, "<td>cpu-clock<td class=\"c\">"), 2);
	CHECK(strstr(index, " in f") || strstr(index, "%rbx in "));
	(void)snprintf(path, sizeof(path), "%shost1-20240228T120100Z-60s.html", folder);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0640);
	/* The same one again is one report still. */
	CHECK_INT(REPORT(1), 0);
	CHECK_INT(count_of(listed(), "<tr><td>"), 2);
}

HL_TEST(what_is_over_the_limits_goes_and_what_is_not_ours_stays)
{
	prepare();
	must("touch %shost1-20240228T120000Z-60s.txt.bak %snotes-2024.html %slatest.html.old", folder, folder,
	     folder);
	for (unsigned int i = 0; i < 5; i++)
		CHECK_INT(REPORT(i, "--keep-count", "3"), 0);
	CHECK_INT(count_of(listed(), "<tr><td>"), 3);
	CHECK(!exists("host1-20240228T120100Z-60s.html") && !exists("host1-20240228T120100Z-60s.diff.html"));
	CHECK(exists("host1-20240228T120200Z-60s.html"));
	CHECK(exists("host1-20240228T120000Z-60s.txt.bak") && exists("notes-2024.html"));
	CHECK_INT(REPORT(5, "--keep-bytes", "1"), 0);
	CHECK_INT(count_of(listed(), "<tr><td>"), 1); /* the newest stays */
	CHECK(exists("host1-20240228T120500Z-60s.html") && exists("latest.html"));
	CHECK_INT(REPORT(6, "--keep-age", "1d"), 0); /* all are years old */
	CHECK_INT(count_of(listed(), "<tr><td>"), 1);
	CHECK(exists("host1-20240228T120600Z-60s.html"));
	/* What was just written is there to be read, of whatever time it is. */
	CHECK_INT(REPORT(2, "--keep-count", "1"), 0);
	CHECK_INT(count_of(listed(), "<tr><td>"), 2);
	CHECK(exists("host1-20240228T120200Z-60s.html") && exists("host1-20240228T120600Z-60s.html"));
	CHECK_INT(REPORT(5, "--keep-count", "1"), 0);
	CHECK(!exists("host1-20240228T120200Z-60s.html"));
}

HL_TEST(two_at_once_keep_apart)
{
	char path[128];
	int fd;

	prepare();
	CHECK_INT(REPORT(0), 0);
	(void)snprintf(path, sizeof(path), "%s.hotleaf.lock", folder);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK_INT(REPORT(1), 1);
	CHECK(!exists("host1-20240228T120100Z-60s.html"));
	CHECK(close(fd) == 0);
	CHECK_INT(REPORT(1), 0);
}

HL_TEST(lists_are_no_way_in)
{
	char path[200];
	FILE *f;

	prepare();
	CHECK_INT(REPORT(0), 0);
	/* Names that somebody else made, and a list that is none. */
	(void)snprintf(path, sizeof(path), "%s<script>-20240228T120000Z-60s.html", folder);
	f = fopen(path, "w");
	CHECK(f && fclose(f) == 0);
	(void)snprintf(path, sizeof(path), "%sindex.tsv", folder);
	f = fopen(path, "w");
	CHECK(f &&
	      fprintf(f,
		      "host1-20240228T120000Z-60s\t1\t0\t9\t<b>\t\"><script>alert(1)</script>\n\t\t\n\nx") >
		      0 &&
	      fclose(f) == 0);
	CHECK_INT(REPORT(1), 0);
	CHECK_INT(count_of(listed(), "<script"), 0);
	CHECK(strstr(listed(), "&lt;script&gt;alert"));
	CHECK(strstr(listed(), "href=\"./%3Cscript%3E-2024"));
}

HL_TEST(names_of_reports)
{
	static const struct {
		const char *name;
		size_t host;
		uint64_t length;
	} good[] = { { "h-20240228T120000Z-60s.html", 1, 60 },
		     { "a-b.c-20240228T120000Z-3600s.pb.gz", 5, 3600 },
		     { "h-20240228T120000Z-60s.diff.html", 1, 60 },
		     { "h-20240228T120000Z-60s.speedscope.json", 1, 60 },
		     { "x-20240228T120000Z-1s-20240228T120000Z-60s.svg", 21, 60 } };
	static const char *const bad[] = { "latest.html",
					   "index.html",
					   "-20240228T120000Z-60s.html",
					   "h-20240228T120000Z-60s",
					   "h-20240228T120000Z-60.html",
					   "h-20240228T120000Z-s.html",
					   "h-20241328T120000Z-60s.html",
					   "h-20240228T120000Z-60s.html.bak",
					   "h-20240228T120000Z-60s.tmp",
					   ".h-20240228T120000Z-60s.html",
					   "h-20240228T120000Z-99999999999s.html",
					   "h-20240228T1200",
					   "" };
	struct hl_report_name name;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK(hl_report_name_parse(good[i].name, &name));
		CHECK_INT(name.host_len, good[i].host);
		CHECK_INT(name.start_ns, STORES_NOON);
		CHECK_INT(name.end_ns - name.start_ns, good[i].length * STORES_S);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (hl_report_name_parse(bad[i], &name))
			FAIL("\"%s\" is taken for a report", bad[i]);
}
