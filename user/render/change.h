/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_CHANGE_H
#define HL_RENDER_CHANGE_H

#include "base/str.h"
#include "profile/diff.h"

/* How the values of a comparison are written: shares as percent, "12.34", differences of them as points. */

/* "% of all samples" or "CPUs"; and of differences: "points" or "CPUs". */
const char *hl_render_value_unit(const struct hl_diff *diff);
const char *hl_render_delta_unit(const struct hl_diff *diff);
/* Appends a value, without its unit. */
void hl_render_value(struct hl_str *out, const struct hl_diff *diff, double value);
/* The same of a difference, always with its sign. */
void hl_render_delta(struct hl_str *out, const struct hl_diff *diff, double delta);
/* Appends "+42 %", "new" or "gone". */
void hl_render_relative(struct hl_str *out, const struct hl_change *change);

/*
 * Appends "4.10 -> 6.20 % of all samples, +51 %; 410 -> 620 samples, 7.3 standard deviations", with @between for
 * the "; ".
 */
void hl_render_change(struct hl_str *out, const struct hl_diff *diff, const struct hl_change *change,
		      const char *between);

/* Appends the title of one of the profiles: host, start, length. */
void hl_render_side_title(struct hl_str *out, const struct hl_diff *diff, enum hl_side side);
/*
 * Appends what is compared, how, and what was lost on either side: a line each, as hl_render_header() does,
 * wrapped at @columns.
 */
void hl_render_diff_header(struct hl_str *out, const struct hl_diff *diff, size_t columns);

#endif
