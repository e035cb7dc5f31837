// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/diff.h"
#include "profile/profile.h"
#include "render/change.h"
#include "render/common.h"
#include "render/diff.h"
#include "render/render.h"
#include "render/svg.h"

/*
 * A comparison as a flame graph. A leaf is as wide as the larger of what it was and what it is, so that what is
 * gone has its place too; others are as wide as what stands below them. Colours run from violet to orange, which
 * no common colour blindness confuses, by how many times more or less it is; the sign stands in the label, too.
 */

static const struct hl_svg_look looks[] = {
	{ "gone", "#b2abd2;stroke:#542788;stroke-width:1;stroke-dasharray:4 2", "gone" },
	{ "l3", "#9a8fc4", "less than half" },
	{ "l2", "#b9b2d8", "less" },
	{ "same", "#e4e4e4", "no change beyond chance" },
	{ "m2", "#fdc98a", "more" },
	{ "m3", "#f0973a", "more than twice" },
	{ "new", "#f7b267;stroke:#7f3b08;stroke-width:1;stroke-dasharray:4 2", "new" },
};
enum { GONE, HALF, LESS, SAME, MORE, TWICE, NEW, N_LOOKS };

/* Units of width: one sample after is so many. */
enum { UNIT = 1024 };

struct drawing {
	struct hl_svg page;
	const struct hl_diff *diff;
	const struct hl_node *nodes;
	uint64_t *widths; /* of each node */
	uint64_t *next;   /* for each depth where the next box starts */
	uint32_t n;
};

static void drawing_done(struct drawing *d)
{
	hl_svg_done(&d->page);
	free(d->widths);
	free(d->next);
}

static int measure(struct drawing *d)
{
	const struct hl_diff_side *side = d->diff->side;
	double before = UNIT * side[HL_BEFORE].scale / side[HL_AFTER].scale;

	d->widths = calloc(d->n, sizeof(*d->widths));
	d->next = calloc((size_t)hl_render_depth(d->diff->tree) + 2, sizeof(*d->next));
	if (!d->widths || !d->next)
		return -ENOMEM;
	for (uint32_t i = d->n; i-- > 0;) {
		const struct hl_node *node = &d->nodes[i];

		d->widths[i] += (uint64_t)fmax((double)node->self * before, (double)node->self_weight * UNIT);
		if (i)
			d->widths[node->parent] += d->widths[i];
	}
	d->page.all = d->widths[0];
	d->page.shares = true;
	return 0;
}

static const struct hl_svg_look *look_of(const struct hl_change *c)
{
	double before = c->value[HL_BEFORE], after = c->value[HL_AFTER];

	if (c->noise)
		return &looks[SAME];
	if (!c->count[HL_BEFORE])
		return &looks[NEW];
	if (!c->count[HL_AFTER])
		return &looks[GONE];
	if (c->delta < 0)
		return &looks[2 * after < before ? HALF : LESS];
	return &looks[after > 2 * before ? TWICE : MORE];
}

static void label(struct drawing *d, uint32_t i, const struct hl_change *c)
{
	const struct hl_frame *frame = hl_profile_get_frame(d->diff->tree, d->nodes[i].frame);
	struct hl_str *text = &d->page.label, *tip = &d->page.tip;

	hl_str_clear(text);
	hl_str_clear(tip);
	if (!c->noise) {
		hl_render_delta(text, d->diff, c->delta);
		hl_str_addc(text, ' ');
	}
	hl_render_name(text, frame);
	hl_str_adds(text, hl_render_suffix(frame));
	hl_render_clean(tip, frame->name, frame->name_len, HL_SVG_NAME_MAX);
	if (frame->kind == HL_FRAME_INSN) {
		hl_str_addf(text, " \xc2\xb7 +0x%" PRIx64, frame->offset);
		hl_str_addf(tip, " [+0x%" PRIx64 "]", frame->offset);
	}
	hl_str_adds(tip, hl_render_suffix(frame));
	if (frame->module_len) {
		hl_str_adds(tip, " (");
		hl_render_clean(tip, frame->module, frame->module_len, HL_SVG_NAME_MAX);
		hl_str_adds(tip, ")");
	}
	hl_str_addc(tip, '\n');
	hl_render_change(tip, d->diff, c, "\n");
	hl_str_adds(tip, c->noise ? ": may be chance" : "");
	d->page.cut = frame->kind == HL_FRAME_INSN ? HL_RENDER_CUT_END : HL_RENDER_CUT_NAME;
}

static void draw(struct drawing *d)
{
	for (uint32_t i = 0; i < d->n && !d->page.boxes.failed;) {
		const struct hl_node *node = &d->nodes[i];
		uint64_t start = d->next[node->depth];
		struct hl_change change;

		d->next[node->depth] += d->widths[i];
		d->next[node->depth + 1] = start;
		if (hl_svg_too_narrow(&d->page, d->widths[i])) {
			hl_svg_hide(&d->page, node->end - i, d->widths[i]);
			i = node->end;
			continue;
		}
		change = hl_diff_change(d->diff, node->total, node->total_weight);
		label(d, i, &change);
		hl_svg_box(&d->page, look_of(&change)->class, node->depth, start, d->widths[i]);
		i++;
	}
}

static int write_page(const struct drawing *d, const struct hl_render_options *options, FILE *out)
{
	_cleanup_str_ struct hl_str title = { 0 }, header = { 0 }, legend = { 0 };
	const struct hl_svg_looks groups[] = { { "after:", looks, N_LOOKS } };

	if (options->title) {
		hl_render_clean(&title, options->title, strlen(options->title), HL_SVG_NAME_MAX);
	} else {
		hl_render_side_title(&title, d->diff, HL_BEFORE);
		hl_str_adds(&title, "  ->  ");
		hl_render_side_title(&title, d->diff, HL_AFTER);
	}
	hl_render_diff_header(&header, d->diff, HL_SVG_COLUMNS);
	hl_str_addf(
		&legend,
		"a box is as wide as the larger of before and after; +N and -N before a name: %s by which it "
		"changed beyond chance",
		hl_render_delta_unit(d->diff));
	hl_render_fact(&header, "drawing", &legend, HL_SVG_COLUMNS);
	return hl_svg_write(&d->page, &title, &header, groups, 1, out);
}

int hl_diff_write_svg(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
		      struct hl_err *err)
{
	_cleanup_(drawing_done) struct drawing d = { .diff = diff };
	int code;

	d.nodes = hl_profile_nodes(diff->tree, &d.n);
	code = measure(&d);
	if (!code)
		draw(&d);
	if (!code)
		code = write_page(&d, options, out);
	if (code)
		return hl_err_errno(err, code, "cannot write the svg output");
	return hl_render_flush(out, "svg", err);
}
