// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "render/svg.h"

enum {
	PAGE_WIDTH = 1200,
	MARGIN = 10,
	GRAPH_WIDTH = PAGE_WIDTH - 2 * MARGIN,
	ROW = 17,
	LINE = 15,          /* of the header */
	COLUMN_TENTHS = 73, /* width of a character of a 12 px fixed-width font */
	LEAST_TENTHS = 5,   /* half a pixel */
	MANY_ROWS = 2000,
};

void hl_svg_done(struct hl_svg *svg)
{
	hl_str_done(&svg->boxes);
	hl_str_done(&svg->raw);
	hl_str_done(&svg->label);
	hl_str_done(&svg->tip);
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static uint32_t tenths(const struct hl_svg *svg, uint64_t at)
{
	return (uint32_t)((double)at / (double)svg->all * GRAPH_WIDTH * 10 + 0.5);
}

static void add_tenths(struct hl_str *out, const char *attribute, uint32_t value)
{
	hl_str_addf(out, " %s=\"%" PRIu32 ".%" PRIu32 "\"", attribute, value / 10, value % 10);
}

bool hl_svg_too_narrow(const struct hl_svg *svg, uint64_t width)
{
	return (double)width * GRAPH_WIDTH * 10 < (double)LEAST_TENTHS * (double)svg->all;
}

void hl_svg_hide(struct hl_svg *svg, uint64_t frames, uint64_t width)
{
	svg->hidden_frames += frames;
	svg->hidden += width;
}

void hl_svg_box(struct hl_svg *svg, const char *class, uint32_t row, uint64_t start, uint64_t width)
{
	uint32_t x = tenths(svg, start) + MARGIN * 10, w = tenths(svg, start + width) + MARGIN * 10 - x;
	uint32_t columns = w > 60 ? (w - 60) / COLUMN_TENTHS : 0, y = row * ROW;
	struct hl_str *out = &svg->boxes;

	if (w < LEAST_TENTHS)
		w = LEAST_TENTHS;
	hl_str_addf(out, "<g class=\"%s\"><title>", class);
	hl_render_xml(out, svg->tip.data, svg->tip.len);
	hl_str_adds(out, "</title><rect");
	add_tenths(out, "x", x);
	hl_str_addf(out, " y=\"%" PRIu32 "\"", y);
	add_tenths(out, "width", w);
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

/* ---- the page ------------------------------------------------------------------------------------------ */

static void add_style(struct hl_str *out, const struct hl_svg_looks *looks, size_t n)
{
	hl_str_adds(out, "<style>text{font:12px monospace;fill:#000;white-space:pre}rect{stroke:#fff;"
			 "stroke-width:.3}.h{font-weight:bold}\n");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < looks[i].n; k++)
			hl_str_addf(out, ".%s rect{fill:%s}", looks[i].items[k].class,
				    looks[i].items[k].fill);
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

static uint32_t add_legend_entry(struct hl_str *out, uint32_t x, uint32_t y, const struct hl_svg_look *look)
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

static void add_legend(struct hl_str *out, uint32_t y, const struct hl_svg_looks *looks, size_t n)
{
	uint32_t x = MARGIN;

	for (size_t i = 0; i < n; i++) {
		hl_str_addf(out, "<text x=\"%" PRIu32 "\" y=\"%" PRIu32 "\">%s</text>\n", x, y,
			    looks[i].heading);
		x += 8 * (uint32_t)strlen(looks[i].heading) + 10;
		for (size_t k = 0; k < looks[i].n; k++)
			x = add_legend_entry(out, x, y, &looks[i].items[k]);
		x += 16;
	}
}

static void add_pruning(const struct hl_svg *svg, struct hl_str *header)
{
	if (svg->hidden_frames) {
		hl_str_addf(header, "%-9s%" PRIu64 " frames below 0.5 px hidden (", "drawing",
			    svg->hidden_frames);
		if (!svg->shares)
			hl_str_addf(header, "%" PRIu64 " samples, ", svg->hidden);
		hl_render_percent(header, svg->hidden, svg->all);
		hl_str_adds(header, ")\n");
	}
	if (svg->rows > MANY_ROWS)
		hl_str_addf(header, "%-9s%" PRIu32 " rows deep: scroll down for all of it\n",
			    svg->hidden_frames ? "" : "drawing", svg->rows);
	if (!svg->all)
		hl_str_addf(header, "%-9sno samples\n", "drawing");
}

/* Everything before the boxes. */
static int add_head(struct hl_str *out, const struct hl_svg *svg, const struct hl_str *title,
		    const struct hl_str *header, const struct hl_svg_looks *looks, size_t n_looks)
{
	_cleanup_str_ struct hl_str body = { 0 }, facts = { 0 };
	uint32_t y = 20;

	hl_str_add(&facts, header->data, header->len);
	add_pruning(svg, &facts);
	if (title->failed || header->failed || facts.failed)
		return -ENOMEM;
	add_text(&body, " class=\"h\"", y, title->data, title->len);
	y = add_lines(&body, y + LINE + 3, &facts);
	add_legend(&body, y + 6, looks, n_looks);
	y += 16;

	hl_str_addf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
		    "width=\"%d\" height=\"%" PRIu64 "\" viewBox=\"0 0 %d %" PRIu64
		    "\" role=\"img\">\n<title>",
		    PAGE_WIDTH, (uint64_t)y + (uint64_t)svg->rows * ROW + MARGIN, PAGE_WIDTH,
		    (uint64_t)y + (uint64_t)svg->rows * ROW + MARGIN);
	hl_render_xml(out, title->data, title->len);
	hl_str_adds(out, "</title>\n");
	add_style(out, looks, n_looks);
	hl_str_adds(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	hl_str_add(out, body.data, body.len);
	hl_str_addf(out, "<g transform=\"translate(0,%" PRIu32 ")\">\n", y);
	out->failed |= body.failed;
	return hl_str_status(out);
}

int hl_svg_write(const struct hl_svg *svg, const struct hl_str *title, const struct hl_str *header,
		 const struct hl_svg_looks *looks, size_t n_looks, FILE *out)
{
	_cleanup_str_ struct hl_str head = { 0 };

	if (hl_str_status(&svg->boxes) || add_head(&head, svg, title, header, looks, n_looks))
		return -ENOMEM;
	(void)fwrite(head.data, 1, head.len, out);
	(void)fwrite(svg->boxes.data ? svg->boxes.data : "", 1, svg->boxes.len, out);
	(void)fputs("</g>\n</svg>\n", out);
	return 0;
}
