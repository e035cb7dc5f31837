// SPDX-License-Identifier: BSD-2-Clause
#include "render/listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/hot.h"
#include "profile/listing.h"
#include "render/common.h"
#include "render/table.h"

/* A function's code for a terminal: a line an instruction, and a table of the callers. */

enum { MOST_CALLERS = 20 };

static int number_cell(struct hl_table *table, uint64_t n)
{
	if (n)
		hl_str_addf(&table->text, "%" PRIu64, n);
	return hl_table_end_cell(table);
}

static int share_cell(struct hl_table *table, uint64_t part, uint64_t whole)
{
	if (part)
		hl_render_share(&table->text, part, whole);
	return hl_table_end_cell(table);
}

static int code_cell(struct hl_table *table, const struct hl_listing_row *row)
{
	hl_render_clean(&table->text, row->text, row->text_len, HL_RENDER_NAME_MAX);
	if (row->other) {
		hl_str_adds(&table->text, row->kept ? "  (kept was: " : "  (the file has: ");
		hl_render_clean(&table->text, row->other, row->other_len, HL_RENDER_NAME_MAX);
		hl_str_addc(&table->text, ')');
	}
	if (row->overlaps)
		hl_str_adds(&table->text, "  (the next one begins inside)");
	return hl_table_end_cell(table);
}

/* A row of its own where the instructions of another source line begin. */
static int add_line(struct hl_table *table, const struct hl_listing_row *row,
		    const struct hl_listing_row *before)
{
	const char *slash;
	int code = 0;

	if (!row->file_len || (before && before->line == row->line && before->file_len == row->file_len &&
			       memcmp(before->file, row->file, row->file_len) == 0))
		return 0;
	for (int i = 0; i < 4 && !code; i++)
		code = hl_table_end_cell(table);
	if (code)
		return code;
	slash = memrchr(row->file, '/', row->file_len);
	slash = slash ? slash + 1 : row->file;
	hl_render_clean(&table->text, slash, row->file_len - (size_t)(slash - row->file), HL_RENDER_NAME_MAX);
	hl_str_addf(&table->text, ":%" PRIu32, row->line);
	return hl_table_end_cell(table);
}

static int add_row(struct hl_table *table, const struct hl_listing_row *row, uint64_t samples)
{
	int code = number_cell(table, row->samples);

	if (!code)
		code = share_cell(table, row->samples, samples);
	if (!code) {
		hl_str_adds(&table->text, row->suspect ? ">" : "");
		code = hl_table_end_cell(table);
	}
	if (!code) {
		hl_str_addf(&table->text, "%" PRIx64, row->address);
		code = hl_table_end_cell(table);
	}
	return code ? code : code_cell(table, row);
}

static int write_part(const struct hl_listing *part, uint64_t samples, FILE *out)
{
	static const struct hl_column columns[] = {
		{ "samples", 12, HL_RENDER_CUT_END, true },
		{ "%", 5, HL_RENDER_CUT_END, true },
		{ "", 1, HL_RENDER_CUT_END, false },
		{ "address", 16, HL_RENDER_CUT_END, true },
		{ "instruction", 400, HL_RENDER_CUT_END, false },
	};
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns, .n_columns = 5 };
	bool suspects = false;
	int code = 0;

	for (size_t i = 0; i < part->n && !code; i++) {
		code = add_line(&table, &part->rows[i], i ? &part->rows[i - 1] : NULL);
		if (!code)
			code = add_row(&table, &part->rows[i], samples);
		suspects |= part->rows[i].suspect;
	}
	if (code)
		return code;
	(void)fputc('\n', out);
	if (!part->whole)
		(void)fprintf(out, "only the instructions that were sampled: %s\n\n",
			      part->why ? part->why : "no listing");
	code = hl_table_write(&table, out);
	if (part->cut)
		(void)fprintf(out, "cut here: the function has %" PRIu64 " bytes\n", part->size);
	if (suspects)
		(void)fputs("\n> may have taken the time that shows at the instruction after it: the event "
			    "is not "
			    "precise\n",
			    out);
	return code;
}

/* ---- callers -------------------------------------------------------------------------------------------- */

static int hottest_cell(struct hl_table *table, const struct hl_profile *profile,
			const struct hl_hot_caller *caller)
{
	for (size_t i = 0; i < caller->n_top; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, caller->top[i].frame);

		if (i)
			hl_str_adds(&table->text, ", ");
		hl_render_percent(&table->text, caller->top[i].samples, caller->samples);
		hl_str_addc(&table->text, ' ');
		hl_render_name(&table->text, frame);
		hl_str_addf(&table->text, " [0x%" PRIx64 "]", frame->address);
	}
	return hl_table_end_cell(table);
}

/* The stack above the caller where it calls the function most, root first. */
static int stack_cell(struct hl_table *table, const struct hl_profile *profile,
		      const struct hl_hot_caller *caller)
{
	enum { MOST = 64 };
	uint32_t n, at, path[MOST];
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	size_t depth = 0;

	at = caller->node;
	while (at && nodes[at].frame != caller->frame)
		at = nodes[at].parent;
	for (at = nodes[at].parent; at && depth < MOST; at = nodes[at].parent)
		path[depth++] = at;
	if (at)
		hl_str_adds(&table->text, "…;");
	while (depth-- > 0) {
		hl_render_name(&table->text, hl_profile_get_frame(profile, nodes[path[depth]].frame));
		if (depth)
			hl_str_addc(&table->text, ';');
	}
	return hl_table_end_cell(table);
}

static int caller_row(struct hl_table *table, const struct hl_profile *profile, const struct hl_hot *hot,
		      const struct hl_hot_caller *caller)
{
	int code = number_cell(table, caller->samples);

	if (!code)
		code = share_cell(table, caller->samples, hot->samples);
	if (code)
		return code;
	hl_render_name(&table->text, hl_profile_get_frame(profile, caller->frame));
	code = hl_table_end_cell(table);
	if (!code)
		code = hottest_cell(table, profile, caller);
	return code ? code : stack_cell(table, profile, caller);
}

static int write_callers(const struct hl_profile *profile, const struct hl_hot *hot, FILE *out)
{
	static const struct hl_column columns[] = {
		{ "samples", 12, HL_RENDER_CUT_END, true },
		{ "%", 5, HL_RENDER_CUT_END, true },
		{ "caller", 40, HL_RENDER_CUT_NAME, false },
		{ "makes these hot", 120, HL_RENDER_CUT_END, false },
		{ "called most from", 80, HL_RENDER_CUT_MIDDLE, false },
	};
	_cleanup_(hl_table_done) struct hl_table table = { .columns = columns, .n_columns = 5 };
	size_t n = hot->n_callers < MOST_CALLERS ? hot->n_callers : MOST_CALLERS;
	int code = 0;

	for (size_t i = 0; i < n && !code; i++)
		code = caller_row(&table, profile, hot, &hot->callers[i]);
	if (code)
		return code;
	(void)fprintf(out, "\ncallers, %zu of %zu\n\n", n, hot->n_callers);
	return hl_table_write(&table, out);
}

static int write_head(const struct hl_profile *profile, const struct hl_hot *hot,
		      const struct hl_listing *part, FILE *out)
{
	const struct hl_frame *frame = hl_profile_get_frame(profile, hot->function);
	_cleanup_str_ struct hl_str s = { 0 };
	uint32_t n;
	uint64_t all = hl_profile_nodes(profile, &n)[0].total;

	hl_render_name(&s, frame);
	hl_str_adds(&s, " in ");
	if (frame->module_len)
		hl_render_clean(&s, frame->module, frame->module_len, HL_RENDER_NAME_MAX);
	else
		hl_str_adds(&s, "[unknown]");
	if (part->start)
		hl_str_addf(&s, ", 0x%" PRIx64, part->start);
	if (part->size)
		hl_str_addf(&s, ", %" PRIu64 " bytes", part->size);
	hl_str_addf(&s, "\n%" PRIu64 " samples in it (", hot->samples);
	hl_render_percent(&s, hot->samples, all);
	hl_str_addf(&s, " of all), %" PRIu64 " with what it calls (", hot->total);
	hl_render_percent(&s, hot->total, all);
	hl_str_adds(&s, ")\n");
	if (s.failed)
		return -ENOMEM;
	(void)fwrite(s.data, 1, s.len, out);
	return 0;
}

int hl_render_listing(const struct hl_profile *profile, const struct hl_hot *hot,
		      const struct hl_listing *parts, size_t n_parts, FILE *out)
{
	int code = write_head(profile, hot, &parts[0], out);

	for (size_t i = 0; i < n_parts && !code; i++)
		code = write_part(&parts[i], hot->samples, out);
	return code ? code : write_callers(profile, hot, out);
}
