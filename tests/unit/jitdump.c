// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter tests/codetext */
#include "symbol/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "codetext.h"
#include "elfwriter.h"
#include "harness.h"
#include "symbol/codelines.h"
#include "symbol/codemap.h"
#include "symbol/symbol.h"

static struct hl_code_map *code;
static struct hl_code_lines *lines;
static struct hl_jit_dump *dump;
static struct hl_err err;

static void begin(void)
{
	code = hl_code_map_new();
	lines = hl_code_lines_new();
	dump = hl_jit_dump_new();
	CHECK(code && lines && dump);
}

static void end(void)
{
	hl_code_map_free(code);
	hl_code_lines_free(lines);
	hl_jit_dump_free(dump);
}

static const char *at(uint64_t address)
{
	return code_text(code, address);
}

static struct hl_str bytes;
static char room[8];

static void put(uint64_t value, size_t size)
{
	hl_str_add(&bytes, &value, size);
}

static void put_header(uint32_t machine, uint64_t time, uint64_t flags)
{
	hl_str_clear(&bytes);
	put(0x4a695444, 4);
	put(1, 4);
	put(40, 4);
	put(machine, 4);
	put(0, 4);
	put(1234, 4);
	put(time, 8);
	put(flags, 8);
}

static void put_prefix(uint32_t id, size_t body, uint64_t time)
{
	put(id, 4);
	put(16 + body, 4);
	put(time, 8);
}

static void put_load(uint64_t time, uint64_t address, uint64_t size, const char *name)
{
	put_prefix(0, 40 + strlen(name) + 1 + size, time);
	put(1234, 4);
	put(1234, 4);
	put(address, 8);
	put(address, 8);
	put(size, 8);
	put(1, 8);
	hl_str_add(&bytes, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		hl_str_addc(&bytes, '\x90');
}

static void put_move(uint64_t time, uint64_t from, uint64_t to, uint64_t size)
{
	put_prefix(1, 48, time);
	put(1234, 4);
	put(1234, 4);
	put(to, 8);
	put(from, 8);
	put(to, 8);
	put(size, 8);
	put(1, 8);
}

/* Writes what was put since the last time behind @fd's end, and has it read. */
static int read_dump(int fd, uint64_t until)
{
	CHECK_INT(write(fd, bytes.data, bytes.len), bytes.len);
	hl_str_clear(&bytes);
	return hl_jit_dump_read(dump, fd, until, code, lines, &err);
}

HL_TEST(records_of_a_jitdump)
{
	int fd = ew_file("", 0);

	begin();
	put_header(EM_X86_64, 5, 0);
	put_load(10, 0x1000, 0x40, "first");
	put_prefix(2, 40, 11); /* debug info, of one line */
	for (int i = 0; i < 5; i++)
		put(0, 8);
	put_load(12, 0x2000, 0x40, "second");
	put_prefix(99, 8, 13); /* unknown */
	put(0, 8);
	put_move(14, 0x1000, 0x5000, 0x40);
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(at(0x1000), "first 1000+40");
	CHECK_STR(at(0x203f), "second 2000+40");
	CHECK_STR(at(0x5001), "first 5000+40");
	/* A record that is not whole waits for its end. */
	put_load(20, 0x3000, 0x40, "third");
	bytes.len -= 10;
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(at(0x3000), "-");
	hl_str_add(&bytes, "0123456789", 10);
	put_load(21, 0x1000, 0x40, "in the place of first");
	put_prefix(3, 0, 22);
	put_load(23, 0x4000, 0x40, "behind the end");
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(at(0x3000), "third 3000+40");
	CHECK_STR(at(0x1000), "in the place of first 1000+40");
	CHECK_STR(at(0x5000), "first 5000+40");
	CHECK_STR(at(0x4000), "-");
	CHECK_INT(hl_code_map_counts(code).damaged, 0);
	close(fd);
	end();
}

static void put_code(uint64_t time, uint64_t address, const char *text)
{
	size_t len = strlen(text);

	put_load(time, address, len, "code");
	memcpy(bytes.data + bytes.len - len, text, len);
}

/* The four bytes of code at @start. */
static const char *code_at(int fd, uint64_t until, uint64_t start)
{
	static char text[5];

	return hl_jit_dump_find_code(fd, until, start, (uint8_t *)text, 4, &err) ? "-" : text;
}

HL_TEST(bytes_of_code)
{
	int fd = ew_file("", 0);

	put_header(EM_X86_64, 5, 0);
	put_code(10, 0x1000, "old1");
	put_code(11, 0x2000, "two2");
	put_move(12, 0x1000, 0x3000, 4);
	put_code(13, 0x1000, "new1");
	put_move(14, 0x3000, 0x4000, 4);
	put_code(90, 0x2000, "late");
	CHECK_INT(write(fd, bytes.data, bytes.len), bytes.len);
	CHECK_STR(code_at(fd, 20, 0x1000), "new1");
	CHECK_STR(code_at(fd, 20, 0x2000), "two2");
	CHECK_STR(code_at(fd, 0, 0x2000), "late");
	CHECK_STR(code_at(fd, 20, 0x3000), "old1");
	CHECK_STR(code_at(fd, 20, 0x4000), "old1");
	CHECK_STR(code_at(fd, 12, 0x1000), "old1");
	CHECK_STR(code_at(fd, 20, 0x1001), "-");
	CHECK_STR(code_at(fd, 9, 0x1000), "-");
	/* Cut in the code of the last record, and in a name; moved in a circle; no jitdump. */
	CHECK_INT(ftruncate(fd, (off_t)bytes.len - 1), 0);
	CHECK_STR(code_at(fd, 0, 0x2000), "-");
	CHECK_INT(ftruncate(fd, (off_t)bytes.len - 6), 0);
	CHECK_STR(code_at(fd, 0, 0x2000), "-");
	put_move(15, 0x7000, 0x6000, 4);
	put_move(16, 0x6000, 0x7000, 4);
	CHECK_INT(pwrite(fd, bytes.data, bytes.len, 0), bytes.len);
	CHECK_STR(code_at(fd, 0, 0x7000), "-");
	CHECK_INT(ftruncate(fd, 39), 0);
	CHECK_INT(hl_jit_dump_find_code(fd, 0, 0x1000, (uint8_t *)room, 4, &err), -EBADMSG);
	close(fd);
	hl_str_done(&bytes);
}

HL_TEST(code_that_was_made_after_the_window)
{
	int fd = ew_file("", 0);

	begin();
	put_header(EM_X86_64, 5, 0);
	put_load(10, 0x1000, 0x40, "old");
	put_load(30, 0x1000, 0x40, "new");
	CHECK_INT(read_dump(fd, 20), 0);
	CHECK_STR(at(0x1000), "old 1000+40");
	CHECK_INT(read_dump(fd, 30), 0);
	CHECK_STR(at(0x1000), "new 1000+40");
	close(fd);
	end();
}

/* Times by a counter of the CPU, or by a clock that is ahead: they say nothing about the window. */
HL_TEST(times_of_another_clock)
{
	for (int ahead = 0; ahead < 2; ahead++) {
		int fd = ew_file("", 0);

		begin();
		put_header(EM_X86_64, ahead ? 1000 : 5, ahead ? 0 : 1);
		put_load(2000, 0x1000, 0x40, "old");
		put_load(3000, 0x1000, 0x40, "new");
		CHECK_INT(read_dump(fd, 20), 0);
		CHECK_STR(at(0x1000), "new 1000+40");
		close(fd);
		end();
	}
}

HL_TEST(damaged_jitdumps)
{
	static const struct {
		size_t where;
		uint32_t value;
		int status;
		const char *first, *second;
		uint64_t left; /* bytes, of two records of 56 + 64 + 6 and 7 behind a header of 40 */
	} damages[] = {
		{ 0, 0x4454694a, -EBADMSG, "-", "-", 293 },  /* the other byte order */
		{ 8, 0, -EBADMSG, "-", "-", 293 },           /* a header without size */
		{ 8, 0xfffffff0, 0, "-", "-", 293 },         /* … of more than there is */
		{ 12, EM_AARCH64, -EBADMSG, "-", "-", 293 }, /* another machine */
		{ 40 + 4, 0, -EBADMSG, "-", "-", 253 },      /* a record without size */
		{ 40 + 4, 15, -EBADMSG, "-", "-", 253 },     /* … smaller than its prefix */
		{ 40 + 4, 16, 0, "-", "-", 237 },            /* … without a body: the next makes no sense */
		{ 40 + 4, 0xffffffff, 0, "-", "-", 253 },    /* … of more than there is */
		{ 40 + 44, 0xffffffff, 0, "-", "second 2000+40", 0 }, /* its code wraps around */
	};

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		int fd = ew_file("", 0);

		begin();
		put_header(EM_X86_64, 5, 0);
		put_load(10, 0x1000, 0x40, "first");
		put_load(11, 0x2000, 0x40, "second");
		memcpy(bytes.data + damages[i].where, &damages[i].value, 4);
		CHECK_INT(read_dump(fd, 100), damages[i].status);
		CHECK_STR(at(0x1000), damages[i].first);
		CHECK_STR(at(0x2000), damages[i].second);
		CHECK_INT(hl_code_map_counts(code).left, damages[i].left);
		close(fd);
		end();
	}
}

/* Each move is looked for among all that was told: that has an end. */
HL_TEST(a_jitdump_of_moves)
{
	int fd = ew_file("", 0);

	begin();
	put_header(EM_X86_64, 5, 0);
	for (unsigned int i = 0; i < 100000; i++)
		put_load(10, 0x100000 + i * 16, 1, "f");
	for (unsigned int i = 0; i < 100000; i++)
		put_move(11, 0x100000, 0x10000000 + i * 16, 16);
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK(hl_code_map_counts(code).dropped > 90000);
	CHECK_STR(at(0x100000), "f 100000+1");
	close(fd);
	end();
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

static void put_info(uint64_t address, unsigned int n_entries, size_t size)
{
	put_prefix(2, 16 + size, 10);
	put(address, 8);
	put(n_entries, 8);
}

static void put_entry(uint64_t address, uint32_t line, const char *file)
{
	put(address, 8);
	put(line, 4);
	put(7, 4);
	hl_str_add(&bytes, file, strlen(file) + 1);
}

static const char *line_at(uint64_t start, uint64_t address)
{
	static char text[128];
	struct hl_code_line line;

	if (!hl_code_lines_find(lines, start, address, &line))
		return "-";
	(void)snprintf(text, sizeof(text), "%s:%u", line.file, line.line);
	return text;
}

HL_TEST(lines_of_a_jitdump)
{
	int fd = ew_file("", 0);

	begin();
	put_header(EM_X86_64, 5, 0);
	put_info(0x1000, 4, 20 + 20 + 18 + 19);
	put_entry(0x1000, 5, "a.c"); /* in any order, and a name may be that of the entry before */
	put_entry(0x1020, 9, "b.h");
	put_entry(0x1010, 8, "\xff");
	put_entry(0x1030, 0, "no"); /* none */
	put_load(10, 0x1000, 0x40, "f");
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(at(0x1000), "f 1000+40");
	CHECK_STR(line_at(0x1000, 0x1000), "a.c:5");
	CHECK_STR(line_at(0x1000, 0x100f), "a.c:5");
	CHECK_STR(line_at(0x1000, 0x1010), "b.h:8");
	CHECK_STR(line_at(0x1000, 0x103f), "b.h:9");
	CHECK_STR(line_at(0x2000, 0x1000), "-");
	put_move(11, 0x1000, 0x5000, 0x40);
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(line_at(0x5000, 0x5011), "b.h:8");
	/* Other code at the old place, of which nothing is told. */
	put_load(12, 0x1000, 0x40, "g");
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(line_at(0x1000, 0x1010), "-");
	CHECK_STR(line_at(0x5000, 0x5011), "b.h:8");
	CHECK_INT(hl_code_map_counts(code).damaged, 0);
	close(fd);
	end();
}

/* Told as if an ELF header stood in front of the code; and for baseline code, as places in the bytecode. */
HL_TEST(lines_as_v8_tells_them)
{
	int fd = ew_file("", 0);

	begin();
	put_header(EM_X86_64, 5, 0);
	put_info(0x1000, 2, 21 + 18);
	put_entry(0x1040, 5, "a.js");
	put_entry(0x1050, 6, "\xff");
	put_load(10, 0x1000, 0x40, "JS:*f a.js:1:1");
	put_info(0x2000, 1, 21);
	put_entry(0x2040, 5, "a.js");
	put_load(10, 0x2000, 0x40, "JS:^f a.js:1:1");
	CHECK_INT(read_dump(fd, 100), 0);
	CHECK_STR(line_at(0x1000, 0x1000), "a.js:5");
	CHECK_STR(line_at(0x1000, 0x1010), "a.js:6");
	CHECK_STR(line_at(0x2000, 0x2010), "-");
	close(fd);
	end();
}

/* Lines that run into nonsense are none at all, and counted; what comes behind them is read. */
HL_TEST(damaged_lines_of_a_jitdump)
{
	for (int i = 0; i < 5; i++) {
		int fd = ew_file("", 0);

		begin();
		put_header(EM_X86_64, 5, 0);
		put_info(0x1000, i == 0 ? 3 : 2, 2 * 20);
		put_entry(i == 1 ? 0xfff : 0x1000, 5, "a.c");
		put_entry(i == 2 ? UINT64_C(0xc80875b737ffb480) : 0x1010, i == 3 ? 3036549308 : 6, "b.c");
		if (i == 4)
			bytes.data[bytes.len - 1] = 'c'; /* a name without an end */
		put_load(10, 0x1000, 0x40, "f");
		CHECK_INT(read_dump(fd, 100), 0);
		CHECK_STR(at(0x1000), "f 1000+40");
		CHECK_STR(line_at(0x1000, 0x1000), "-");
		CHECK_INT(hl_code_map_counts(code).damaged, 1);
		close(fd);
		end();
	}
}
