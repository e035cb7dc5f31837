/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_BATCH_H
#define HL_STORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "store/owner.h"

struct hl_body;
struct hl_profile;

/*
 * The samples of one window, ready to be stored: for each owner and stack a count. Stacks do not hold the
 * owner, but begin with the first frame below it.
 */
struct hl_batch;

/* Empty; NULL without memory. hl_batch_free() accepts NULL. */
struct hl_batch *hl_batch_new(void);
void hl_batch_free(struct hl_batch *batch);
HL_DEFINE_CLEANUP(struct hl_batch, hl_batch_free)

/* Where frames and binaries of its stacks are interned; the batch's, and not to be finished. */
struct hl_profile *hl_batch_profile(struct hl_batch *batch);

/*
 * A copy of @cgroup, for owners of this batch to point to: the same for the same path, of which the first copy
 * stays. NULL without memory.
 */
const struct hl_owner_cgroup *hl_batch_cgroup(struct hl_batch *batch, const struct hl_owner_cgroup *cgroup);

/*
 * Counts samples of @owner, whose cgroup is of hl_batch_cgroup(), with the stack @frames, root first, leaf
 * last. 0, -ENOMEM or -E2BIG; on failure nothing was counted.
 */
int hl_batch_add(struct hl_batch *batch, const struct hl_owner *owner, const uint32_t *frames, size_t n,
		 uint64_t count, uint64_t weight);

/* Adds a copy of @body, of the function with frame @frame. 0, -ENOMEM or -E2BIG. */
int hl_batch_add_body(struct hl_batch *batch, uint32_t frame, const struct hl_body *body);

/* All samples that were added, and the sum of their periods. */
uint64_t hl_batch_samples(const struct hl_batch *batch);
uint64_t hl_batch_weight(const struct hl_batch *batch);

#endif
