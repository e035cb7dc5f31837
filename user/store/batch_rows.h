/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_BATCH_ROWS_H
#define HL_STORE_BATCH_ROWS_H

/* What batch.c (filling) and the writer share. */

#include "base/mem.h"
#include "store/batch.h"

struct batch_row {
	uint32_t owner, node;
	uint64_t count, weight;
};

struct batch_build_id {
	struct hl_id binary;
	uint8_t bytes[64];
	size_t len;
};

struct hl_batch {
	struct hl_profile *profile;
	struct hl_owner *owners;
	struct batch_row *rows;
	struct batch_build_id *build_ids;
	size_t n_owners, n_rows, n_build_ids, cap_owners, cap_rows, cap_build_ids;
	struct hl_index owner_index, row_index;
	struct hl_arena names;
	uint64_t samples, weight;
};

#endif
