/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_TABLE_H
#define HL_RENDER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "render/common.h"

/* A table of text for a fixed-width font: each column as wide as its widest cell, up to its limit. */

struct hl_column {
	const char *title;
	size_t limit; /* columns; a cell that needs more is cut */
	enum hl_render_cut cut;
	bool right; /* numbers */
};

struct hl_table {
	const struct hl_column *columns;
	size_t n_columns;
	struct hl_str text; /* the cells one after the other, row by row */
	size_t *ends;       /* where in @text each cell ends */
	size_t n_ends, cap_ends;
};

/* Ends the cell whose clean text was appended to @table->text. 0 or -ENOMEM. */
int hl_table_end_cell(struct hl_table *table);
/* A cell with a number of samples; one with the share in percent that @part is of @whole. 0 or -ENOMEM. */
int hl_table_count_cell(struct hl_table *table, uint64_t count);
int hl_table_share_cell(struct hl_table *table, uint64_t part, uint64_t whole);
/* Writes titles and rows, two blanks between columns and none at the end of a line. 0 or -ENOMEM. */
int hl_table_write(const struct hl_table *table, FILE *out);
void hl_table_done(struct hl_table *table);

#endif
