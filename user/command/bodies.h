/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_BODIES_H
#define HL_COMMAND_BODIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_batch;
struct hl_profile;
struct hl_resolve;
struct hl_sample;

/*
 * The machine code of functions that are hot, on its way into a store: it is taken while what it lies in is there.
 * For the thread that names samples.
 */
struct hl_bodies;

/* NULL: no memory. hl_bodies_free() accepts NULL. */
struct hl_bodies *hl_bodies_new(void);
void hl_bodies_free(struct hl_bodies *bodies);

/* A window of that UTC day follows: shares are of the day. */
void hl_bodies_begin(struct hl_bodies *bodies, uint64_t day);

/* Counts a sample of the window, which has to stay, with its stack, root first, of @profile. 0 or -ENOMEM. */
int hl_bodies_count(struct hl_bodies *bodies, const struct hl_profile *profile,
		    const struct hl_sample *sample, const uint32_t *frames, size_t n);

/*
 * Adds the code of functions of that window that are hot by now, and were not before, to @batch, or why there is
 * none. @resolve is what named the samples. 0 or -ENOMEM.
 */
int hl_bodies_collect(struct hl_bodies *bodies, const struct hl_resolve *resolve, struct hl_batch *batch);

#endif
