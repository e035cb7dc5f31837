// SPDX-License-Identifier: BSD-2-Clause
#include "render/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "profile/strings.h"
#include "render/table.h"

/*
 * A sample belongs to one row, by whose cells it is told from others: each cell is a text, kept once, so that
 * rows are compared by the addresses of their cells. What the row has in total are the samples below its
 * functions, a stack with several of them counted once: nodes stand in preorder, so that a node lies in another
 * of its row if it stands before that one's end.
 */

enum { MAX_ROWS = 1 << 28, NUMBERS = 4, CELL_COLUMNS = 60 };

const char *const hl_sort_names[HL_SORT_KEYS] = {
	[HL_SORT_MODULE] = "module", [HL_SORT_BUILD_ID] = "buildid", [HL_SORT_FUNCTION] = "function",
	[HL_SORT_CALLER] = "caller", [HL_SORT_INSN] = "insn",        [HL_SORT_MNEMONIC] = "mnemonic",
	[HL_SORT_CLASS] = "class",
};

static const char none[] = "[none]";

struct row {
	const char *const *cells;
	uint64_t self, total;
	uint32_t open; /* the end of the outermost of its nodes that is being walked */
};

struct sorted {
	const struct hl_profile *profile;
	const struct hl_node *nodes;
	uint32_t n_nodes;
	const struct hl_sorting *sorting;
	bool totals;                 /* every column is of a function, or of what holds it */
	const char **known;          /* a text a frame and column; NULL: not made yet */
	uint32_t roots[HL_SORT_MAX]; /* frames of the stack that is being walked, by depth from 0 */
	struct hl_strings strings;
	struct hl_arena cells;
	struct row *rows;
	size_t n_rows, cap_rows;
	struct hl_index index;
};

static void sorted_done(struct sorted *s)
{
	free(s->known);
	free(s->rows);
	hl_strings_done(&s->strings);
	hl_arena_done(&s->cells);
	hl_index_done(&s->index);
}

/* ---- cells --------------------------------------------------------------------------------------------- */

/* "lock cmpxchg" of "lock cmpxchg %rcx,(%rdi)"; of what is no text of an instruction all of it. */
static size_t mnemonic_length(const char *text, size_t len)
{
	static const char *const prefixes[] = { "lock",    "rep",      "repz", "repnz",  "bnd",
						"notrack", "xacquire", "cs",   "ds",     "es",
						"fs",      "gs",       "ss",   "data16", "addr32",
						"rex",     "xrelease", "repe", "repne" };
	size_t at = 0;

	if (!len || text[0] == '(')
		return len;
	for (;;) {
		size_t word = at, i;

		while (at < len && text[at] != ' ')
			at++;
		for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
			if (at - word >= strlen(prefixes[i]) &&
			    memcmp(text + word, prefixes[i], strlen(prefixes[i])) == 0 &&
			    (at - word == strlen(prefixes[i]) || text[word + strlen(prefixes[i])] == '.'))
				break;
		if (i == sizeof(prefixes) / sizeof(prefixes[0]) || at == len)
			return at;
		at++;
	}
}

static void add_build_id(struct hl_str *out, const struct hl_profile *profile, const struct hl_frame *frame)
{
	const struct hl_binary *binary = hl_profile_binary(profile, frame->binary);

	for (size_t i = 0; binary && i < binary->build_id_len; i++)
		hl_str_addf(out, "%02x", binary->build_id[i]);
}

static void add_cell(struct hl_str *out, const struct hl_profile *profile, enum hl_sort_key key,
		     const struct hl_frame *frame)
{
	switch (key) {
	case HL_SORT_MODULE:
		hl_render_module(out, frame);
		break;
	case HL_SORT_BUILD_ID:
		add_build_id(out, profile, frame);
		break;
	case HL_SORT_MNEMONIC:
		hl_render_clean(out, frame->name, mnemonic_length(frame->name, frame->name_len),
				HL_RENDER_NAME_MAX);
		break;
	case HL_SORT_CLASS:
		hl_str_adds(out, hl_insn_class_names[hl_render_class(frame)]);
		break;
	default:
		hl_render_name(out, frame);
		if (hl_frame_is_function(frame))
			hl_str_adds(out, hl_render_suffix(frame));
	}
	if (!out->len)
		hl_str_adds(out, none);
}

/* The kept text of @frame, UINT32_MAX: there is none, in that column; NULL without memory. */
static const char *cell(struct sorted *s, size_t column, uint32_t frame)
{
	_cleanup_str_ struct hl_str text = { 0 };
	const char **known;

	if (frame == UINT32_MAX)
		return hl_strings_keep(&s->strings, none, strlen(none));
	known = &s->known[(size_t)frame * s->sorting->n + column];
	if (!*known) {
		add_cell(&text, s->profile, s->sorting->columns[column].key,
			 hl_profile_get_frame(s->profile, frame));
		if (!hl_str_status(&text))
			*known = hl_strings_keep(&s->strings, text.data, text.len);
	}
	return *known;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static const struct hl_frame *frame_at(const struct sorted *s, uint32_t node)
{
	return hl_profile_get_frame(s->profile, s->nodes[node].frame);
}

/* The frame in which samples of @node differ by @column; UINT32_MAX: they have none. */
static uint32_t frame_of(const struct sorted *s, const struct hl_sort_column *column, uint32_t node)
{
	uint8_t kind = frame_at(s, node)->kind;
	uint32_t at =
		kind == HL_FRAME_INSN || kind == HL_FRAME_PART ? hl_profile_function(s->profile, node) : node;

	switch (column->key) {
	case HL_SORT_ROOT:
		return column->root <= s->nodes[node].depth ? s->roots[column->root - 1] : UINT32_MAX;
	case HL_SORT_INSN:
	case HL_SORT_MNEMONIC:
	case HL_SORT_CLASS:
		return kind == HL_FRAME_INSN ? s->nodes[node].frame : UINT32_MAX;
	case HL_SORT_CALLER:
		at = at && hl_frame_is_function(frame_at(s, at)) ? s->nodes[at].parent : 0;
		break;
	case HL_SORT_MODULE:
	case HL_SORT_BUILD_ID:
		break;
	default:
		/* A stack that ends in a mark ends there; what it belongs to has a column of its own. */
		return at && frame_at(s, at)->kind != HL_FRAME_ROOT ? s->nodes[at].frame : UINT32_MAX;
	}
	return at && hl_frame_is_function(frame_at(s, at)) ? s->nodes[at].frame : UINT32_MAX;
}

struct wanted {
	const struct sorted *sorted;
	const char *const *cells;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(w->sorted->rows[position].cells, w->cells, w->sorted->sorting->n * sizeof(*w->cells)) ==
	       0;
}

/* The row of the samples of @node; NULL without memory. */
static struct row *row_of(struct sorted *s, uint32_t node)
{
	const char *cells[HL_SORT_MAX] = { NULL }, **kept;
	size_t size = s->sorting->n * sizeof(*cells);
	const struct wanted wanted = { s, cells };
	uint64_t hash;
	uint32_t at;

	for (size_t i = 0; i < s->sorting->n; i++) {
		cells[i] = cell(s, i, frame_of(s, &s->sorting->columns[i], node));
		if (!cells[i])
			return NULL;
	}
	hash = hl_hash(cells, size, 0);
	at = hl_index_find(&s->index, hash, is_wanted, &wanted);
	if (at != HL_INDEX_NONE)
		return &s->rows[at];
	kept = hl_arena_take(&s->cells, size);
	if (!kept || hl_grow(&s->rows, &s->cap_rows, s->n_rows + 1, sizeof(*s->rows), MAX_ROWS) ||
	    hl_index_add(&s->index, hash, (uint32_t)s->n_rows))
		return NULL;
	memcpy(kept, cells, size);
	s->rows[s->n_rows] = (struct row){ .cells = kept };
	return &s->rows[s->n_rows++];
}

static int add_node(struct sorted *s, uint32_t i)
{
	const struct hl_node *node = &s->nodes[i];
	bool function = s->totals && hl_frame_is_function(frame_at(s, i));
	struct row *row;

	if (frame_at(s, i)->kind == HL_FRAME_ROOT && node->depth <= HL_SORT_MAX)
		s->roots[node->depth - 1] = node->frame;
	if (!node->self && !function)
		return 0;
	row = row_of(s, i);
	if (!row)
		return -ENOMEM;
	row->self += node->self;
	if (i < row->open)
		return 0; /* counted with what is around it */
	row->total += function ? node->total : node->self;
	if (function)
		row->open = node->end;
	return 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct hl_sorting *sorting = ctx;
	const struct row *x = a, *y = b;
	uint64_t first_x = sorting->by_total ? x->total : x->self, second_x = x->total + x->self - first_x;
	uint64_t first_y = sorting->by_total ? y->total : y->self, second_y = y->total + y->self - first_y;
	int order = (first_y > first_x) - (first_y < first_x);

	if (!order)
		order = (second_y > second_x) - (second_y < second_x);
	for (size_t i = 0; i < sorting->n && !order; i++)
		order = strcmp(x->cells[i], y->cells[i]);
	return order;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static int number_cells(struct hl_table *table, uint64_t count, uint64_t all)
{
	int code = hl_table_count_cell(table, count);

	return code ? code : hl_table_share_cell(table, count, all);
}

static size_t make_columns(const struct sorted *s, struct hl_column columns[NUMBERS + HL_SORT_MAX])
{
	static const struct hl_column numbers[NUMBERS] = {
		{ "self", 12, HL_RENDER_CUT_END, true },
		{ "%", 5, HL_RENDER_CUT_END, true },
		{ "total", 12, HL_RENDER_CUT_END, true },
		{ "%", 5, HL_RENDER_CUT_END, true },
	};
	size_t n = s->totals ? NUMBERS : 2;

	memcpy(columns, numbers, sizeof(numbers));
	if (!s->totals)
		columns[0].title = "samples";
	for (size_t i = 0; i < s->sorting->n; i++) {
		enum hl_sort_key key = s->sorting->columns[i].key;
		bool name = key == HL_SORT_FUNCTION || key == HL_SORT_CALLER;

		columns[n++] = (struct hl_column){ s->sorting->columns[i].title, CELL_COLUMNS,
						   name ? HL_RENDER_CUT_NAME : HL_RENDER_CUT_MIDDLE, false };
	}
	return n;
}

static int write_rows(const struct sorted *s, size_t top, FILE *out)
{
	struct hl_column columns[NUMBERS + HL_SORT_MAX];
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns,
							   .n_columns = make_columns(s, columns) };
	size_t n = s->n_rows < top ? s->n_rows : top;
	int code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		const struct row *row = &s->rows[i];

		code = number_cells(&table, row->self, s->nodes[0].total);
		if (!code && s->totals)
			code = number_cells(&table, row->total, s->nodes[0].total);
		for (size_t k = 0; k < s->sorting->n && !code; k++) {
			hl_str_adds(&table.text, row->cells[k]);
			code = hl_table_end_cell(&table);
		}
	}
	if (code)
		return code;
	(void)fprintf(out, "\nsamples by ");
	for (size_t i = 0; i < s->sorting->n; i++)
		(void)fprintf(out, "%s%s", i ? ", " : "", s->sorting->columns[i].title);
	(void)fprintf(out, ", %zu of %zu\n\n", n, s->n_rows);
	return hl_table_write(&table, out);
}

int hl_sorted_write(const struct hl_profile *profile, const struct hl_sorting *sorting, size_t top, FILE *out)
{
	_cleanup_(sorted_done) struct sorted s = { .profile = profile, .sorting = sorting, .totals = true };
	int code = 0;

	for (size_t i = 0; i < sorting->n; i++)
		s.totals &= sorting->columns[i].key <= HL_SORT_FUNCTION;
	s.nodes = hl_profile_nodes(profile, &s.n_nodes);
	s.known = calloc((size_t)hl_profile_n_frames(profile) * sorting->n + 1, sizeof(*s.known));
	if (!s.known)
		return -ENOMEM;
	for (uint32_t i = 1; i < s.n_nodes && !code; i++)
		code = add_node(&s, i);
	if (code)
		return code;
	if (s.n_rows)
		qsort_r(s.rows, s.n_rows, sizeof(*s.rows), compare_rows, (void *)sorting);
	return write_rows(&s, top, out);
}
