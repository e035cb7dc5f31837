/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_STORED_H
#define HL_COMMAND_STORED_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct hl_batch;
struct hl_identity;
struct hl_owner;
struct hl_sample;
struct hl_selection;
struct hl_store_query;

/* Between samples and what a store holds of them: whose they are. */

/* Samples on their way into a batch. */
struct hl_storing {
	struct hl_batch *batch;
	/* The cgroups that it has met. */
	struct hl_stored_cgroup *cgroups;
	size_t n, cap;
	struct hl_index index;
};
void hl_storing_done(struct hl_storing *storing);
/* As hl_resolve.take, with a struct hl_storing: adds the stack without its roots. */
int hl_storing_take(void *ctx, const struct hl_sample *sample, const struct hl_identity *identity,
		    const uint32_t *frames, size_t n);

/* Asks with @query for what @selection selects, which stays the caller's. */
void hl_stored_select(struct hl_store_query *query, struct hl_selection *selection);

/*
 * The same, and under no frames but what becomes labels: all that is known of whose samples they are, but for pids,
 * which sums do not tell.
 */
void hl_stored_select_labels(struct hl_store_query *query, struct hl_selection *selection);

/* As hl_store_query.root, with a struct hl_selection: where samples of a store stand that it selects. */
int hl_stored_root(void *ctx, const struct hl_owner *owner,
		   int (*push)(void *ctx, const char *name, size_t len), void *push_ctx);

#endif
