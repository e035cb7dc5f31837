// SPDX-License-Identifier: BSD-2-Clause
#include "store/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

/* Three bytes and two as SQLite writes numbers: of a million flipped bits one is missed, or sixty. */
enum { ROW_MASK = 0x7fffff, NODE_MASK = 0x7fff, MAX_COLUMNS = 16, FAR = 4 };

struct hl_rows {
	struct hl_db *db;
	/* NULL: not needed so far. They stand at the row of the number that was asked for last, or at none: 0. */
	struct hl_query *by_number[HL_N_INTERNED];
	uint32_t at[HL_N_INTERNED];
	struct hl_str room;
};

static void add_to_key(struct hl_str *text, const struct hl_value *value)
{
	const uint64_t head[] = { (uint64_t)value->type,
				  value->type == HL_VALUE_INT ? (uint64_t)value->number : value->len };

	hl_str_add(text, head, sizeof(head));
	if (value->len)
		hl_str_add(text, value->bytes, value->len);
}

int hl_row_key(struct hl_str *room, enum hl_table table, const struct hl_value *values, size_t n,
	       struct hl_id *ret)
{
	hl_str_clear(room);
	hl_str_addc(room, (char)table);
	for (size_t i = 0; i < n; i++)
		add_to_key(room, &values[i]);
	if (hl_str_status(room))
		return -ENOMEM;
	*ret = hl_id_of(room->data, room->len);
	return 0;
}

int64_t hl_row_checksum(struct hl_id key, uint64_t number)
{
	return (int64_t)(hl_mix(key.lo ^ number) & ROW_MASK);
}

int64_t hl_node_checksum(uint32_t number, uint32_t parent, uint32_t frame)
{
	return (int64_t)(hl_mix(hl_mix((uint64_t)parent << 32 | frame) + number) & NODE_MASK);
}

uint64_t hl_sample_checksum(uint32_t thread, uint32_t node, uint64_t count, uint64_t weight)
{
	return hl_mix(hl_mix(hl_mix((uint64_t)thread << 32 | node) + count) + weight);
}

int hl_row_check(struct hl_str *room, enum hl_table table, const struct hl_query *query,
		 struct hl_id *ret_key, struct hl_err *err)
{
	int columns = hl_tables[table].columns;
	uint64_t number = (uint64_t)hl_query_int(query, 0);
	struct hl_id key;
	struct hl_value values[MAX_COLUMNS];

	for (int i = 0; i < columns; i++)
		values[i] = hl_query_value(query, 1 + i);
	if (hl_row_key(room, table, values, (size_t)columns, &key))
		return hl_err_set(err, -ENOMEM, "no memory for the rows of a day");
	if (hl_query_int(query, 1 + columns) != hl_row_checksum(key, number) ||
	    (table < HL_N_INTERNED && (number < 1 || number > UINT32_MAX)))
		return hl_err_set(err, -EBADMSG, "row %" PRIu64 " of its table %s is damaged", number,
				  hl_tables[table].name);
	if (ret_key)
		*ret_key = key;
	return 0;
}

int hl_rows_new(struct hl_db *db, struct hl_rows **ret, struct hl_err *err)
{
	struct hl_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return hl_err_set(err, -ENOMEM, "no memory for the rows of a day");
	rows->db = db;
	*ret = rows;
	return 0;
}

void hl_rows_free(struct hl_rows *rows)
{
	if (!rows)
		return;
	for (unsigned int i = 0; i < HL_N_INTERNED; i++)
		hl_query_free(rows->by_number[i]);
	hl_str_done(&rows->room);
	free(rows);
}

/*
 * From the row of number @from, 0: none, to that of @number: 1, 0 if there is none, or -errno. Those that belong to one
 * window were mostly written one after the other, and the next row costs less than to search.
 */
static int step_to(struct hl_query *query, uint32_t from, uint32_t number, struct hl_err *err)
{
	int code = 1;

	if (from && number > from && number - from <= FAR) {
		while (code == 1 && hl_query_int(query, 0) < (int64_t)number)
			code = hl_query_step(query, err);
	} else if (!from || number != from) {
		hl_query_reset(query);
		hl_query_give(query, hl_int(number));
		code = hl_query_step(query, err);
	}
	return code == 1 && hl_query_int(query, 0) != (int64_t)number ? 0 : code;
}

int hl_rows_get(struct hl_rows *rows, enum hl_table table, uint32_t number, const struct hl_query **ret,
		struct hl_err *err)
{
	struct hl_query **query = &rows->by_number[table];
	char sql[80];
	int code = 0;

	if (!*query) {
		(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s WHERE id >= ? ORDER BY id",
			       hl_tables[table].name);
		code = hl_query_new(rows->db, sql, query, err);
		if (code)
			return code;
	}
	code = step_to(*query, rows->at[table], number, err);
	rows->at[table] = code == 1 ? number : 0;
	if (code < 0)
		return code;
	if (!code)
		return hl_err_set(err, -EBADMSG, "its table %s has no row %u", hl_tables[table].name, number);
	*ret = *query;
	return hl_row_check(&rows->room, table, *query, /* ret_key= */ NULL, err);
}
