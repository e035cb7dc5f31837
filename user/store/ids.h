/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_IDS_H
#define HL_STORE_IDS_H

#include "store/db.h"
#include "store/schema.h"

/*
 * The numbers that a day's rows have: a row that is there already is found in memory, one that is not is
 * inserted. What is remembered is bounded; beyond that all is forgotten, and rows are inserted again that
 * stand in the day before: that costs room, nothing else.
 */
struct hl_ids;

/* Reads what the day @db holds; the queries that it keeps must be freed before @db is closed. 0 or -errno. */
int hl_ids_new(struct hl_db *db, struct hl_ids **ret, struct hl_err *err);
void hl_ids_free(struct hl_ids *ids);

/* From now on no stack and no frame is forgotten: for a process that ends when the day is written. */
void hl_ids_keep_stacks(struct hl_ids *ids);

/* The number of the row of @table with these columns. 0 or -errno. */
int hl_ids_row(struct hl_ids *ids, enum hl_table table, const struct hl_value *values, size_t n,
	       uint32_t *ret, struct hl_err *err);
/* The number of the stack that ends in frame @frame below node @parent. 0 or -errno. */
int hl_ids_node(struct hl_ids *ids, uint32_t parent, uint32_t frame, uint32_t *ret, struct hl_err *err);

#endif
