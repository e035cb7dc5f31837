// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"
#include "render/diff.h"
#include "render/render.h"
#include "render/svg.h"

/* The flame graph of a profile as a drawing. */

struct svg {
	struct hl_svg page;
	const struct hl_profile *profile;
	const struct hl_node *nodes;
	uint64_t *next; /* for each depth the sample at which the next box starts */
};

/* ---- colours ------------------------------------------------------------------------------------------- */

static const struct hl_svg_look functions[] = {
	[HL_FRAME_ROOT] = { "root", "#d6d6d6", NULL },
	[HL_FRAME_MARK] = { "mark", "#e9e9e9", "mark" },
	[HL_FRAME_USER] = { "user", "#f7d794", "user" },
	[HL_FRAME_INLINED] = { "inlined", "#fbeecb", "inlined" },
	[HL_FRAME_JIT] = { "jit", "#d3e29a", "jit" },
	[HL_FRAME_KERNEL] = { "kernel", "#f3b48f", "kernel" },
	[HL_FRAME_INSN] = { "insn", "#cfd8dc", NULL }, /* by class instead */
	[HL_FRAME_PART] = { "part", "#f2e3c6", NULL },
};

/* By the number of the class less one: "other", which is 0, stands last in the legend. */
static const struct hl_svg_look instructions[HL_N_INSN_CLASSES] = {
	{ "i1", "#a5cdf2", "load" },   { "i2", "#c8b6ee", "store" },  { "i3", "#9fdcc6", "branch" },
	{ "i4", "#f59ab0", "divide" }, { "i5", "#8fd3e8", "vector" }, { "i6", "#ff9c85", "locked" },
	{ "i0", "#cfd8dc", "other" },
};
enum { OTHER = HL_N_INSN_CLASSES - 1 };

enum { N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static const struct hl_svg_look *look_of(const struct hl_frame *frame)
{
	if (frame->kind == HL_FRAME_INSN)
		return &instructions[(hl_render_class(frame) + OTHER) % HL_N_INSN_CLASSES];
	return &functions[frame->kind < N_FUNCTIONS ? frame->kind : HL_FRAME_MARK];
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static void add_count(const struct svg *svg, struct hl_str *out, uint64_t samples)
{
	hl_str_addf(out, "%" PRIu64 " sample%s, ", samples, samples == 1 ? "" : "s");
	hl_render_percent(out, samples, svg->page.all);
	hl_str_adds(out, " of all");
}

static void add_short_name(struct hl_str *out, const struct hl_frame *frame, size_t columns)
{
	_cleanup_str_ struct hl_str name = { 0 };

	hl_render_name(&name, frame);
	hl_render_fit(out, name.data, name.len, columns, HL_RENDER_CUT_NAME);
	out->failed |= name.failed;
}

static void add_module(struct hl_str *out, const struct hl_frame *frame)
{
	if (!frame->module_len)
		return;
	hl_str_adds(out, " (");
	hl_render_clean(out, frame->module, frame->module_len, HL_SVG_NAME_MAX);
	hl_str_adds(out, ")");
}

static void label_function(struct svg *svg, const struct hl_node *node, const struct hl_frame *frame)
{
	hl_render_name(&svg->page.label, frame);
	hl_str_adds(&svg->page.label, hl_render_suffix(frame));
	svg->page.cut = HL_RENDER_CUT_NAME;

	hl_render_clean(&svg->page.tip, frame->name, frame->name_len, HL_SVG_NAME_MAX);
	hl_str_adds(&svg->page.tip, hl_render_suffix(frame));
	add_module(&svg->page.tip, frame);
	hl_str_addc(&svg->page.tip, '\n');
	add_count(svg, &svg->page.tip, node->total);
}

/* "imul $0x3b9aca07,%rax,%rdx · 44 % of parse_header · +0x4d"; @whole: samples of the instructions beside. */
static void label_instruction(struct svg *svg, const struct hl_node *node, const struct hl_frame *frame,
			      uint64_t whole)
{
	const struct hl_node *parent = &svg->nodes[node->parent];
	const struct hl_frame *function = hl_profile_get_frame(svg->profile, parent->frame);
	const struct hl_frame *holder = hl_render_holder(svg->profile, (uint32_t)(node - svg->nodes));

	svg->page.cut = HL_RENDER_CUT_END;
	hl_render_name(&svg->page.label, frame);
	hl_str_adds(&svg->page.label, " \xc2\xb7 ");
	hl_render_percent(&svg->page.label, node->total, whole);
	hl_str_adds(&svg->page.label, " of ");
	add_short_name(&svg->page.label, function, 40);
	hl_str_adds(&svg->page.label, " \xc2\xb7 ");
	if (holder != function) /* the offset is from the function around the inlined one */
		add_short_name(&svg->page.label, holder, 40);
	hl_str_addf(&svg->page.label, "+0x%" PRIx64, frame->offset);

	hl_render_clean(&svg->page.tip, frame->name, frame->name_len, HL_SVG_NAME_MAX);
	hl_str_addf(&svg->page.tip, " [0x%" PRIx64 "]%s", frame->address, hl_render_suffix(frame));
	add_module(&svg->page.tip, frame);
	hl_str_addc(&svg->page.tip, '\n');
	add_count(svg, &svg->page.tip, node->total);
	hl_str_adds(&svg->page.tip, ", ");
	hl_render_percent(&svg->page.tip, node->total, whole);
	hl_str_adds(&svg->page.tip, " of ");
	hl_render_clean(&svg->page.tip, function->name, function->name_len, HL_SVG_NAME_MAX);
	hl_str_addf(&svg->page.tip, "\nclass: %s", hl_insn_class_names[hl_render_class(frame)]);
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static bool is_leaf(const struct svg *svg, uint32_t node)
{
	return hl_profile_get_frame(svg->profile, svg->nodes[node].frame)->kind == HL_FRAME_INSN;
}

/* What stands directly below a node. */
struct below {
	uint64_t leaves;   /* samples of its instructions */
	uint64_t few;      /* of those: of instructions with few samples each … */
	uint32_t n_few;    /* … and how many of them there are */
	uint64_t children; /* samples of all its children */
};

static struct below look_below(const struct svg *svg, uint32_t node)
{
	const struct hl_node *nodes = svg->nodes;
	struct below below = { 0 };

	for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
		below.children += nodes[child].total;
		if (!is_leaf(svg, child))
			continue;
		below.leaves += nodes[child].total;
		if (nodes[child].total < HL_RENDER_FEW) {
			below.few += nodes[child].total;
			below.n_few++;
		}
	}
	return below;
}

/* One box, behind all other children of @node, for its instructions that have few samples each. */
static void draw_few(struct svg *svg, uint32_t node, uint64_t start, const struct below *below)
{
	const struct hl_frame *function = hl_profile_get_frame(svg->profile, svg->nodes[node].frame);

	if (!below->n_few)
		return;
	if (hl_svg_too_narrow(&svg->page, below->few)) {
		hl_svg_hide(&svg->page, below->n_few, below->few);
		return;
	}
	hl_str_clear(&svg->page.label);
	hl_str_clear(&svg->page.tip);
	svg->page.cut = HL_RENDER_CUT_END;
	hl_render_more(&svg->page.label, below->n_few);
	hl_str_adds(&svg->page.label, " \xc2\xb7 ");
	hl_render_percent(&svg->page.label, below->few, below->leaves);
	hl_str_adds(&svg->page.label, " of ");
	add_short_name(&svg->page.label, function, 40);
	hl_render_more(&svg->page.tip, below->n_few);
	hl_str_addf(&svg->page.tip, " with fewer than %d samples each\n", HL_RENDER_FEW);
	add_count(svg, &svg->page.tip, below->few);
	hl_svg_box(&svg->page, instructions[OTHER].class, svg->nodes[node].depth + 1,
		   start + below->children - below->few, below->few);
}

static void draw_node(struct svg *svg, uint32_t i, uint64_t start, struct below *parents)
{
	const struct hl_node *node = &svg->nodes[i];
	const struct hl_frame *frame = hl_profile_get_frame(svg->profile, node->frame);

	hl_str_clear(&svg->page.label);
	hl_str_clear(&svg->page.tip);
	if (frame->kind == HL_FRAME_INSN)
		label_instruction(svg, node, frame, parents[node->depth - 1].leaves);
	else
		label_function(svg, node, frame);
	hl_svg_box(&svg->page, look_of(frame)->class, node->depth, start, node->total);
	parents[node->depth] = look_below(svg, i);
	draw_few(svg, i, start, &parents[node->depth]);
}

/* In preorder, skipping what is too narrow; @parents: what is below the node of each depth. */
static void draw_nodes(struct svg *svg, uint32_t n, struct below *parents)
{
	for (uint32_t i = 0; i < n && !svg->page.boxes.failed;) {
		const struct hl_node *node = &svg->nodes[i];
		uint64_t start = svg->next[node->depth];

		if (i && is_leaf(svg, i) && node->total < HL_RENDER_FEW) {
			i = node->end; /* stands in its parent's last box */
			continue;
		}
		svg->next[node->depth] += node->total;
		svg->next[node->depth + 1] = start;
		if (hl_svg_too_narrow(&svg->page, node->total)) {
			hl_svg_hide(&svg->page, node->end - i, node->total);
			i = node->end;
			continue;
		}
		draw_node(svg, i, start, parents);
		i++;
	}
}

/* ---- the page ------------------------------------------------------------------------------------------ */

static void svg_done(struct svg *svg)
{
	hl_svg_done(&svg->page);
	free(svg->next);
}

static int write_page(const struct svg *svg, const struct hl_render_options *options, FILE *out)
{
	static const struct hl_svg_looks looks[] = { { "functions:", functions, N_FUNCTIONS },
						     { "instructions:", instructions, HL_N_INSN_CLASSES } };
	_cleanup_str_ struct hl_str header = { 0 }, title = { 0 };

	if (options->title)
		hl_render_clean(&title, options->title, strlen(options->title), HL_SVG_NAME_MAX);
	else
		hl_render_title(&title, svg->profile);
	hl_render_header(&header, svg->profile, HL_SVG_COLUMNS);
	return hl_svg_write(&svg->page, &title, &header, looks, 2, out);
}

static int write_svg(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		     struct hl_err *err)
{
	_cleanup_(svg_done) struct svg svg = { .profile = profile };
	_cleanup_free_ struct below *parents = NULL;
	uint32_t n, depth;

	svg.nodes = hl_profile_nodes(profile, &n);
	svg.page.all = svg.nodes[0].total;
	depth = hl_render_depth(profile);
	svg.next = calloc((size_t)depth + 2, sizeof(*svg.next));
	parents = calloc((size_t)depth + 1, sizeof(*parents));
	if (svg.next && parents && svg.page.all)
		draw_nodes(&svg, n, parents);
	if (!svg.next || !parents || write_page(&svg, options, out))
		return hl_err_errno(err, -ENOMEM, "cannot write the svg output");
	return hl_render_flush(out, "svg", err);
}

const struct hl_writer hl_writer_svg = {
	.format = "svg",
	.summary = "a static flame graph for where scripts are blocked",
	.write = write_svg,
	.write_diff = hl_diff_write_svg,
};
