/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_ROW_SUMS_H
#define HL_STORE_ROW_SUMS_H

#include "base/mem.h"
#include "store/day_put.h"

/* Samples of several windows, added up. Zero-initialised is empty. */
struct row_sums {
	struct stored_row *rows;
	size_t n, cap;
	struct hl_index index;
};

/* 0; -ENOMEM; -E2BIG at 2²⁶ different ones. */
int row_sums_add(struct row_sums *sums, uint32_t thread, uint32_t node, uint64_t count, uint64_t weight);
/* Empties it, keeps the memory. */
void row_sums_clear(struct row_sums *sums);
void row_sums_done(struct row_sums *sums);

#endif
