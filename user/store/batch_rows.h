/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_BATCH_ROWS_H
#define HL_STORE_BATCH_ROWS_H

/* What batch.c (filling) and the writer share. */

#include "base/mem.h"
#include "store/batch.h"
#include "store/body.h"

struct batch_row {
	uint32_t owner, node;
	uint64_t count, weight;
};

struct batch_body {
	uint32_t frame;
	struct hl_body body;
};

struct hl_batch {
	struct hl_profile *profile;
	struct hl_owner *owners;
	const struct hl_owner_cgroup **cgroups;
	struct batch_row *rows;
	struct batch_body *bodies;
	size_t n_owners, n_cgroups, n_rows, n_bodies;
	size_t cap_owners, cap_cgroups, cap_rows, cap_bodies;
	struct hl_index owner_index, cgroup_index, row_index;
	struct hl_arena names;
	uint64_t samples, weight;
};

#endif
