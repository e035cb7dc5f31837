// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"
#include "render/render.h"

/*
 * A static icicle graph: roots at the top, no script, good in an <img> and wherever scripts are blocked. Its
 * size is bounded by what can be seen: a box narrower than half a pixel is left out with all below it, and
 * the drawing says how many. Positions are whole tenths of a pixel, so no locale changes them.
 */

enum {
	PAGE_WIDTH = 1200,
	MARGIN = 10,
	GRAPH_WIDTH = PAGE_WIDTH - 2 * MARGIN,
	ROW = 17,
	LINE = 15,            /* of the header */
	COLUMN_TENTHS = 73,   /* width of a character of a 12 px fixed-width font */
	HEADER_COLUMNS = 160, /* GRAPH_WIDTH in characters */
	LEAST_TENTHS = 5,     /* half a pixel */
	MANY_ROWS = 2000,
	TITLE_MAX = 512, /* bytes of a name in a tooltip */
};

struct svg {
	const struct hl_profile *profile;
	const struct hl_node *nodes;
	uint64_t all;
	struct hl_str boxes;
	struct hl_str raw, label, tip; /* room for the texts of one box, clean */
	enum hl_render_cut cut;        /* of the label */
	uint64_t *next;                /* for each depth the sample at which the next box starts */
	uint64_t hidden_frames, hidden_samples;
	uint32_t rows;
};

/* ---- colours ------------------------------------------------------------------------------------------- */

/* Fills are light: black text on each of them has a contrast of at least 9. */
struct look {
	const char *class, *fill, *legend;
};

static const struct look functions[] = {
	[HL_FRAME_ROOT] = { "root", "#d6d6d6", NULL },
	[HL_FRAME_MARK] = { "mark", "#e9e9e9", "mark" },
	[HL_FRAME_USER] = { "user", "#f7d794", "user" },
	[HL_FRAME_INLINED] = { "inlined", "#fbeecb", "inlined" },
	[HL_FRAME_JIT] = { "jit", "#d3e29a", "jit" },
	[HL_FRAME_KERNEL] = { "kernel", "#f3b48f", "kernel" },
	[HL_FRAME_INSN] = { "insn", "#cfd8dc", NULL }, /* by class instead */
	[HL_FRAME_PART] = { "part", "#f2e3c6", NULL },
};

static const struct look instructions[HL_N_INSN_CLASSES] = {
	{ "i0", "#cfd8dc", "other" },  { "i1", "#a5cdf2", "load" },   { "i2", "#c8b6ee", "store" },
	{ "i3", "#9fdcc6", "branch" }, { "i4", "#f59ab0", "divide" }, { "i5", "#8fd3e8", "vector" },
	{ "i6", "#ff9c85", "locked" },
};

enum { N_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static const struct look *look_of(const struct hl_frame *frame)
{
	if (frame->kind == HL_FRAME_INSN)
		return &instructions[hl_render_class(frame)];
	return &functions[frame->kind < N_FUNCTIONS ? frame->kind : HL_FRAME_MARK];
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static uint32_t tenths(const struct svg *svg, uint64_t samples)
{
	return (uint32_t)((double)samples / (double)svg->all * GRAPH_WIDTH * 10 + 0.5);
}

static void add_tenths(struct hl_str *out, const char *attribute, uint32_t value)
{
	hl_str_addf(out, " %s=\"%" PRIu32 ".%" PRIu32 "\"", attribute, value / 10, value % 10);
}

static bool too_narrow(const struct svg *svg, uint64_t samples)
{
	return (double)samples * GRAPH_WIDTH * 10 < (double)LEAST_TENTHS * (double)svg->all;
}

/* Draws the box of @samples samples from @start on, labelled svg->label, with the tooltip svg->tip. */
static void draw_box(struct svg *svg, const struct look *look, uint32_t row, uint64_t start, uint64_t samples)
{
	uint32_t x = tenths(svg, start) + MARGIN * 10, width = tenths(svg, start + samples) + MARGIN * 10 - x;
	uint32_t columns = width > 60 ? (width - 60) / COLUMN_TENTHS : 0, y = row * ROW;
	struct hl_str *out = &svg->boxes;

	if (width < LEAST_TENTHS)
		width = LEAST_TENTHS;
	hl_str_addf(out, "<g class=\"%s\"><title>", look->class);
	hl_render_xml(out, svg->tip.data, svg->tip.len);
	hl_str_adds(out, "</title><rect");
	add_tenths(out, "x", x);
	hl_str_addf(out, " y=\"%" PRIu32 "\"", y);
	add_tenths(out, "width", width);
	hl_str_addf(out, " height=\"%d\"/>", ROW - 1);
	if (columns >= 3) {
		hl_str_clear(&svg->raw);
		hl_render_fit(&svg->raw, svg->label.data, svg->label.len, columns, svg->cut);
		hl_str_adds(out, "<text");
		add_tenths(out, "x", x + 30);
		hl_str_addf(out, " y=\"%" PRIu32 "\">", y + 12);
		hl_render_xml(out, svg->raw.data, svg->raw.len);
		hl_str_adds(out, "</text>");
	}
	hl_str_adds(out, "</g>\n");
	if (row >= svg->rows)
		svg->rows = row + 1;
	out->failed |= svg->raw.failed || svg->label.failed || svg->tip.failed;
}

static void add_count(const struct svg *svg, struct hl_str *out, uint64_t samples)
{
	hl_str_addf(out, "%" PRIu64 " sample%s, ", samples, samples == 1 ? "" : "s");
	hl_render_percent(out, samples, svg->all);
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
	hl_render_clean(out, frame->module, frame->module_len, TITLE_MAX);
	hl_str_adds(out, ")");
}

static void label_function(struct svg *svg, const struct hl_node *node, const struct hl_frame *frame)
{
	hl_render_name(&svg->label, frame);
	hl_str_adds(&svg->label, hl_render_suffix(frame));
	svg->cut = HL_RENDER_CUT_NAME;

	hl_render_clean(&svg->tip, frame->name, frame->name_len, TITLE_MAX);
	hl_str_adds(&svg->tip, hl_render_suffix(frame));
	add_module(&svg->tip, frame);
	hl_str_addc(&svg->tip, '\n');
	add_count(svg, &svg->tip, node->total);
}

/* "imul $0x3b9aca07,%rax,%rdx · 44 % of parse_header · +0x4d"; @whole: samples of the instructions beside. */
static void label_instruction(struct svg *svg, const struct hl_node *node, const struct hl_frame *frame,
			      uint64_t whole)
{
	const struct hl_node *parent = &svg->nodes[node->parent];
	const struct hl_frame *function = hl_profile_get_frame(svg->profile, parent->frame);
	const struct hl_frame *holder = hl_render_holder(svg->profile, (uint32_t)(node - svg->nodes));

	svg->cut = HL_RENDER_CUT_END;
	hl_render_name(&svg->label, frame);
	hl_str_adds(&svg->label, " \xc2\xb7 ");
	hl_render_percent(&svg->label, node->total, whole);
	hl_str_adds(&svg->label, " of ");
	add_short_name(&svg->label, function, 40);
	hl_str_adds(&svg->label, " \xc2\xb7 ");
	if (holder != function) /* the offset is from the function around the inlined one */
		add_short_name(&svg->label, holder, 40);
	hl_str_addf(&svg->label, "+0x%" PRIx64, frame->offset);

	hl_render_clean(&svg->tip, frame->name, frame->name_len, TITLE_MAX);
	hl_str_addf(&svg->tip, " [0x%" PRIx64 "]%s", frame->address, hl_render_suffix(frame));
	add_module(&svg->tip, frame);
	hl_str_addc(&svg->tip, '\n');
	add_count(svg, &svg->tip, node->total);
	hl_str_adds(&svg->tip, ", ");
	hl_render_percent(&svg->tip, node->total, whole);
	hl_str_adds(&svg->tip, " of ");
	hl_render_clean(&svg->tip, function->name, function->name_len, TITLE_MAX);
	hl_str_addf(&svg->tip, "\nclass: %s", hl_insn_class_names[hl_render_class(frame)]);
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

static void hide(struct svg *svg, uint64_t frames, uint64_t samples)
{
	svg->hidden_frames += frames;
	svg->hidden_samples += samples;
}

/* One box, behind all other children of @node, for its instructions that have few samples each. */
static void draw_few(struct svg *svg, uint32_t node, uint64_t start, const struct below *below)
{
	const struct hl_frame *function = hl_profile_get_frame(svg->profile, svg->nodes[node].frame);

	if (!below->n_few)
		return;
	if (too_narrow(svg, below->few)) {
		hide(svg, below->n_few, below->few);
		return;
	}
	hl_str_clear(&svg->label);
	hl_str_clear(&svg->tip);
	svg->cut = HL_RENDER_CUT_END;
	hl_render_more(&svg->label, below->n_few);
	hl_str_adds(&svg->label, " \xc2\xb7 ");
	hl_render_percent(&svg->label, below->few, below->leaves);
	hl_str_adds(&svg->label, " of ");
	add_short_name(&svg->label, function, 40);
	hl_render_more(&svg->tip, below->n_few);
	hl_str_addf(&svg->tip, " with fewer than %d samples each\n", HL_RENDER_FEW);
	add_count(svg, &svg->tip, below->few);
	draw_box(svg, &instructions[0], svg->nodes[node].depth + 1, start + below->children - below->few,
		 below->few);
}

static void draw_node(struct svg *svg, uint32_t i, uint64_t start, struct below *parents)
{
	const struct hl_node *node = &svg->nodes[i];
	const struct hl_frame *frame = hl_profile_get_frame(svg->profile, node->frame);

	hl_str_clear(&svg->label);
	hl_str_clear(&svg->tip);
	if (frame->kind == HL_FRAME_INSN)
		label_instruction(svg, node, frame, parents[node->depth - 1].leaves);
	else
		label_function(svg, node, frame);
	draw_box(svg, look_of(frame), node->depth, start, node->total);
	parents[node->depth] = look_below(svg, i);
	draw_few(svg, i, start, &parents[node->depth]);
}

/* In preorder, skipping what is too narrow; @parents: what is below the node of each depth. */
static void draw_nodes(struct svg *svg, uint32_t n, struct below *parents)
{
	for (uint32_t i = 0; i < n && !svg->boxes.failed;) {
		const struct hl_node *node = &svg->nodes[i];
		uint64_t start = svg->next[node->depth];

		if (i && is_leaf(svg, i) && node->total < HL_RENDER_FEW) {
			i = node->end; /* stands in its parent's last box */
			continue;
		}
		svg->next[node->depth] += node->total;
		svg->next[node->depth + 1] = start;
		if (too_narrow(svg, node->total)) {
			hide(svg, node->end - i, node->total);
			i = node->end;
			continue;
		}
		draw_node(svg, i, start, parents);
		i++;
	}
}

/* ---- the page ------------------------------------------------------------------------------------------ */

static void add_style(struct hl_str *out)
{
	hl_str_adds(out, "<style>text{font:12px monospace;fill:#000;white-space:pre}rect{stroke:#fff;"
			 "stroke-width:.3}.h{font-weight:bold}\n");
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		hl_str_addf(out, ".%s rect{fill:%s}", functions[i].class, functions[i].fill);
	for (size_t i = 0; i < HL_N_INSN_CLASSES; i++)
		hl_str_addf(out, ".%s rect{fill:%s}", instructions[i].class, instructions[i].fill);
	hl_str_adds(out, "</style>\n");
}

static void add_text(struct hl_str *out, const char *class, uint32_t y, const char *text, size_t len)
{
	hl_str_addf(out, "<text%s x=\"%d\" y=\"%" PRIu32 "\">", class, MARGIN, y);
	hl_render_xml(out, text, len);
	hl_str_adds(out, "</text>\n");
}

/* Adds each line of @text; returns the y below them. */
static uint32_t add_lines(struct hl_str *out, uint32_t y, const struct hl_str *text)
{
	const char *line = text->data, *end;

	for (; line && *line; line = end + 1) {
		end = strchrnul(line, '\n');
		add_text(out, "", y, line, (size_t)(end - line));
		y += LINE;
		if (!*end)
			break;
	}
	return y;
}

static uint32_t add_legend_entry(struct hl_str *out, uint32_t x, uint32_t y, const struct look *look)
{
	if (!look->legend)
		return x;
	hl_str_addf(out,
		    "<g class=\"%s\"><rect x=\"%" PRIu32 "\" y=\"%" PRIu32
		    "\" width=\"14\" height=\"12\"/><text x=\"%" PRIu32 "\" y=\"%" PRIu32
		    "\">%s</text></g>\n",
		    look->class, x, y - 10, x + 18, y, look->legend);
	return x + 18 + 8 * (uint32_t)strlen(look->legend) + 12;
}

static void add_legend(struct hl_str *out, uint32_t y)
{
	uint32_t x = MARGIN + 90;

	add_text(out, "", y, "functions:", 10);
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		x = add_legend_entry(out, x, y, &functions[i]);
	hl_str_addf(out, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">instructions:</text>\n", x + 16, y);
	x += 16 + 112;
	for (size_t i = 0; i < HL_N_INSN_CLASSES; i++)
		x = add_legend_entry(out, x, y, &instructions[(i + 1) % HL_N_INSN_CLASSES]);
}

static void add_pruning(const struct svg *svg, struct hl_str *header)
{
	if (svg->hidden_frames)
		hl_str_addf(header, "%-9s%" PRIu64 " frames below 0.5 px hidden (%" PRIu64 " samples, ",
			    "drawing", svg->hidden_frames, svg->hidden_samples);
	if (svg->hidden_frames) {
		hl_render_percent(header, svg->hidden_samples, svg->all);
		hl_str_adds(header, ")\n");
	}
	if (svg->rows > MANY_ROWS)
		hl_str_addf(header, "%-9s%" PRIu32 " rows deep: scroll down for all of it\n",
			    svg->hidden_frames ? "" : "drawing", svg->rows);
	if (!svg->all)
		hl_str_addf(header, "%-9sno samples\n", "drawing");
}

/* Everything before the boxes. */
static int add_head(const struct svg *svg, const struct hl_render_options *options, struct hl_str *out)
{
	_cleanup_str_ struct hl_str header = { 0 }, title = { 0 }, body = { 0 };
	uint32_t y = 20;

	if (options->title)
		hl_render_clean(&title, options->title, strlen(options->title), TITLE_MAX);
	else
		hl_render_title(&title, svg->profile);
	hl_render_header(&header, svg->profile, HEADER_COLUMNS);
	add_pruning(svg, &header);
	if (title.failed || header.failed)
		return -ENOMEM;
	add_text(&body, " class=\"h\"", y, title.data, title.len);
	y = add_lines(&body, y + LINE + 3, &header);
	add_legend(&body, y + 6);
	y += 16;

	hl_str_addf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		    "width=\"%d\" height=\"%" PRIu64 "\" viewBox=\"0 0 %d %" PRIu64
		    "\" role=\"img\">\n<title>",
		    PAGE_WIDTH, (uint64_t)y + (uint64_t)svg->rows * ROW + MARGIN, PAGE_WIDTH,
		    (uint64_t)y + (uint64_t)svg->rows * ROW + MARGIN);
	hl_render_xml(out, title.data, title.len);
	hl_str_adds(out, "</title>\n");
	add_style(out);
	hl_str_adds(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	hl_str_add(out, body.data, body.len);
	hl_str_addf(out, "<g transform=\"translate(0,%" PRIu32 ")\">\n", y);
	out->failed |= body.failed;
	return hl_str_status(out);
}

static void svg_done(struct svg *svg)
{
	hl_str_done(&svg->boxes);
	hl_str_done(&svg->raw);
	hl_str_done(&svg->label);
	hl_str_done(&svg->tip);
	free(svg->next);
}

static int write_svg(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
		     struct hl_err *err)
{
	_cleanup_(svg_done) struct svg svg = { .profile = profile };
	_cleanup_free_ struct below *parents = NULL;
	_cleanup_str_ struct hl_str head = { 0 };
	uint32_t n, depth;

	svg.nodes = hl_profile_nodes(profile, &n);
	svg.all = svg.nodes[0].total;
	depth = hl_render_depth(profile);
	svg.next = calloc((size_t)depth + 2, sizeof(*svg.next));
	parents = calloc((size_t)depth + 1, sizeof(*parents));
	if (svg.next && parents && svg.all)
		draw_nodes(&svg, n, parents);
	if (!svg.next || !parents || svg.boxes.failed || add_head(&svg, options, &head))
		return hl_err_errno(err, -ENOMEM, "cannot write the svg output");
	(void)fwrite(head.data, 1, head.len, out);
	(void)fwrite(svg.boxes.data ? svg.boxes.data : "", 1, svg.boxes.len, out);
	(void)fputs("</g>\n</svg>\n", out);
	return hl_render_flush(out, "svg", err);
}

const struct hl_writer hl_writer_svg = {
	.format = "svg",
	.summary = "a static flame graph for where scripts are blocked",
	.write = write_svg,
};
