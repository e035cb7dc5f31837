// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>

#include "symbol/inlines_build.h"

/* A sequence of rows while it is read. */
struct reader {
	struct hl_inlines_builder *b;
	const struct hl_dwarf_lines *lines;
	bool begun, live; /* live: the sequence begins where code is */
	uint64_t start, last, limit;
	size_t first;
	uint64_t file_number; /* of the row before, and its string */
	uint32_t file;
};

static int end_sequence(struct reader *reader, uint64_t address)
{
	struct hl_inlines_builder *b = reader->b;
	uint64_t end = address < reader->limit ? address : reader->limit;
	size_t n = b->n_rows - reader->first;
	int r;

	reader->begun = false;
	if (!reader->live || n == 0 || end <= reader->start) {
		b->n_rows = reader->first;
		return 0;
	}
	r = hl_grow(&b->sequences, &b->cap_sequences, b->n_sequences + 1, sizeof(*b->sequences),
		    b->memory / sizeof(*b->sequences));
	if (r == 0)
		b->sequences[b->n_sequences++] =
			(struct hl_sequence){ (reader->start - b->base) << 32 | reader->first,
					      (uint32_t)(end - b->base), (uint32_t)n };
	return r;
}

/* Of several rows at one address the last holds; rows that go back are damage. */
static int add_row(void *ctx, uint64_t address, uint64_t file, uint64_t line, bool end)
{
	struct reader *reader = ctx;
	struct hl_inlines_builder *b = reader->b;
	struct hl_row row, *before;
	int r;

	if (!reader->begun) {
		reader->begun = true;
		reader->live = hl_inlines_is_code(b, address, &reader->limit);
		reader->start = reader->last = address;
		reader->first = b->n_rows;
	}
	if (end)
		return end_sequence(reader, address);
	if (!reader->live || address < reader->last || address >= reader->limit)
		return 0;
	reader->last = address;
	if (file != reader->file_number) {
		r = hl_inlines_file(b, reader->lines, file, &reader->file);
		if (r < 0)
			return r;
		reader->file_number = file;
	}
	row = (struct hl_row){ (uint32_t)(address - b->base), reader->file,
			       line <= UINT32_MAX ? (uint32_t)line : 0 };
	before = b->n_rows > reader->first ? &b->rows[b->n_rows - 1] : NULL;
	if (before && before->start == row.start) {
		*before = row;
		return 0;
	}
	if (before && before->file == row.file && before->line == row.line)
		return 0;
	r = hl_grow(&b->rows, &b->cap_rows, b->n_rows + 1, sizeof(*b->rows), b->memory / sizeof(*b->rows));
	if (r == 0)
		b->rows[b->n_rows++] = row;
	return r;
}

int hl_inlines_add_rows(struct hl_inlines_builder *b, const struct hl_dwarf_lines *lines)
{
	struct reader reader = { .b = b, .lines = lines, .file_number = UINT64_MAX };
	int r = hl_dwarf_lines_run(lines, add_row, &reader);

	/* A program that ends inside a sequence does not say how far that reaches. */
	if (reader.begun)
		b->n_rows = reader.first;
	return r;
}
