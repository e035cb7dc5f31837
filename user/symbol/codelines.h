/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_CODELINES_H
#define HL_SYMBOL_CODELINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The source lines of code that one process made while it ran. A runtime tells the lines of a function first
 * and then that its code is there: rows are collected, and become those of a start of code when that is told.
 */
struct hl_code_lines;

/* Beyond so many rows, functions or bytes of file names, rows are dropped. */
#define HL_CODE_LINES_ROWS  (4u << 20)
#define HL_CODE_LINES_NAMES (16u << 20)

/* Owned by the caller; NULL without memory. */
struct hl_code_lines *hl_code_lines_new(void);
void hl_code_lines_free(struct hl_code_lines *lines);
void hl_code_lines_clear(struct hl_code_lines *lines);

/* Collects: from @offset of the code on it is line @line of @file. 0, -E2BIG or -ENOMEM. */
int hl_code_lines_add(struct hl_code_lines *lines, uint32_t offset, uint32_t line, const char *file,
		      size_t len);
/* How many rows were collected, and the least offset of them. */
size_t hl_code_lines_collected(const struct hl_code_lines *lines, uint32_t *ret_least);
/* Forgets what was collected. */
void hl_code_lines_discard(struct hl_code_lines *lines);
/*
 * Code begins at @start: its lines are those collected, whose offsets count from @base, and no others. 0, or
 * an error as above: then none.
 */
int hl_code_lines_commit(struct hl_code_lines *lines, uint64_t start, uint32_t base);
/* What begins at @from begins at @to, too. */
int hl_code_lines_move(struct hl_code_lines *lines, uint64_t from, uint64_t to);

struct hl_code_line {
	const char *file; /* any bytes, and a NUL behind them; valid until the next change */
	uint32_t id;      /* of the file: equal ids are equal names until the next change */
	uint32_t line;
};
/* The line of @address in the code that begins at @start. */
bool hl_code_lines_find(const struct hl_code_lines *lines, uint64_t start, uint64_t address,
			struct hl_code_line *ret);
/* Bytes of memory held. */
size_t hl_code_lines_memory(const struct hl_code_lines *lines);

#endif
