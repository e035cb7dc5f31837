/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_INTERN_H
#define HL_STORE_DAY_INTERN_H

#include "base/err.h"
#include "store/day_put.h"

struct hl_batch;
struct hl_ids;
struct hl_loss;
struct hl_profile_meta;

/* The numbers that a day gives to what a window names; rows that it lacks are inserted. All: 0 or -errno. */

int day_intern_source(struct hl_ids *ids, const struct hl_profile_meta *meta, uint32_t *ret,
		      struct hl_err *err);
int day_intern_loss(struct hl_ids *ids, const struct hl_loss *loss, uint32_t *ret, struct hl_err *err);
int day_intern_note(struct hl_ids *ids, const char *note, uint32_t *ret, struct hl_err *err);
/* Frame @index of the profile of @batch. */
int day_intern_frame(struct hl_ids *ids, const struct hl_batch *batch, uint32_t index, uint32_t *ret,
		     struct hl_err *err);
/* All samples of @batch, as they are stored. Allocated. */
int day_intern_rows(struct hl_ids *ids, const struct hl_batch *batch, struct stored_row **ret, size_t *ret_n,
		    struct hl_err *err);

#endif
