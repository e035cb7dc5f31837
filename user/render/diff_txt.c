// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/diff.h"
#include "render/change.h"
#include "render/common.h"
#include "render/diff.h"
#include "render/render.h"
#include "render/table.h"

/* A comparison for a terminal or a log: what changed beyond noise, the largest changes first. */

enum { PAGE_COLUMNS = 110, DEFAULT_ROWS = 30 };

struct row {
	struct hl_change self;
	uint32_t frame;
};

struct report {
	const struct hl_diff *diff;
	struct hl_diff_sum *sums;
	struct row *rows;
	size_t n_rows, n_frames; /* rows: those that changed; of so many */
	FILE *out;
};

static const struct hl_frame *frame_of(const struct report *r, uint32_t frame)
{
	return hl_profile_get_frame(r->diff->tree, frame);
}

static int by_delta(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double d = fabs(y->self.delta) - fabs(x->self.delta);

	if (d != 0)
		return d > 0 ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static void list(struct report *r, bool instructions)
{
	r->n_rows = r->n_frames = 0;
	for (uint32_t f = 0; f < hl_profile_n_frames(r->diff->tree); f++) {
		const struct hl_frame *frame = frame_of(r, f);
		const uint64_t *self = r->sums[f].self;
		struct hl_change change;

		if (instructions ? frame->kind != HL_FRAME_INSN : !hl_frame_is_function(frame))
			continue;
		r->n_frames++;
		change = hl_diff_change(r->diff, self[HL_BEFORE], self[HL_AFTER]);
		if (!change.noise)
			r->rows[r->n_rows++] = (struct row){ change, f };
	}
	qsort(r->rows, r->n_rows, sizeof(*r->rows), by_delta);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static int change_cells(const struct report *r, const struct hl_change *c, struct hl_table *table)
{
	int code;

	hl_render_value(&table->text, r->diff, c->value[HL_BEFORE]);
	code = hl_table_end_cell(table);
	hl_render_value(&table->text, r->diff, c->value[HL_AFTER]);
	if (!code)
		code = hl_table_end_cell(table);
	hl_render_delta(&table->text, r->diff, c->delta);
	if (!code)
		code = hl_table_end_cell(table);
	hl_render_relative(&table->text, c);
	return code ? code : hl_table_end_cell(table);
}

static int module_cell(struct hl_table *table, const struct hl_frame *frame)
{
	hl_render_module(&table->text, frame);
	return hl_table_end_cell(table);
}

static void add_name(struct hl_str *out, const struct hl_frame *frame)
{
	hl_render_name(out, frame);
	hl_str_adds(out, hl_render_suffix(frame));
}

static int function_row(const struct report *r, const struct row *row, struct hl_table *table)
{
	const uint64_t *total = r->sums[row->frame].total;
	struct hl_change all = hl_diff_change(r->diff, total[HL_BEFORE], total[HL_AFTER]);
	int code = change_cells(r, &row->self, table);

	hl_render_delta(&table->text, r->diff, all.delta);
	if (!code)
		code = hl_table_end_cell(table);
	if (!code)
		code = module_cell(table, frame_of(r, row->frame));
	add_name(&table->text, frame_of(r, row->frame));
	return code ? code : hl_table_end_cell(table);
}

static int instruction_row(const struct report *r, const struct row *row, struct hl_table *table)
{
	const struct hl_frame *frame = frame_of(r, row->frame);
	const struct hl_diff_sum *sum = &r->sums[row->frame];
	int code = change_cells(r, &row->self, table);

	if (!code)
		code = module_cell(table, frame);
	add_name(&table->text, frame_of(r, sum->function));
	if (sum->holder != sum->function) {
		hl_str_adds(&table->text, " at ");
		hl_render_name(&table->text, frame_of(r, sum->holder));
	}
	hl_str_addf(&table->text, "+0x%" PRIx64, frame->offset);
	if (!code)
		code = hl_table_end_cell(table);
	hl_render_name(&table->text, frame);
	return code ? code : hl_table_end_cell(table);
}

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef int (*row_fn)(const struct report *r, const struct row *row, struct hl_table *table);

static int write_table(const struct report *r, const char *what, const struct hl_column *columns,
		       size_t n_columns, row_fn add, size_t top)
{
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns, .n_columns = n_columns };
	size_t n = r->n_rows < top ? r->n_rows : top, i;
	int code = 0;

	if (!n) {
		(void)fprintf(r->out, "\nno %s changed beyond noise, of %zu\n", what, r->n_frames);
		return 0;
	}
	for (i = 0; i < n && !code; i++)
		code = add(r, &r->rows[i], &table);
	if (code)
		return code;
	(void)fprintf(r->out, "\n%ss that changed beyond noise, %zu of %zu (of %zu in all), in %s\n\n", what,
		      n, r->n_rows, r->n_frames, hl_render_value_unit(r->diff));
	return hl_table_write(&table, r->out);
}

#define CHANGE_COLUMNS                                                                       \
	{ "before", 10, HL_RENDER_CUT_END, true }, { "after", 10, HL_RENDER_CUT_END, true }, \
		{ "change", 10, HL_RENDER_CUT_END, true },                                   \
	{                                                                                    \
		"", 10, HL_RENDER_CUT_END, true                                              \
	}

static int write_functions(struct report *r, size_t top)
{
	static const struct hl_column columns[] = {
		CHANGE_COLUMNS,
		{ "with callees", 12, HL_RENDER_CUT_END, true },
		{ "module", 20, HL_RENDER_CUT_MIDDLE, false },
		{ "function", 60, HL_RENDER_CUT_NAME, false },
	};

	list(r, /* instructions= */ false);
	return write_table(r, "function", columns, 7, function_row, top);
}

static int write_instructions(struct report *r, size_t top)
{
	static const struct hl_column columns[] = {
		CHANGE_COLUMNS,
		{ "module", 16, HL_RENDER_CUT_MIDDLE, false },
		{ "function+offset", 32, HL_RENDER_CUT_NAME, false },
		{ "instruction", 40, HL_RENDER_CUT_END, false },
	};

	list(r, /* instructions= */ true);
	return write_table(r, "instruction", columns, 7, instruction_row, top);
}

/* The whole header of one of the profiles. */
static void add_side(struct hl_str *s, const struct hl_diff *diff, enum hl_side side)
{
	hl_str_addf(s, "\n%s: ", side == HL_BEFORE ? "before" : "after");
	hl_render_side_title(s, diff, side);
	hl_str_adds(s, "\n\n");
	hl_render_header(s, diff->side[side].profile, PAGE_COLUMNS);
}

static int put(FILE *out, struct hl_str *s)
{
	if (hl_str_status(s))
		return -ENOMEM;
	(void)fwrite(s->data, 1, s->len, out);
	hl_str_clear(s);
	return 0;
}

int hl_diff_write_txt(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
		      struct hl_err *err)
{
	_cleanup_free_ struct hl_diff_sum *sums = hl_diff_sums(diff);
	_cleanup_free_ struct row *rows = calloc((size_t)hl_profile_n_frames(diff->tree) + 1, sizeof(*rows));
	struct report r = { .diff = diff, .sums = sums, .rows = rows, .out = out };
	size_t top = options->top ? options->top : DEFAULT_ROWS;
	_cleanup_str_ struct hl_str s = { 0 };
	int code = sums && rows ? 0 : -ENOMEM;

	hl_render_diff_header(&s, diff, PAGE_COLUMNS);
	if (!code)
		code = put(out, &s);
	if (!code)
		code = write_functions(&r, top);
	if (!code)
		code = write_instructions(&r, top);
	add_side(&s, diff, HL_BEFORE);
	add_side(&s, diff, HL_AFTER);
	if (!code)
		code = put(out, &s);
	if (code)
		return hl_err_errno(err, code, "cannot write the txt output");
	return hl_render_flush(out, "txt", err);
}
