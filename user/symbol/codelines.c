// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/codelines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct row {
	uint32_t offset, line, file; /* `file` is an offset into the names */
};

/* The rows of code that begins at `start`, in order. What is told of it anew replaces them. */
struct block {
	uint64_t start;
	uint32_t first, n, base;
};

struct hl_code_lines {
	struct row *rows;
	size_t n_rows, cap_rows, collected; /* the last `collected` rows are nobody's yet */
	struct block *blocks;
	size_t n_blocks, cap_blocks;
	struct hl_index by_start;
	char *names;
	size_t names_len, cap_names;
	struct hl_index by_name; /* positions are offsets into the names */
};

struct hl_code_lines *hl_code_lines_new(void)
{
	return calloc(1, sizeof(struct hl_code_lines));
}

void hl_code_lines_clear(struct hl_code_lines *lines)
{
	free(lines->rows);
	free(lines->blocks);
	free(lines->names);
	hl_index_done(&lines->by_start);
	hl_index_done(&lines->by_name);
	*lines = (struct hl_code_lines){ 0 };
}

void hl_code_lines_free(struct hl_code_lines *lines)
{
	if (!lines)
		return;
	hl_code_lines_clear(lines);
	free(lines);
}

struct wanted_name {
	const char *names, *name;
	size_t len;
};

static int same_name(const void *ctx, uint32_t position)
{
	const struct wanted_name *w = ctx;

	return strncmp(w->names + position, w->name, w->len) == 0 && w->names[position + w->len] == '\0';
}

/* The offset of @name, which has no NUL in it, in the names, where it stands once. */
static int intern(struct hl_code_lines *lines, const char *name, size_t len, uint32_t *ret)
{
	struct wanted_name wanted = { lines->names, name, len };
	uint64_t hash = hl_hash(name, len, 0);
	int r;

	*ret = hl_index_find(&lines->by_name, hash, same_name, &wanted);
	if (*ret != HL_INDEX_NONE)
		return 0;
	r = hl_grow(&lines->names, &lines->cap_names, lines->names_len + len + 1, 1, HL_CODE_LINES_NAMES);
	if (r == 0)
		r = hl_index_add(&lines->by_name, hash, (uint32_t)lines->names_len);
	if (r < 0)
		return r;
	*ret = (uint32_t)lines->names_len;
	memcpy(lines->names + lines->names_len, name, len);
	lines->names[lines->names_len + len] = '\0';
	lines->names_len += len + 1;
	return 0;
}

int hl_code_lines_add(struct hl_code_lines *lines, uint32_t offset, uint32_t line, const char *file,
		      size_t len)
{
	uint32_t name;
	int r = intern(lines, file, len, &name);

	if (r == 0)
		r = hl_grow(&lines->rows, &lines->cap_rows, lines->n_rows + 1, sizeof(*lines->rows),
			    HL_CODE_LINES_ROWS);
	if (r < 0)
		return r;
	lines->rows[lines->n_rows++] = (struct row){ offset, line, name };
	lines->collected++;
	return 0;
}

size_t hl_code_lines_collected(const struct hl_code_lines *lines, uint32_t *ret_least)
{
	*ret_least = UINT32_MAX;
	for (size_t i = lines->n_rows - lines->collected; i < lines->n_rows; i++)
		if (lines->rows[i].offset < *ret_least)
			*ret_least = lines->rows[i].offset;
	return lines->collected;
}

void hl_code_lines_discard(struct hl_code_lines *lines)
{
	lines->n_rows -= lines->collected;
	lines->collected = 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

struct wanted_block {
	const struct block *blocks;
	uint64_t start;
};

static int same_start(const void *ctx, uint32_t position)
{
	const struct wanted_block *w = ctx;

	return w->blocks[position].start == w->start;
}

static struct block *find_block(const struct hl_code_lines *lines, uint64_t start)
{
	struct wanted_block wanted = { lines->blocks, start };
	uint32_t at = hl_index_find(&lines->by_start, hl_hash(&start, sizeof(start), 0), same_start, &wanted);

	return at == HL_INDEX_NONE ? NULL : &lines->blocks[at];
}

static int set_block(struct hl_code_lines *lines, const struct block *block)
{
	struct block *old = find_block(lines, block->start);
	int r;

	if (old || !block->n) {
		if (old)
			*old = *block;
		return 0;
	}
	r = hl_grow(&lines->blocks, &lines->cap_blocks, lines->n_blocks + 1, sizeof(*lines->blocks),
		    HL_CODE_LINES_ROWS);
	if (r == 0)
		r = hl_index_add(&lines->by_start, hl_hash(&block->start, sizeof(block->start), 0),
				 (uint32_t)lines->n_blocks);
	if (r == 0)
		lines->blocks[lines->n_blocks++] = *block;
	return r;
}

int hl_code_lines_commit(struct hl_code_lines *lines, uint64_t start, uint32_t base)
{
	struct block block = { .start = start,
			       .first = (uint32_t)(lines->n_rows - lines->collected),
			       .n = (uint32_t)lines->collected,
			       .base = base };

	if (block.n)
		qsort(lines->rows + block.first, block.n, sizeof(*lines->rows), by_offset);
	lines->collected = 0;
	return set_block(lines, &block);
}

int hl_code_lines_move(struct hl_code_lines *lines, uint64_t from, uint64_t to)
{
	const struct block *old = find_block(lines, from);
	struct block block = old ? *old : (struct block){ 0 };

	block.start = to;
	return set_block(lines, &block);
}

bool hl_code_lines_find(const struct hl_code_lines *lines, uint64_t start, uint64_t address,
			struct hl_code_line *ret)
{
	const struct block *block = find_block(lines, start);
	uint64_t offset;
	size_t low, high;

	if (!block || address < start)
		return false;
	/* The last row at or before it. */
	offset = address - start + block->base;
	low = block->first;
	high = (size_t)block->first + block->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == block->first)
		return false;
	*ret = (struct hl_code_line){ .file = lines->names + lines->rows[low - 1].file,
				      .id = lines->rows[low - 1].file,
				      .line = lines->rows[low - 1].line };
	return true;
}

size_t hl_code_lines_memory(const struct hl_code_lines *lines)
{
	return lines->cap_rows * sizeof(*lines->rows) + lines->cap_blocks * sizeof(*lines->blocks) +
	       lines->cap_names + (lines->by_start.mask + 1 + lines->by_name.mask + 1) * 16;
}
