/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_SVG_H
#define HL_RENDER_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "render/common.h"

/*
 * A static icicle graph: roots at the top, no script, good in an <img> and wherever scripts are blocked. Its
 * size is bounded by what can be seen: a box narrower than half a pixel is left out with all below it, and
 * the drawing says how many. Positions are whole tenths of a pixel, so no locale changes them.
 */

enum { HL_SVG_NAME_MAX = 512 }; /* bytes of a name in a tooltip */
/* Columns of the header that fill the width. */
enum { HL_SVG_COLUMNS = 160 };

/* Fills are light: black text on each of them has a contrast of at least 4.5. */
struct hl_svg_look {
	const char *class, *fill; /* fill: of CSS, other properties may follow */
	const char *legend;       /* NULL: not in it */
};

/* Looks that stand together in the legend. */
struct hl_svg_looks {
	const char *heading;
	const struct hl_svg_look *items;
	size_t n;
};

/* A drawing in the making. Zero-initialised is empty. */
struct hl_svg {
	uint64_t all; /* the whole width, in samples or whatever boxes are given in */
	bool shares;  /* and that is no count to be told */
	struct hl_str boxes;
	struct hl_str raw, label, tip; /* room for the texts of one box, clean */
	enum hl_render_cut cut;        /* of the label */
	uint64_t hidden_frames, hidden;
	uint32_t rows;
};

void hl_svg_done(struct hl_svg *svg);
/* Whether a box of that width would be too narrow to be seen. */
bool hl_svg_too_narrow(const struct hl_svg *svg, uint64_t width);
/* Counts what was left out for that. */
void hl_svg_hide(struct hl_svg *svg, uint64_t frames, uint64_t width);
/* Draws a box, labelled @svg->label, with the tooltip @svg->tip. */
void hl_svg_box(struct hl_svg *svg, const char *class, uint32_t row, uint64_t start, uint64_t width);

/* Writes the drawing below a title, a header and the legend, all clean. 0 or -ENOMEM. */
int hl_svg_write(const struct hl_svg *svg, const struct hl_str *title, const struct hl_str *header,
		 const struct hl_svg_looks *looks, size_t n_looks, FILE *out);

#endif
