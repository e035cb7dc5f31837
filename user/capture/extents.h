/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_EXTENTS_H
#define HL_CAPTURE_EXTENTS_H

/* Which parts of a line of numbers are free; private to this folder. Knows nothing of what lies there. */

#include <stddef.h>
#include <stdint.h>

struct hl_extent {
	uint32_t start, len;
};

/* The free parts: in order, none empty, none touching the next. Zero-initialised is a line of no length. */
struct hl_extents {
	struct hl_extent *free;
	size_t n, cap;
	size_t n_taken;      /* extents taken and not given back */
	uint32_t free_total; /* the lengths of the free parts */
};

/* All of [@first, @end) is free. 0 or -ENOMEM. hl_extents_done() releases what init or take has allocated. */
int hl_extents_init(struct hl_extents *extents, uint32_t first, uint32_t end);
void hl_extents_done(struct hl_extents *extents);

/*
 * Takes @len > 0 numbers from the lowest place where they fit: at an even number, and, unless @boundary (a
 * power of two) is 0, without one of its multiples inside. -ENOSPC, or -ENOMEM.
 */
int hl_extents_take(struct hl_extents *extents, uint32_t len, uint32_t boundary, uint32_t *ret_start);
/* Gives back a whole extent as it was taken. Needs no memory. */
void hl_extents_give(struct hl_extents *extents, uint32_t start, uint32_t len);

#endif
