/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_COMMON_H
#define HL_RENDER_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/profile.h"

/*
 * Pieces that the writers share. Names come from files of strangers: they pass through hl_render_clean()
 * first, whatever the format, and what is said of "clean" text below holds only after that.
 */

enum {
	HL_RENDER_NAME_MAX = 4096, /* bytes of a name that are shown */
	HL_RENDER_FEW = 5,         /* an instruction with fewer samples is shown only together with others */
};

/*
 * Appends @text as valid UTF-8 without control characters (see hl_str_add_clean), without U+FFFE and U+FFFF,
 * which XML forbids, and with the characters that turn the direction of text spelled out (\u202e). Text that
 * comes out longer than @max bytes is cut and ends in "…".
 */
void hl_render_clean(struct hl_str *out, const char *text, size_t len, size_t max);
/* Appends clean @text with what has a meaning in XML escaped: good for content and quoted attributes. */
void hl_render_xml(struct hl_str *out, const char *text, size_t len);

/* Columns of clean @text in a fixed-width font: East Asian wide characters take two, combining ones none. */
size_t hl_render_columns(const char *text, size_t len);

/*
 * Where text that is too long loses something: at its end; in its middle; or, if it is a function's name,
 * first what its outermost brackets enclose ("std::map<…>::insert(…)"), then its middle.
 */
enum hl_render_cut { HL_RENDER_CUT_END, HL_RENDER_CUT_MIDDLE, HL_RENDER_CUT_NAME };
/* Appends clean @text cut to @columns, with "…" where something is missing. Returns the columns used. */
size_t hl_render_fit(struct hl_str *out, const char *text, size_t len, size_t columns,
		     enum hl_render_cut cut);

/* Appends @value with @digits (at most 6) decimals; the same in every locale. */
void hl_render_decimal(struct hl_str *out, double value, unsigned int digits);
/* Appends 100 @part / @whole with one decimal, without a sign; "0.0" of nothing. */
void hl_render_share(struct hl_str *out, uint64_t part, uint64_t whole);
/* Appends a share for a label: "44 %", "4.4 %". */
void hl_render_percent(struct hl_str *out, uint64_t part, uint64_t whole);
/* Appends @ns since the epoch as RFC 3339 in UTC, with milliseconds where there are any. */
void hl_render_time(struct hl_str *out, uint64_t ns);

/* What stands after a frame's name, as in the FlameGraph tools: "_[k]", "_[i]", "_[j]" or "". */
const char *hl_render_suffix(const struct hl_frame *frame);
/* Appends a function's name or an instruction's text, clean; what has none is "[no name]". */
void hl_render_name(struct hl_str *out, const struct hl_frame *frame);
/* Appends the last component of the frame's module, clean; or nothing. */
void hl_render_module(struct hl_str *out, const struct hl_frame *frame);
/* Appends "[12 more instructions]". */
void hl_render_more(struct hl_str *out, uint64_t n);

/* The frame's class, 0 ("other") for a value unknown here. */
unsigned int hl_render_class(const struct hl_frame *frame);

/* Samples of all losses of that kind (enum hl_loss_kind). */
uint64_t hl_render_lost(const struct hl_profile_meta *meta, unsigned int kind);
/* The samples that those that are lost are a share of: all that were due, in windows that were not stored as well. */
uint64_t hl_render_due(const struct hl_profile_meta *meta);

/* The depth of the deepest node. */
uint32_t hl_render_depth(const struct hl_profile *profile);
/* The function that holds the code of leaf @node: its parent or, if that was inlined, the one around it. */
const struct hl_frame *hl_render_holder(const struct hl_profile *profile, uint32_t node);

/* Appends the title of a page: host, start, length. */
void hl_render_title(struct hl_str *out, const struct hl_profile *profile);
/*
 * Appends a fact of a header, "label    text", clean, wrapped at blanks; the lines after its first are
 * indented.
 */
void hl_render_fact(struct hl_str *out, const char *label, const struct hl_str *text, size_t columns);
/*
 * Appends the header: what was measured, how, what it cost, every loss with its count, every note. A line a
 * fact, "label    text", wrapped at @columns, clean, each ending in a newline.
 */
void hl_render_header(struct hl_str *out, const struct hl_profile *profile, size_t columns);

/* Writes what is buffered. 0, or -errno of the first write to @out that failed, said of @format in @err. */
int hl_render_flush(FILE *out, const char *format, struct hl_err *err);

#endif
