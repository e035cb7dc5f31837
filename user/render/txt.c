// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"
#include "render/diff.h"
#include "render/render.h"
#include "render/sorted.h"
#include "render/table.h"

/* Tables for a terminal or a mail: the header, the hottest functions and instructions, the classes. */

enum { PAGE_COLUMNS = 110, DEFAULT_ROWS = 30, SORTED_ROWS = 100 };

/* What is known of a frame, summed over all stacks. */
struct sum {
	uint64_t self;   /* of a function: its instructions included */
	uint64_t total;  /* a stack in which the function recurs counts once */
	uint64_t leaves; /* of a function: samples of its instructions */
	uint64_t few;    /* of those: of instructions with few samples each … */
	uint32_t n_few;  /* … and how many of them there are */
	uint32_t open;   /* the end of the outermost node of this function that is being walked */
};

/* An instruction in a function: files of the same code may know different names for it, as when one is stripped. */
struct hit {
	uint32_t frame, function;      /* the instruction, the frame above it */
	const struct hl_frame *holder; /* the function that its offset is in */
	uint64_t total;
};

struct row {
	uint64_t first,
		second; /* sorted by, largest first; of instructions the second is the frame, to be stable */
	uint32_t frame; /* of instructions: the number of the hit */
	bool few;       /* stands for the instructions of function @frame that have few samples */
};

struct report {
	const struct hl_profile *profile;
	struct sum *sums; /* a frame each */
	struct hit *hits;
	size_t n_hits;
	struct row *rows;
	size_t n_rows;
	uint64_t all, classes[HL_N_INSN_CLASSES];
	FILE *out;
};

static const struct hl_frame *frame_of(const struct report *r, uint32_t frame)
{
	return hl_profile_get_frame(r->profile, frame);
}

static bool is_insn(const struct report *r, uint32_t frame)
{
	return frame_of(r, frame)->kind == HL_FRAME_INSN;
}

static void sum_node(struct report *r, const struct hl_node *nodes, uint32_t i)
{
	const struct hl_node *node = &nodes[i];
	uint32_t function = nodes[hl_profile_function(r->profile, i)].frame;
	struct sum *sum = &r->sums[node->frame], *above = &r->sums[function];

	sum->self += node->self;
	if (i >= sum->open) { /* no node of this function is around this one */
		sum->total += node->total;
		sum->open = node->end;
	}
	if (frame_of(r, node->frame)->kind == HL_FRAME_PART)
		above->self += node->self;
	if (!is_insn(r, node->frame))
		return;
	above->self += node->total;
	above->leaves += node->total;
	r->hits[r->n_hits++] =
		(struct hit){ node->frame, function, hl_render_holder(r->profile, i), node->total };
	r->classes[hl_render_class(frame_of(r, node->frame))] += node->total;
}

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Makes one of the hits of an instruction in a function, below whatever callers. */
static void merge_hits(struct report *r)
{
	size_t n = 0;

	if (r->n_hits)
		qsort(r->hits, r->n_hits, sizeof(*r->hits), by_place);
	for (size_t i = 0; i < r->n_hits; i++) {
		if (n && by_place(&r->hits[n - 1], &r->hits[i]) == 0)
			r->hits[n - 1].total += r->hits[i].total;
		else
			r->hits[n++] = r->hits[i];
	}
	r->n_hits = n;
}

static int by_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? 1 : -1;
	if (x->second != y->second)
		return x->second < y->second ? 1 : -1;
	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	return x->few - y->few;
}

static void add_row(struct report *r, struct row row)
{
	r->rows[r->n_rows++] = row;
}

/* By samples of their own, or with what they call. */
static void list_functions(struct report *r, bool by_total)
{
	r->n_rows = 0;
	for (uint32_t f = 0; f < hl_profile_n_frames(r->profile); f++)
		if (hl_frame_is_function(frame_of(r, f)))
			add_row(r, (struct row){ by_total ? r->sums[f].total : r->sums[f].self,
						 by_total ? r->sums[f].self : r->sums[f].total, f, false });
	qsort(r->rows, r->n_rows, sizeof(*r->rows), by_samples);
}

static void list_instructions(struct report *r)
{
	r->n_rows = 0;
	for (size_t i = 0; i < r->n_hits; i++) {
		const struct hit *hit = &r->hits[i];

		if (hit->total >= HL_RENDER_FEW) {
			add_row(r, (struct row){ hit->total, ~(uint64_t)hit->frame, (uint32_t)i, false });
		} else {
			r->sums[hit->function].few += hit->total;
			r->sums[hit->function].n_few++;
		}
	}
	for (uint32_t f = 0; f < hl_profile_n_frames(r->profile); f++)
		if (r->sums[f].n_few)
			add_row(r, (struct row){ r->sums[f].few, ~(uint64_t)f, f, true });
	qsort(r->rows, r->n_rows, sizeof(*r->rows), by_samples);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

static int module_cell(struct hl_table *table, const struct hl_frame *frame)
{
	hl_render_module(&table->text, frame);
	return hl_table_end_cell(table);
}

static int function_row(const struct report *r, const struct row *row, struct hl_table *table)
{
	const struct sum *sum = &r->sums[row->frame];
	const struct hl_frame *frame = frame_of(r, row->frame);
	int err = hl_table_count_cell(table, sum->self);

	if (!err)
		err = hl_table_share_cell(table, sum->self, r->all);
	if (!err)
		err = hl_table_count_cell(table, sum->total);
	if (!err)
		err = hl_table_share_cell(table, sum->total, r->all);
	if (!err)
		err = module_cell(table, frame);
	if (err)
		return err;
	hl_render_name(&table->text, frame);
	hl_str_adds(&table->text, hl_render_suffix(frame));
	return hl_table_end_cell(table);
}

/* "parse_header+0x4d"; "skip_[i] at parse_header+0x4d" where skip was inlined. */
static int place_cell(const struct report *r, const struct row *row, struct hl_table *table)
{
	const struct hit *hit = &r->hits[row->few ? 0 : row->frame];
	const struct hl_frame *function = frame_of(r, row->few ? row->frame : hit->function);

	hl_render_name(&table->text, function);
	hl_str_adds(&table->text, hl_render_suffix(function));
	if (row->few)
		return hl_table_end_cell(table);
	if (hit->holder != function) {
		hl_str_adds(&table->text, " at ");
		hl_render_name(&table->text, hit->holder);
	}
	hl_str_addf(&table->text, "+0x%" PRIx64, frame_of(r, hit->frame)->offset);
	return hl_table_end_cell(table);
}

static int instruction_row(const struct report *r, const struct row *row, struct hl_table *table)
{
	const struct hit *hit = row->few ? NULL : &r->hits[row->frame];
	const struct hl_frame *frame = frame_of(r, hit ? hit->frame : row->frame);
	const struct sum *function = &r->sums[hit ? hit->function : row->frame];
	int err = hl_table_count_cell(table, row->first);

	if (!err)
		err = hl_table_share_cell(table, row->first, r->all);
	if (!err)
		err = hl_table_share_cell(table, row->first, function->leaves);
	if (!err)
		err = module_cell(table, frame);
	if (!err)
		err = place_cell(r, row, table);
	if (err)
		return err;
	if (row->few)
		hl_render_more(&table->text, function->n_few);
	else
		hl_render_name(&table->text, frame);
	return hl_table_end_cell(table);
}

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef int (*row_fn)(const struct report *r, const struct row *row, struct hl_table *table);

/* At most @top of the listed rows under a heading that says how many there are. */
static int write_table(const struct report *r, const char *heading, const struct hl_column *columns,
		       size_t n_columns, row_fn add, size_t top)
{
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns, .n_columns = n_columns };
	size_t n = r->n_rows < top ? r->n_rows : top, i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = add(r, &r->rows[i], &table);
	if (err)
		return err;
	(void)fprintf(r->out, "\n%s, %zu of %zu\n\n", heading, n, r->n_rows);
	return hl_table_write(&table, r->out);
}

static int write_functions(struct report *r, bool by_total, size_t top)
{
	static const struct hl_column columns[] = {
		{ "self", 12, HL_RENDER_CUT_END, true },       { "%", 5, HL_RENDER_CUT_END, true },
		{ "total", 12, HL_RENDER_CUT_END, true },      { "%", 5, HL_RENDER_CUT_END, true },
		{ "module", 20, HL_RENDER_CUT_MIDDLE, false }, { "function", 60, HL_RENDER_CUT_NAME, false },
	};

	list_functions(r, by_total);
	return write_table(r, "top functions", columns, 6, function_row, top);
}

static int write_instructions(struct report *r, size_t top)
{
	static const struct hl_column columns[] = {
		{ "samples", 12, HL_RENDER_CUT_END, true },
		{ "% all", 5, HL_RENDER_CUT_END, true },
		{ "% function", 10, HL_RENDER_CUT_END, true },
		{ "module", 16, HL_RENDER_CUT_MIDDLE, false },
		{ "function+offset", 32, HL_RENDER_CUT_NAME, false },
		{ "instruction", 40, HL_RENDER_CUT_END, false },
	};

	list_instructions(r);
	return write_table(r, "top instructions", columns, 6, instruction_row, top);
}

static int write_classes(const struct report *r)
{
	static const struct hl_column columns[] = {
		{ "class", 10, HL_RENDER_CUT_END, false },
		{ "samples", 12, HL_RENDER_CUT_END, true },
		{ "%", 5, HL_RENDER_CUT_END, true },
	};
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns, .n_columns = 3 };
	int err;

	for (unsigned int i = 0; i < HL_N_INSN_CLASSES; i++) {
		unsigned int insn_class = (i + 1) % HL_N_INSN_CLASSES; /* "other" last */

		if (!r->classes[insn_class])
			continue;
		hl_str_adds(&table.text, hl_insn_class_names[insn_class]);
		err = hl_table_end_cell(&table);
		if (!err)
			err = hl_table_count_cell(&table, r->classes[insn_class]);
		if (!err)
			err = hl_table_share_cell(&table, r->classes[insn_class], r->all);
		if (err)
			return err;
	}
	if (!table.n_ends)
		return 0;
	(void)fprintf(r->out, "\nclasses of instructions\n\n");
	return hl_table_write(&table, r->out);
}

static int write_header(const struct report *r, const struct hl_render_options *options)
{
	_cleanup_str_ struct hl_str s = { 0 };

	if (options->title)
		hl_render_clean(&s, options->title, strlen(options->title), HL_RENDER_NAME_MAX);
	else
		hl_render_title(&s, r->profile);
	hl_str_adds(&s, "\n\n");
	hl_render_header(&s, r->profile, PAGE_COLUMNS);
	if (s.failed)
		return -ENOMEM;
	(void)fwrite(s.data, 1, s.len, r->out);
	return 0;
}

/* The usual tables. */
static int write_tables(struct report *r, const struct hl_render_options *options)
{
	size_t top = options->top ? options->top : DEFAULT_ROWS;
	int code = write_functions(r, options->sorting && options->sorting->by_total, top);

	if (!code)
		code = write_instructions(r, top);
	return code ? code : write_classes(r);
}

static int write_txt(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		     struct hl_err *err)
{
	const struct hl_sorting *sorting = options->sorting;
	size_t n_frames = hl_profile_n_frames(profile);
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	_cleanup_free_ struct sum *sums = calloc(n_frames, sizeof(*sums));
	_cleanup_free_ struct hit *hits = calloc((size_t)n + 1, sizeof(*hits));
	_cleanup_free_ struct row *rows = calloc((size_t)n_frames + n + 1, sizeof(*rows));
	struct report r = { .profile = profile,
			    .sums = sums,
			    .hits = hits,
			    .rows = rows,
			    .out = out,
			    .all = nodes[0].total };
	int code = sums && hits && rows ? 0 : -ENOMEM;

	for (i = 1; i < n && !code; i++)
		sum_node(&r, nodes, i);
	merge_hits(&r);
	if (!code)
		code = write_header(&r, options);
	if (!code && sorting && sorting->n)
		code = hl_sorted_write(profile, sorting, options->top ? options->top : SORTED_ROWS, out);
	else if (!code)
		code = write_tables(&r, options);
	if (code)
		return hl_err_errno(err, code, "cannot write the txt output");
	return hl_render_flush(out, "txt", err);
}

const struct hl_writer hl_writer_txt = {
	.format = "txt",
	.summary = "the header, and tables of the hottest functions and instructions",
	.write = write_txt,
	.write_diff = hl_diff_write_txt,
};
