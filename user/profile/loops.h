/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_LOOPS_H
#define HL_PROFILE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_listing;

/*
 * The natural loops of a function: see loops.c. What goes round but has two ways in, as by a goto into a loop,
 * is none: it has no header that all of it could be named by.
 */

struct hl_loop {
	uint64_t start, end; /* least address, and behind the last instruction */
	uint32_t header;     /* row through which it is entered */
	uint32_t size;       /* instructions */
};

#define HL_LOOP_NONE UINT32_MAX

struct hl_loops {
	struct hl_loop *items;
	size_t n, cap;
	uint32_t *of_row; /* the innermost loop around each row; HL_LOOP_NONE */
	bool *tangled;    /* by row: it goes round and is in no natural loop */
};

/*
 * Finds the loops of a whole @listing. 0; -ENOMEM; or -E2BIG where the flow of control is so entangled that it
 * would take too long. To be released with hl_loops_done().
 */
int hl_loops_find(const struct hl_listing *listing, struct hl_loops *ret);
void hl_loops_done(struct hl_loops *loops);

#endif
