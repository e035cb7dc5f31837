// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/jitdump.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/str.h"
#include "symbol/codelines.h"
#include "symbol/codemap.h"
#include "symbol/growing.h"
#include "symbol/jitdump_format.h"
#include "symbol/symbol.h"

/* How many ranges are looked at, in one go, to find those that move: a third of a second. */
#define MOVE_EFFORT (UINT64_C(1) << 28)

struct hl_jit_dump {
	struct hl_growing file;
	bool has_header, closed;
	bool later;                         /* the record at the offset is of later than was asked for */
	bool monotonic;                     /* times are of CLOCK_MONOTONIC, as far as can be told */
	uint64_t effort;                    /* left for moves */
	uint64_t lines_of;                  /* the code whose lines were told: that comes next */
	char file_name[HL_SYMBOL_NAME_MAX]; /* of the last line, which the next may repeat */
	size_t file_len;
};

struct record {
	uint32_t id, size;
	uint64_t time;
};

struct hl_jit_dump *hl_jit_dump_new(void)
{
	return calloc(1, sizeof(struct hl_jit_dump));
}

void hl_jit_dump_free(struct hl_jit_dump *dump)
{
	free(dump);
}

static int take_header(struct hl_jit_dump *dump, uint64_t until_ns, struct hl_err *err)
{
	const char *bytes;
	size_t n = hl_growing_peek(&dump->file, HL_JIT_HEADER_SIZE, &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "the jitdump's header");
	uint32_t magic = hl_cursor_u32(&c), size, machine;
	uint64_t time, flags;

	(void)hl_cursor_u32(&c); /* version */
	size = hl_cursor_u32(&c);
	machine = hl_cursor_u32(&c);
	hl_cursor_skip(&c, 2 * 4); /* padding, pid */
	time = hl_cursor_u64(&c);
	flags = hl_cursor_u64(&c);
	if (hl_cursor_status(&c, NULL) < 0)
		return -EAGAIN; /* not written yet */
	if (magic != HL_JIT_MAGIC || size < HL_JIT_HEADER_SIZE || (machine != EM_X86_64 && machine != EM_386))
		return hl_err_set(err, -EBADMSG, "no jitdump of this machine");
	if (size > dump->file.end - dump->file.offset)
		return -EAGAIN;
	dump->monotonic = !(flags & HL_JIT_ARCH_TIMESTAMP) && time && time <= until_ns;
	dump->file.offset += size;
	dump->has_header = true;
	return 0;
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

/* An entry of a DEBUG_INFO: address, line, column; then the file's name, or this for that of the entry before. */
enum {
	ENTRY_SIZE = 8 + 2 * 4,
	INFO_SIZE = HL_JIT_PREFIX_SIZE + 2 * 8,
	LONGEST_CODE = 1 << 30,
	MOST_LINE = 1 << 24
};
#define SAME_FILE "\xff"

/* One entry at the offset, before @end; false if it makes no sense, as then what follows has none. */
static bool take_entry(struct hl_jit_dump *dump, uint64_t end, struct hl_code_map *into,
		       struct hl_code_lines *lines)
{
	uint64_t left = end - dump->file.offset, address;
	const char *bytes, *name;
	size_t n = hl_growing_peek(&dump->file,
				   left < ENTRY_SIZE + HL_SYMBOL_NAME_MAX ? (size_t)left
									  : ENTRY_SIZE + HL_SYMBOL_NAME_MAX,
				   &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "");
	uint32_t line;
	size_t len;

	address = hl_cursor_u64(&c);
	line = hl_cursor_u32(&c);
	hl_cursor_skip(&c, 4);
	n = hl_cursor_left(&c);
	name = hl_cursor_bytes(&c, n);
	len = name ? strnlen(name, n) : 0;
	if (!name || len == n || address < dump->lines_of || address - dump->lines_of > LONGEST_CODE ||
	    line > MOST_LINE)
		return false;
	dump->file.offset += ENTRY_SIZE + len + 1;
	if (strcmp(name, SAME_FILE) != 0) {
		memcpy(dump->file_name, name, len);
		dump->file_len = len;
	}
	if (line && dump->file_len &&
	    hl_code_lines_add(lines, (uint32_t)(address - dump->lines_of), line, dump->file_name,
			      dump->file_len))
		hl_code_map_count_dropped(into);
	return true;
}

/* Lines of the code that comes next. All of them or none: what runs into nonsense was no entry before that. */
static void take_lines(struct hl_jit_dump *dump, const struct record *record, struct hl_code_map *into,
		       struct hl_code_lines *lines)
{
	uint64_t begin = dump->file.offset, end = begin + record->size, n_entries;
	const char *bytes;
	size_t n = hl_growing_peek(&dump->file, record->size < INFO_SIZE ? record->size : INFO_SIZE, &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "");
	bool is_whole;

	hl_code_lines_discard(lines);
	hl_cursor_skip(&c, HL_JIT_PREFIX_SIZE);
	dump->lines_of = hl_cursor_u64(&c);
	n_entries = hl_cursor_u64(&c);
	is_whole = hl_cursor_status(&c, NULL) == 0;
	dump->file.offset += INFO_SIZE;
	dump->file_len = 0;
	for (uint64_t i = 0; i < n_entries && is_whole; i++)
		is_whole = take_entry(dump, end, into, lines);
	dump->file.offset = begin;
	if (is_whole)
		return;
	hl_code_lines_discard(lines);
	hl_code_map_count_damaged(into);
}

/*
 * V8 tells lines as if an ELF header stood in front of the code, where `perf inject` puts one: no row then is
 * nearer to the start than that. Of its baseline code ("JS:^") it tells places in the bytecode instead.
 */
static void commit_lines(struct hl_jit_dump *dump, uint64_t address, const char *name,
			 struct hl_code_map *into, struct hl_code_lines *lines)
{
	uint32_t least;

	if (dump->lines_of != address || hl_starts_with(name, "JS:^"))
		hl_code_lines_discard(lines);
	(void)hl_code_lines_collected(lines, &least);
	if (hl_code_lines_commit(lines, address,
				 least >= sizeof(Elf64_Ehdr) ? (uint32_t)sizeof(Elf64_Ehdr) : 0))
		hl_code_map_count_dropped(into);
	dump->lines_of = 0;
}

/* ---- code ----------------------------------------------------------------------------------------------- */

/* A name is what stands up to a NUL; no more of it is looked at than is kept. */
static void take_load(struct hl_jit_dump *dump, const struct record *record, struct hl_code_map *into,
		      struct hl_code_lines *lines)
{
	const char *bytes, *name;
	size_t want = record->size < HL_JIT_LOAD_SIZE + HL_SYMBOL_NAME_MAX
			      ? record->size
			      : HL_JIT_LOAD_SIZE + HL_SYMBOL_NAME_MAX;
	size_t n = hl_growing_peek(&dump->file, want, &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "");
	uint64_t address, size;

	hl_cursor_skip(&c, HL_JIT_PREFIX_SIZE + 2 * 4 + 8);
	address = hl_cursor_u64(&c);
	size = hl_cursor_u64(&c);
	hl_cursor_skip(&c, 8);
	n = hl_cursor_left(&c);
	name = hl_cursor_bytes(&c, n);
	if (!name || !size) {
		hl_code_map_count_damaged(into);
		return;
	}
	hl_code_map_add(into, address, size, name, strnlen(name, n));
	commit_lines(dump, address, strnlen(name, n) < n ? name : "", into, lines);
}

/* Code that moves keeps its name. Until something else takes its old place, samples of that are its, too. */
static void take_move(struct hl_jit_dump *dump, const struct record *record, struct hl_code_map *into,
		      struct hl_code_lines *lines)
{
	const char *bytes;
	size_t n = hl_growing_peek(&dump->file,
				   record->size < HL_JIT_MOVE_SIZE ? record->size : HL_JIT_MOVE_SIZE, &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "");
	uint64_t from, to, size;

	hl_cursor_skip(&c, HL_JIT_PREFIX_SIZE + 2 * 4 + 8);
	from = hl_cursor_u64(&c);
	to = hl_cursor_u64(&c);
	size = hl_cursor_u64(&c);
	if (hl_cursor_status(&c, NULL)) {
		hl_code_map_count_damaged(into);
		return;
	}
	hl_code_map_move(into, from, to, size, &dump->effort);
	if (hl_code_lines_move(lines, from, to))
		hl_code_map_count_dropped(into);
}

/* The record at the offset. False: it is not whole yet. */
static bool peek_record(struct hl_jit_dump *dump, struct record *ret)
{
	const char *bytes;
	size_t n = hl_growing_peek(&dump->file, HL_JIT_PREFIX_SIZE, &bytes);
	struct hl_cursor c = hl_cursor_of(bytes, n, "");

	ret->id = hl_cursor_u32(&c);
	ret->size = hl_cursor_u32(&c);
	ret->time = hl_cursor_u64(&c);
	return hl_cursor_status(&c, NULL) == 0 && ret->size <= dump->file.end - dump->file.offset;
}

static int take_records(struct hl_jit_dump *dump, uint64_t until_ns, struct hl_code_map *into,
			struct hl_code_lines *lines, struct hl_err *err)
{
	struct record record;
	int r = dump->has_header ? 0 : take_header(dump, until_ns, err);

	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	while (!dump->closed && peek_record(dump, &record)) {
		if (record.size < HL_JIT_PREFIX_SIZE)
			return hl_err_set(err, -EBADMSG, "the jitdump has a record of %u bytes at %llu",
					  record.size, (unsigned long long)dump->file.offset);
		dump->later = until_ns && dump->monotonic && record.time > until_ns;
		if (dump->later)
			break;
		if (record.id == HL_JIT_CODE_LOAD)
			take_load(dump, &record, into, lines);
		else if (record.id == HL_JIT_CODE_MOVE)
			take_move(dump, &record, into, lines);
		else if (record.id == HL_JIT_DEBUG_INFO)
			take_lines(dump, &record, into, lines);
		dump->closed = record.id == HL_JIT_CODE_CLOSE;
		dump->file.offset += record.size;
	}
	return 0;
}

int hl_jit_dump_read(struct hl_jit_dump *dump, int fd, uint64_t until_ns, struct hl_code_map *into,
		     struct hl_code_lines *lines, struct hl_err *err)
{
	bool anew;
	int r = hl_growing_begin(&dump->file, fd, &anew);

	if (r < 0)
		return hl_err_errno(err, r, "cannot read the jitdump");
	if (anew) {
		hl_code_map_clear(into);
		hl_code_lines_clear(lines);
		dump->has_header = dump->closed = false;
	}
	dump->effort = MOVE_EFFORT;
	dump->later = false;
	r = take_records(dump, until_ns, into, lines, err);
	hl_code_map_set_left(into, dump->closed || dump->later ? 0 : hl_growing_left(&dump->file));
	hl_growing_finish(&dump->file);
	return r;
}
