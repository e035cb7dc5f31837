// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter tests/codetext */
#include "symbol/codemap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "codetext.h"
#include "elfwriter.h"
#include "harness.h"
#include "symbol/perfmap.h"
#include "symbol/symbol.h"

static struct hl_code_map *code;
static struct hl_perf_map *map;
static struct hl_err err;

static void begin(void)
{
	code = hl_code_map_new();
	map = hl_perf_map_new();
	CHECK(code && map);
}

static void end(void)
{
	hl_code_map_free(code);
	hl_perf_map_free(map);
}

static const char *at(uint64_t address)
{
	return code_text(code, address);
}

static void tell(uint64_t start, uint64_t size, const char *name)
{
	hl_code_map_add(code, start, size, name, strlen(name));
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

HL_TEST(what_was_told_last_counts)
{
	begin();
	CHECK_STR(at(0x1000), "-");
	tell(0x1000, 0x100, "outer");
	tell(0x1040, 0x20, "inner");
	CHECK_STR(at(0xfff), "-");
	CHECK_STR(at(0x1000), "outer 1000+100");
	CHECK_STR(at(0x103f), "outer 1000+100");
	CHECK_STR(at(0x1040), "inner 1040+20");
	CHECK_STR(at(0x105f), "inner 1040+20");
	CHECK_STR(at(0x1060), "outer 1000+100");
	CHECK_STR(at(0x10ff), "outer 1000+100");
	CHECK_STR(at(0x1100), "-");
	/* Across two, and then over all. */
	tell(0xff0, 0x60, "across");
	CHECK_STR(at(0x1000), "across ff0+60");
	CHECK_STR(at(0x1050), "inner 1040+20");
	tell(0, 0x10000, "all");
	CHECK_STR(at(0x1050), "all 0+10000");
	CHECK_STR(at(0xffff), "all 0+10000");
	tell(0x1050, 0, "point");
	CHECK_STR(at(0x1050), "point 1050+1");
	CHECK_STR(at(0x1051), "all 0+10000");
	end();
}

/* V8's builtins, and what is written by hand, may come without. */
HL_TEST(no_size_means_up_to_the_next)
{
	begin();
	tell(0x1000, 0, "first");
	tell(0x1040, 0x10, "second");
	tell(0x1100, 0, "last");
	CHECK_STR(at(0xfff), "-");
	CHECK_STR(at(0x1000), "first 1000+40");
	CHECK_STR(at(0x103f), "first 1000+40");
	CHECK_STR(at(0x1040), "second 1040+10");
	CHECK_STR(at(0x1050), "-"); /* it has a size */
	CHECK_STR(at(0x10ff), "-");
	CHECK_STR(at(0x1100), "last 1100+1000");
	CHECK_STR(at(0x20ff), "last 1100+1000");
	CHECK_STR(at(0x2100), "-"); /* no name goes on for ever */
	end();
}

/* Against a plain array in which each range overwrites what was there. */
HL_TEST(any_ranges_as_if_written_over_each_other)
{
	enum { SPACE = 2000, ROUNDS = 3000 };
	static uint16_t owner[SPACE];
	uint32_t random = 1;

	begin();
	for (unsigned int i = 1; i <= ROUNDS; i++) {
		unsigned int start, size;
		char name[16];

		random = random * 1664525 + 1013904223;
		start = (random >> 8) % SPACE;
		size = 1 + (random >> 24) % (i % 50 ? 16 : 400);
		size = size > SPACE - start ? SPACE - start : size;
		(void)snprintf(name, sizeof(name), "%u", i);
		tell(start, size, name);
		for (unsigned int k = start; k < start + size; k++)
			owner[k] = (uint16_t)i;
		if (i % 500)
			continue;
		for (unsigned int k = 0; k < SPACE; k++) {
			struct hl_code_symbol s;
			bool found = hl_code_map_find(code, k, &s);
			char digits[16] = "";

			CHECK_INT(found, owner[k] != 0);
			if (found)
				CHECK_INT(strtoul(strncat(digits, s.name, s.len), NULL, 10), owner[k]);
		}
	}
	end();
}

HL_TEST(what_is_no_user_code_is_left_out)
{
	begin();
	tell(UINT64_C(0xffffffff81000000), 0x100, "kernel");
	tell(0x1000, UINT64_MAX - 0x800, "wraps");
	tell(0x1000, UINT64_MAX, "wraps, too");
	tell(UINT64_C(1) << 56, 1, "behind the end");
	tell(0x1000, 0x10, "");
	CHECK_INT(hl_code_map_counts(code).damaged, 5);
	CHECK_INT(hl_code_map_counts(code).told, 0);
	CHECK_STR(at(0x1000), "-");
	tell(0, UINT64_C(1) << 56, "everything");
	CHECK_STR(at(UINT64_C(0x7fffffffffff)), "everything 0+100000000000000");
	end();
}

/* A runtime that compiles the same code again for days needs no more memory for that. */
HL_TEST(code_made_again_and_again)
{
	size_t memory = 0;

	begin();
	for (unsigned int round = 0; round < 200; round++) {
		for (unsigned int i = 0; i < 10000; i++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "f%u_%u", i, round);
			tell(0x100000 + i * 64, 64, name);
		}
		CHECK(strncmp(at(0x100000), "f0_", 3) == 0);
		if (round == 2)
			memory = hl_code_map_memory(code);
	}
	CHECK_STR(at(0x100041), "f1_199 100040+40");
	CHECK(hl_code_map_memory(code) <= 2 * memory);
	CHECK_INT(hl_code_map_counts(code).dropped, 0);
	end();
}

/* Even without a question in between: what fills the map makes room first. */
HL_TEST(code_made_again_without_a_question)
{
	begin();
	for (unsigned int i = 0; i < HL_CODE_MAP_RANGES + HL_CODE_MAP_RANGES / 2; i++)
		tell(0x100000 + i % 1000 * 64, 64, "same");
	CHECK_INT(hl_code_map_counts(code).dropped, 0);
	CHECK_STR(at(0x100000), "same 100000+40");
	end();
}

HL_TEST(more_than_there_is_room_for_is_counted)
{
	begin();
	for (unsigned int i = 0; i < HL_CODE_MAP_RANGES + 1000; i++)
		tell(0x100000 + (uint64_t)i * 64, 64, "f");
	CHECK_INT(hl_code_map_counts(code).told, HL_CODE_MAP_RANGES);
	CHECK_INT(hl_code_map_counts(code).dropped, 1000);
	CHECK_STR(at(0x100000 + (HL_CODE_MAP_RANGES - 1) * UINT64_C(64)), "f 80fffc0+40");
	end();
}

/* ---- perf maps ----------------------------------------------------------------------------------------- */

static void append(int fd, const char *text)
{
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
}

static void read_map(int fd)
{
	if (hl_perf_map_read(map, fd, code, &err))
		FAIL("%s", err.text);
}

HL_TEST(lines_of_a_perf_map)
{
	int fd = ew_file("", 0);

	begin();
	append(fd, "1000 20 plain\n"
		   "0x2000 0x20 prefixed\n"
		   "0X3000 2F upper\n"
		   "  4000\t20   blanks  inside \n"
		   "5000 20 dos\r\n"
		   "\n"
		   "6000 20 LazyCompile:~run /srv/app.js:12:3\n"
		   "7000 0 trampoline\n"
		   "00007f0012345678 100 void [App] Ns.Class::Method(int32)[Tier1]\n"
		   "8000 20 torn");
	read_map(fd);
	CHECK_STR(at(0x1000), "plain 1000+20");
	CHECK_STR(at(0x201f), "prefixed 2000+20");
	CHECK_STR(at(0x302e), "upper 3000+2f");
	CHECK_STR(at(0x4000), "blanks  inside  4000+20");
	CHECK_STR(at(0x5000), "dos 5000+20");
	CHECK_STR(at(0x6000), "LazyCompile:~run /srv/app.js:12:3 6000+20");
	CHECK_STR(at(0x7000), "trampoline 7000+1000");
	CHECK_STR(at(0x7f0012345678), "void [App] Ns.Class::Method(int32)[Tier1] 7f0012345678+100");
	CHECK_STR(at(0x8000), "-");
	CHECK_INT(hl_code_map_counts(code).damaged, 0);
	append(fd, " no longer\n9000 20 next\n");
	read_map(fd);
	CHECK_STR(at(0x8000), "torn no longer 8000+20");
	CHECK_STR(at(0x9000), "next 9000+20");
	CHECK_INT(hl_code_map_counts(code).told, 10);
	close(fd);
	end();
}

HL_TEST(a_perf_map_written_anew)
{
	int fd = ew_file("", 0), other = ew_file("", 0);

	begin();
	append(fd, "1000 20 first\n2000 20 second\n");
	read_map(fd);
	/* Shorter, then longer than it was, then as long. */
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	append(fd, "1000 20 again\n");
	read_map(fd);
	CHECK_STR(at(0x1000), "again 1000+20");
	CHECK_STR(at(0x2000), "-");
	CHECK_INT(pwrite(fd, "1000 20 third\n2000 20 x\n", 24, 0), 24);
	read_map(fd);
	CHECK_STR(at(0x1000), "third 1000+20");
	CHECK_STR(at(0x2000), "x 2000+20");
	CHECK_INT(pwrite(fd, "1000 20 fifth\n2000 20 y\n", 24, 0), 24);
	read_map(fd);
	CHECK_STR(at(0x1000), "fifth 1000+20");
	CHECK_STR(at(0x2000), "y 2000+20");
	/* Another file of the same name. */
	append(other, "1000 20 other\n2000 20 y\n3000 20 z\n");
	read_map(other);
	CHECK_STR(at(0x1000), "other 1000+20");
	CHECK_STR(at(0x3000), "z 3000+20");
	close(fd);
	close(other);
	end();
}

HL_TEST(lines_that_make_no_sense)
{
	static const char *const lines[] = {
		"hello",
		"1000",
		"1000 ",
		"1000 20",
		"1000 20 ",
		"zz 20 f",
		"1000 zz f",
		"10000000000000000 20 f",
		"1000 ffffffffffffffff f",
		"-1000 20 f",
		"0x 20 f",
		"ffffffff81000000 20 f",
		"1000,20,f",
	};
	enum { N = sizeof(lines) / sizeof(lines[0]) };
	int fd = ew_file("", 0);

	begin();
	for (size_t i = 0; i < N; i++) {
		append(fd, lines[i]);
		append(fd, "\n");
	}
	CHECK_INT(write(fd, "2000 20 \xff\0\x01 bytes\n", 18), 18);
	read_map(fd);
	CHECK_INT(hl_code_map_counts(code).damaged, N);
	CHECK_INT(hl_code_map_counts(code).told, 1);
	CHECK_STR(at(0x1000), "-");
	CHECK(strncmp(at(0x2000), "\xff", 1) == 0);
	close(fd);
	end();
}

HL_TEST(lines_of_megabytes)
{
	enum { LONG = 3 << 20 };
	char *text = malloc(LONG);
	int fd = ew_file("1000 20 ", 8);
	struct hl_code_symbol s;

	CHECK(text);
	begin();
	memset(text, 'x', LONG);
	CHECK_INT(write(fd, text, LONG), LONG);
	read_map(fd);
	append(fd, "\n2000 20 behind\n");
	read_map(fd);
	CHECK(hl_code_map_find(code, 0x1000, &s));
	CHECK_INT(s.len, HL_SYMBOL_NAME_MAX);
	CHECK_STR(at(0x2000), "behind 2000+20");
	/* No line at all. */
	memset(text, 0, LONG);
	CHECK_INT(write(fd, text, LONG), LONG);
	append(fd, "\n3000 20 last\n");
	read_map(fd);
	CHECK_STR(at(0x3000), "last 3000+20");
	CHECK_INT(hl_code_map_counts(code).damaged, 1);
	free(text);
	close(fd);
	end();
}

HL_TEST(a_million_lines)
{
	FILE *f = tmpfile();

	CHECK(f);
	begin();
	for (unsigned int i = 0; i < 1000000; i++)
		(void)fprintf(f, "%x 40 JS:*function_%u /srv/app/module_%u.js:%u:1\n", 0x10000000 + i * 64, i,
			      i % 1000, i % 77);
	CHECK_INT(fflush(f), 0);
	read_map(fileno(f));
	CHECK_STR(at(0x10000000 + 999999 * 64 + 63),
		  "JS:*function_999999 /srv/app/module_999.js:0:1 13d08fc0+40");
	CHECK_STR(at(0x10000000 + 500000 * 64), "JS:*function_500000 /srv/app/module_0.js:39:1 11e84800+40");
	CHECK_INT(hl_code_map_counts(code).told, 1000000);
	CHECK_INT(hl_code_map_counts(code).dropped, 0);
	NOTE("%zu bytes", hl_code_map_memory(code));
	(void)fclose(f);
	end();
}
