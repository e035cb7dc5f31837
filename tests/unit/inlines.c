// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter tests/shell */
#include "symbol/inlines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "shell.h"

/* Debug information written by hand, and damaged: what compilers write is the matter of inlines_llvm. */

enum { TEXT = 0x1000, TEXT_LEN = 0x1000, AT = 0x10000, DAMAGES = 2000, MAX_BYTES = 4 << 20 };

/* Bytes of a section while they are written. */
struct bytes {
	uint8_t data[MAX_BYTES];
	size_t len;
};

static void put(struct bytes *b, const void *data, size_t len)
{
	CHECK(len <= sizeof(b->data) - b->len);
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void put_u8(struct bytes *b, uint8_t value)
{
	put(b, &value, 1);
}

static void put_u16(struct bytes *b, uint16_t value)
{
	put(b, &value, 2);
}

static void put_u32(struct bytes *b, uint32_t value)
{
	put(b, &value, 4);
}

static void put_u64(struct bytes *b, uint64_t value)
{
	put(b, &value, 8);
}

/*
 * 1: compile unit, 2: subprogram {name, low_pc, high_pc}, 3: inlined subroutine {origin, low_pc, high_pc, call_line},
 * 4: abstract subprogram {name, origin}, 5: lexical block {}; 2, 3 and 5 with children.
 */
static const uint8_t abbrevs[] = {
	1, 0x11, 1, 0,    0,                                              /**/
	2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0,    0,          /**/
	3, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x59, 0x0b, 0, 0, /**/
	4, 0x2e, 0, 0x03, 0x08, 0x31, 0x13, 0,    0,                      /**/
	5, 0x0b, 1, 0,    0,                                              /**/
	0,
};

/* Offset of the abstract function in the unit: behind the header (11 bytes) and the first DIE. */
enum { ABSTRACT = 12 };

static void begin_unit(struct bytes *info)
{
	info->len = 0;
	put_u32(info, 0);
	put_u16(info, 4);
	put_u32(info, 0);
	put_u8(info, 8);
	put_u8(info, 1);
	CHECK_INT(info->len, ABSTRACT);
	put_u8(info, 4);
	put(info, "abstract", 9);
	put_u32(info, ABSTRACT); /* its own origin: a ring */
}

static void begin_function(struct bytes *info, const char *name, uint64_t start, uint32_t len)
{
	put_u8(info, 2);
	put(info, name, strlen(name) + 1);
	put_u64(info, start);
	put_u32(info, len);
}

static void begin_inlined(struct bytes *info, uint64_t start, uint32_t len, uint8_t line)
{
	put_u8(info, 3);
	put_u32(info, ABSTRACT);
	put_u64(info, start);
	put_u32(info, len);
	put_u8(info, line);
}

static void end_children(struct bytes *info, unsigned int n)
{
	while (n--)
		put_u8(info, 0);
}

static void end_unit(struct bytes *info)
{
	uint32_t length;

	put_u8(info, 0);
	length = (uint32_t)info->len - 4;
	memcpy(info->data, &length, 4);
}

static struct hl_elf *file_with(const struct bytes *info)
{
	struct elfwriter w;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT, TEXT, TEXT_LEN);
	ew_put(&w, AT, info->data, info->len);
	(void)ew_section(&w, ".debug_info", SHT_PROGBITS, 0, 0, AT, info->len);
	ew_put(&w, AT + MAX_BYTES, abbrevs, sizeof(abbrevs));
	(void)ew_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, 0, AT + MAX_BYTES, sizeof(abbrevs));
	return ew_open(&w);
}

static int build(const struct hl_elf *elf, const struct hl_elf *debug, size_t memory, uint64_t ns,
		 uint8_t **ret, size_t *ret_len, struct hl_err *err)
{
	struct hl_inlines_limits limits = { memory, hl_monotonic_ns() + ns };
	struct hl_inlines_source source = { .elf = elf, .debug = debug };

	return hl_inlines_build(&source, &limits, ret, ret_len, err);
}

static uint8_t *table_of(const struct bytes *info, size_t *ret_len)
{
	struct hl_elf *elf = file_with(info);
	struct hl_err err = { "" };
	uint8_t *table;

	if (build(elf, NULL, 64 << 20, 60 * 1000000000ull, &table, ret_len, &err) < 0 ||
	    hl_inlines_check(table, *ret_len, &err) < 0)
		FAIL("%s", err.text);
	hl_elf_free(elf);
	return table;
}

static struct hl_inlines_header header_of(const uint8_t *table)
{
	struct hl_inlines_header header;

	memcpy(&header, table, sizeof(header));
	return header;
}

static struct bytes info;

HL_TEST(chains_of_calls)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	uint8_t *table;
	size_t len;

	begin_unit(&info);
	begin_function(&info, "outer", TEXT + 0x100, 0x100);
	begin_inlined(&info, TEXT + 0x110, 0x40, 7);
	put_u8(&info, 5);
	begin_inlined(&info, TEXT + 0x120, 0x10, 9);
	end_children(&info, 4);
	end_unit(&info);
	table = table_of(&info, &len);
	CHECK_INT(hl_inlines_find(table, TEXT + 0xff, frames), 0);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x100, frames), 1);
	CHECK_STR(frames[0].function, "outer");
	CHECK_INT(hl_inlines_find(table, TEXT + 0x11f, frames), 2);
	CHECK_STR(frames[0].function, "abstract");
	CHECK_STR(frames[1].function, "outer");
	CHECK_INT(frames[1].line, 7);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x12f, frames), 3);
	CHECK_INT(frames[1].line, 9);
	CHECK_INT(frames[2].line, 7);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x130, frames), 2);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x1ff, frames), 1);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x200, frames), 0);
	CHECK_INT(hl_inlines_find(table, 0, frames), 0);
	CHECK_INT(hl_inlines_find(table, UINT64_MAX, frames), 0);
	free(table);
}

/* What linkers leave of functions that they dropped, and code that lies in no segment. */
HL_TEST(addresses_that_are_none)
{
	static const uint64_t starts[] = { 0, 1, 0xfff, TEXT + TEXT_LEN, UINT64_MAX, UINT64_MAX - 1 };
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	struct hl_inlines_header header;
	uint8_t *table;
	size_t len;

	begin_unit(&info);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		begin_function(&info, "dropped", starts[i], 0x2000);
		end_children(&info, 1);
	}
	begin_function(&info, "kept", TEXT + TEXT_LEN - 16, 0x2000);
	end_children(&info, 1);
	end_unit(&info);
	table = table_of(&info, &len);
	header = header_of(table);
	CHECK_INT(header.n_ranges, 2);
	CHECK_INT(hl_inlines_find(table, TEXT, frames), 0);
	CHECK_INT(hl_inlines_find(table, TEXT + TEXT_LEN - 1, frames), 1);
	CHECK_STR(frames[0].function, "kept");
	CHECK_INT(hl_inlines_find(table, TEXT + TEXT_LEN, frames), 0);
	free(table);
}

HL_TEST(deep_calls_are_cut_and_counted)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	enum { CALLS = 250 };
	uint8_t *table;
	size_t len;

	begin_unit(&info);
	begin_function(&info, "outer", TEXT, 0x800);
	for (unsigned int i = 0; i < CALLS; i++)
		begin_inlined(&info, TEXT + i, 0x800 - 2 * i, (uint8_t)i);
	end_children(&info, CALLS + 1);
	begin_function(&info, "next", TEXT + 0x900, 0x10);
	end_children(&info, 1);
	end_unit(&info);
	table = table_of(&info, &len);
	CHECK_INT(header_of(table).deep_functions, CALLS - (HL_INLINES_DEPTH - 1));
	CHECK_INT(header_of(table).damaged_units, 0);
	CHECK_INT(hl_inlines_find(table, TEXT + CALLS, frames), HL_INLINES_DEPTH);
	CHECK_STR(frames[HL_INLINES_DEPTH - 1].function, "outer");
	CHECK_INT(hl_inlines_find(table, TEXT + 0x900, frames), 1);
	CHECK_STR(frames[0].function, "next");
	free(table);
}

/* A hundred thousand blocks in each other: no recursion, and what follows them is still found. */
HL_TEST(deep_blocks)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	enum { BLOCKS = 100000 };
	uint8_t *table;
	size_t len;

	begin_unit(&info);
	for (int i = 0; i < BLOCKS; i++)
		put_u8(&info, 5);
	begin_function(&info, "deep", TEXT, 0x10);
	end_children(&info, BLOCKS + 1);
	begin_function(&info, "next", TEXT + 0x900, 0x10);
	end_children(&info, 1);
	end_unit(&info);
	table = table_of(&info, &len);
	CHECK_INT(header_of(table).deep_functions, 1);
	CHECK_INT(hl_inlines_find(table, TEXT, frames), 0);
	CHECK_INT(hl_inlines_find(table, TEXT + 0x900, frames), 1);
	free(table);
}

HL_TEST(limits_are_kept)
{
	struct hl_err err = { "" };
	struct hl_elf *elf;
	uint8_t *table;
	size_t len;

	begin_unit(&info);
	while (info.len < MAX_BYTES - 100) {
		begin_function(&info, "f", TEXT + info.len % 4000, 1 + info.len % 90);
		end_children(&info, 1);
	}
	end_unit(&info);
	elf = file_with(&info);
	CHECK_INT(build(elf, NULL, MAX_BYTES / 2, 60 * 1000000000ull, &table, &len, &err), -E2BIG);
	CHECK(strstr(err.text, ".debug_info"));
	/* Enough for the sections, not for the index. */
	CHECK_INT(build(elf, NULL, info.len + 65536, 60 * 1000000000ull, &table, &len, &err), -E2BIG);
	CHECK(strstr(err.text, "more debug information"));
	CHECK_INT(build(elf, NULL, 64 << 20, 0, &table, &len, &err), -ETIME);
	CHECK(strstr(err.text, "too long"));
	hl_elf_free(elf);
}

HL_TEST(no_debug_information)
{
	struct hl_err err = { "" };
	struct elfwriter w;
	struct hl_elf *elf;
	uint8_t *table;
	size_t len;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT, TEXT, TEXT_LEN);
	elf = ew_open(&w);
	CHECK_INT(build(elf, NULL, 1 << 20, 1000000000ull, &table, &len, &err), -ENODATA);
	CHECK(strstr(err.text, "no debug information"));
	hl_elf_free(elf);
}

/* Every byte of a table changed in several ways is either refused or harmless. */
HL_TEST(damaged_tables)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	uint8_t *table, *copy;
	unsigned int refused = 0;
	size_t len;

	begin_unit(&info);
	begin_function(&info, "outer", TEXT + 0x100, 0x100);
	begin_inlined(&info, TEXT + 0x110, 0x40, 7);
	end_children(&info, 2);
	end_unit(&info);
	table = table_of(&info, &len);
	for (size_t cut = 0; cut < len; cut++)
		CHECK_INT(hl_inlines_check(table, cut, NULL), -EBADMSG);
	copy = malloc(len);
	CHECK(copy);
	for (size_t i = 0; i < len; i++)
		for (unsigned int change = 1; change < 256; change += 7) {
			memcpy(copy, table, len);
			copy[i] ^= (uint8_t)change;
			if (hl_inlines_check(copy, len, NULL) < 0) {
				refused++;
				continue;
			}
			for (uint64_t at = TEXT; at < TEXT + 0x210; at += 5) {
				size_t n = hl_inlines_find(copy, at, frames);

				for (size_t k = 0; k < n; k++)
					CHECK(strlen(frames[k].function) + strlen(frames[k].file) < len);
			}
		}
	CHECK(refused > 1000);
	free(copy);
	free(table);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Changes some bytes inside the debug sections of a copy, builds, and asks. */
static unsigned int damage(const char *path, uint64_t seed)
{
	static uint8_t bytes[MAX_BYTES], copy[MAX_BYTES];
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct hl_elf_section *sections;
	ssize_t size = read(fd, bytes, sizeof(bytes));
	unsigned int built = 0;
	struct hl_elf *elf, *damaged;
	size_t n, len;
	uint8_t *table;

	CHECK(size > 0 && (size_t)size < sizeof(bytes) && hl_elf_open(fd, path, &elf, NULL) == 0);
	(void)close(fd);
	sections = hl_elf_sections(elf, &n);
	for (int round = 0; round < DAMAGES / 2; round++) {
		memcpy(copy, bytes, (size_t)size);
		for (uint64_t hits = 1 + next_random(&seed) % 16; hits; hits--) {
			const struct hl_elf_section *s = &sections[next_random(&seed) % n];

			if (strstr(s->name, "debug_") && s->size)
				copy[s->offset + next_random(&seed) % s->size] = (uint8_t)next_random(&seed);
			else
				hits++;
		}
		fd = ew_file(copy, (size_t)size);
		CHECK(hl_elf_open(fd, path, &damaged, NULL) == 0);
		(void)close(fd);
		if (build(damaged, NULL, 256 << 20, 10 * 1000000000ull, &table, &len, NULL) == 0) {
			CHECK_INT(hl_inlines_check(table, len, NULL), 0);
			for (uint64_t at = 0; at < 0x4000; at += 3)
				(void)hl_inlines_find(table, at, frames);
			free(table);
			built++;
		}
		hl_elf_free(damaged);
	}
	hl_elf_free(elf);
	return built;
}

HL_TEST_TIMEOUT(damaged_debug_information, 600)
{
	static const char *const flags[] = { "-gdwarf-4", "-gdwarf-5" };
	char dir[] = "/tmp/hotleaf-damage-XXXXXX", path[64];
	unsigned int built;

	CHECK(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/program", dir);
	for (int i = 0; i < 2; i++) {
		must("gcc -O2 -g %s -pthread tests/workload/load.c -o %s", flags[i], path);
		built = damage(path, 1 + (uint64_t)i);
		NOTE("%s: %u of %d damaged files gave a table", flags[i], built, DAMAGES / 2);
		CHECK(built > DAMAGES / 8);
	}
	must("rm -r %s", dir);
}

HL_TEST_TIMEOUT(bombs, 120)
{
	char dir[] = "/tmp/hotleaf-bomb-XXXXXX", command[512], path[64];
	struct hl_err err = { "" };
	struct hl_elf *elf;
	uint8_t *table;
	size_t len;
	int fd;

	CHECK(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/bomb", dir);
	(void)snprintf(command, sizeof(command),
		       "cd %s && echo 'int main(void) { return 0; }' >a.c && gcc a.c -o a && truncate -s 1G "
		       "zeros && "
		       "objcopy --add-section .debug_info=zeros a b && rm zeros && "
		       "objcopy --compress-debug-sections=zlib b bomb",
		       dir);
	CHECK_INT(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && hl_elf_open(fd, "bomb", &elf, NULL) == 0);
	(void)close(fd);
	CHECK(hl_elf_size(elf) < 8 << 20);
	CHECK_INT(build(elf, NULL, 512 << 20, 60 * 1000000000ull, &table, &len, &err), -E2BIG);
	CHECK(strstr(err.text, "'.debug_info' is longer than"));
	hl_elf_free(elf);
	must("rm -r %s", dir);
}
