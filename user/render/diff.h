/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_DIFF_H
#define HL_RENDER_DIFF_H

#include <stdio.h>

#include "base/err.h"

struct hl_diff;
struct hl_render_options;

/* The formats of a comparison, each beside the writer of its format. */
int hl_diff_write_txt(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
		      struct hl_err *err);
int hl_diff_write_svg(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
		      struct hl_err *err);

#endif
