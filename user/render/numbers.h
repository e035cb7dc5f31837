/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_NUMBERS_H
#define HL_RENDER_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/mem.h"

/* Numbers things in the order in which they are first asked for, from 0. Zero-initialised is empty. */
struct hl_numbers {
	struct hl_index index;
	struct hl_id *ids;
	size_t n, cap;
};

/* The number of @id; *@ret_new says whether it got it just now. 0, -ENOMEM, or -E2BIG at 2³⁰ of them. */
int hl_numbers_get(struct hl_numbers *numbers, struct hl_id id, size_t *ret, bool *ret_new);
void hl_numbers_done(struct hl_numbers *numbers);

#endif
