/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_ROWS_H
#define HL_STORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "store/db.h"
#include "store/schema.h"

struct hl_str;

/*
 * Rows of tables end with a checksum of the others of their columns: what SQLite itself does not see, a bit that
 * flipped in a row, shows when the row is read. The first column is a number; in most tables the row's.
 */

/* What tells the rows of one table apart; @room is written to. 0 or -ENOMEM. */
int hl_row_key(struct hl_str *room, enum hl_table table, const struct hl_value *values, size_t n,
	       struct hl_id *ret);
/* The checksum of a row whose first column is @number, with the key of the others; and of a stack. */
int64_t hl_row_checksum(struct hl_id key, uint64_t number);
int64_t hl_node_checksum(uint32_t number, uint32_t parent, uint32_t frame);
/* Of a sample: rows of samples have none, but their window has the sum. */
uint64_t hl_sample_checksum(uint32_t thread, uint32_t node, uint64_t count, uint64_t weight);

/*
 * Checks the row that @query, a SELECT * of @table, stands at; its key to @ret_key, which may be NULL. 0; -EBADMSG
 * if it is not what was written; -ENOMEM.
 */
int hl_row_check(struct hl_str *room, enum hl_table table, const struct hl_query *query,
		 struct hl_id *ret_key, struct hl_err *err);

/* Single rows of a day. */
struct hl_rows;
int hl_rows_new(struct hl_db *db, struct hl_rows **ret, struct hl_err *err);
void hl_rows_free(struct hl_rows *rows);
/*
 * Row @number of @table, checked: in @ret a query with its columns, the number the first, until the next row of
 * that table is asked for. 0; -EBADMSG if there is none or it is damaged; -errno.
 */
int hl_rows_get(struct hl_rows *rows, enum hl_table table, uint32_t number, const struct hl_query **ret,
		struct hl_err *err);

#endif
