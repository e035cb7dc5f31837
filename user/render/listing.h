/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_LISTING_H
#define HL_RENDER_LISTING_H

#include <stdio.h>

struct hl_hot;
struct hl_listing;
struct hl_profile;

/*
 * Writes one function as text: what share of the samples it has, the code of @n_parts listings with the samples
 * of each instruction, and which callers make which instructions hot. 0 or -ENOMEM; errors of @out are left
 * to the caller.
 */
int hl_render_listing(const struct hl_profile *profile, const struct hl_hot *hot,
		      const struct hl_listing *parts, size_t n_parts, FILE *out);

#endif
