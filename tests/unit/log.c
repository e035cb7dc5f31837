// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#include "harness.h"

static char lines[2000];

static void gather(void *ctx, enum hl_log_level level, const char *line)
{
	size_t len = strlen(lines);

	(void)snprintf(lines + len, sizeof(lines) - len, "%d %s\n", (int)level, line);
}

HL_TEST(levels_and_areas_choose)
{
	CHECK_INT(setenv("HOTLEAF_DEBUG", "symbol,process", 1), 0);
	hl_log_setup(HL_LOG_WARNING, gather, NULL);
	hl_log(HL_LOG_ERROR, "store", "disk %d", 1);
	hl_log(HL_LOG_WARNING, "store", "late");
	hl_log(HL_LOG_INFO, "store", "no");
	hl_debug("store", "no");
	hl_debug("symbo", "no");
	hl_debug("proc", "no");
	hl_debug("process", "pid %d", 7);
	CHECK_STR(lines, "0 disk 1\n1 late\n3 process: pid 7\n");
	CHECK(hl_log_wants(HL_LOG_DEBUG, "symbol") && !hl_log_wants(HL_LOG_DEBUG, "capture"));
}

HL_TEST(all_areas)
{
	CHECK_INT(setenv("HOTLEAF_DEBUG", "all", 1), 0);
	CHECK(hl_log_wants(HL_LOG_DEBUG, "capture"));
	CHECK(!hl_log_wants(HL_LOG_INFO, "capture"));
}

HL_TEST(repeated_trouble_is_counted)
{
	hl_log_setup(HL_LOG_WARNING, gather, NULL);
	for (int i = 0; i < 5; i++)
		hl_log_once(HL_LOG_WARNING, "capture", "no file %d", i);
	hl_log_once(HL_LOG_WARNING, "capture", "only once");
	CHECK_STR(lines, "1 no file 0\n1 only once\n");
	lines[0] = 0;
	hl_log_repeats();
	CHECK_STR(lines, "1 4 more times: no file 0\n");
}

HL_TEST(stderr_gets_one_clean_line)
{
	int log = memfd_create("log", 0), saved = dup(2);
	char text[100] = "";

	CHECK(log >= 0 && dup2(log, 2) == 2);
	hl_log(HL_LOG_ERROR, "base", "evil \x1b[2J\nname");
	CHECK(dup2(saved, 2) == 2);
	CHECK(pread(log, text, sizeof(text) - 1, 0) > 0);
	CHECK_STR(text, "hotleaf: evil \\x1b[2J\\nname\n");
}

/* sd-daemon(3): the journal is told by its device and inode, and takes a level in front. */
HL_TEST(the_journal_gets_levels)
{
	int log = memfd_create("log", 0), saved = dup(2);
	char text[100] = "", stream[64];
	struct stat st;

	CHECK(log >= 0 && fstat(log, &st) == 0);
	(void)snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	CHECK_INT(setenv("JOURNAL_STREAM", stream, 1), 0);
	CHECK_STR(hl_log_prefix(HL_LOG_ERROR), ""); /* stderr is another */
	CHECK(dup2(log, 2) == 2);
	hl_log(HL_LOG_WARNING, "base", "late");
	CHECK_STR(hl_log_prefix(HL_LOG_ERROR), "<3>");
	CHECK(dup2(saved, 2) == 2);
	CHECK(pread(log, text, sizeof(text) - 1, 0) > 0);
	CHECK_STR(text, "<4>hotleaf: late\n");
	CHECK_INT(setenv("JOURNAL_STREAM", "1", 1), 0);
	CHECK_STR(hl_log_prefix(HL_LOG_ERROR), "");
}

HL_TEST(times_are_utc)
{
	char buf[HL_TIME_SIZE];

	CHECK_INT(setenv("TZ", "Asia/Tokyo", 1), 0);
	CHECK_STR(hl_time_text(UINT64_C(1796040000999999999), buf), "2026-11-30T12:00:00Z");
	CHECK_STR(hl_time_file_name(UINT64_C(1796040000000000000), buf), "20261130T120000Z");
	CHECK_STR(hl_time_text(0, buf), "1970-01-01T00:00:00Z");
	CHECK_STR(hl_time_text(UINT64_MAX, buf), "2554-07-21T23:34:33Z");
	CHECK(hl_realtime_ns() > UINT64_C(1700000000000000000));
	CHECK(hl_monotonic_ns() <= hl_monotonic_ns());
}
