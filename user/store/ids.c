// SPDX-License-Identifier: BSD-2-Clause
#include "store/ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/rows.h"

/* Of a table, and of nodes: 6 and 16 MB at most. Numbers end where they would not fit 32 bits. */
enum { MAX_ROWS = 1 << 17, MAX_NODES = 1 << 19, ALL = 1 << 28 };
#define MAX_ID UINT32_C(0xfffffff0)

struct known_row {
	struct hl_id key; /* of its columns */
	uint32_t id;
};

struct table {
	struct hl_index index; /* into rows */
	struct known_row *rows;
	size_t n, cap;
	size_t limit; /* of what is remembered */
	struct hl_query *insert;
	uint32_t last;
};

struct hl_ids {
	struct table tables[HL_N_INTERNED];
	struct hl_index nodes; /* its positions are the nodes' numbers */
	struct hl_query *insert_node;
	uint32_t last_node;
	size_t node_limit;
	struct hl_str text; /* room to build a key in */
};

struct wanted_row {
	const struct known_row *rows;
	struct hl_id key;
};

static int is_wanted_row(const void *ctx, uint32_t position)
{
	const struct wanted_row *w = ctx;

	return hl_id_equal(w->rows[position].key, w->key);
}

static int remember(struct table *t, struct hl_id key, uint32_t id)
{
	int code;

	if (t->n >= t->limit) {
		hl_index_clear(&t->index);
		t->n = 0;
	}
	code = hl_grow(&t->rows, &t->cap, t->n + 1, sizeof(*t->rows), ALL);
	if (!code)
		code = hl_index_add(&t->index, key.lo, (uint32_t)t->n);
	if (!code)
		t->rows[t->n++] = (struct known_row){ key, id };
	return code;
}

static int is_same_node(const void *ctx, uint32_t position)
{
	return 1; /* equal hashes are equal keys */
}

static uint64_t node_key(uint32_t parent, uint32_t frame)
{
	return hl_mix((uint64_t)parent << 32 | frame);
}

static int remember_node(struct hl_ids *ids, uint32_t parent, uint32_t frame, uint32_t id)
{
	if (ids->nodes.used >= ids->node_limit)
		hl_index_clear(&ids->nodes);
	return hl_index_add(&ids->nodes, node_key(parent, frame), id);
}

static int load_table(struct hl_ids *ids, struct hl_db *db, enum hl_table which, struct hl_err *err)
{
	const struct hl_table_shape *shape = &hl_tables[which];
	struct table *t = &ids->tables[which];
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	struct hl_id key;
	char sql[120];
	int code;

	(void)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES(?1%.*s)", shape->name,
		       2 * (shape->columns + 1), ",?,?,?,?,?,?,?,?,?,?,?,?");
	code = hl_query_new(db, sql, &t->insert, err);
	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY id", shape->name);
	if (!code)
		code = hl_query_new(db, sql, &query, err);
	while (!code && (code = hl_query_step(query, err)) == 1) {
		code = hl_row_check(&ids->text, which, query, &key, err);
		if (code)
			return code;
		t->last = (uint32_t)hl_query_int(query, 0);
		if (remember(t, key, t->last))
			code = hl_err_set(err, -ENOMEM, "no memory for the rows of a day");
	}
	return code;
}

static int load_nodes(struct hl_ids *ids, struct hl_db *db, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(db, "INSERT INTO nodes VALUES(?, ?, ?, ?)", &ids->insert_node, err);

	if (!code)
		code = hl_query_new(db, "SELECT * FROM nodes ORDER BY id", &query, err);
	while (!code && (code = hl_query_step(query, err)) == 1) {
		uint32_t parent = (uint32_t)hl_query_int(query, 1), frame = (uint32_t)hl_query_int(query, 2);

		ids->last_node = (uint32_t)hl_query_int(query, 0);
		if (hl_query_int(query, 3) != hl_node_checksum(ids->last_node, parent, frame))
			return hl_err_set(err, -EBADMSG, "its stack %u is damaged", ids->last_node);
		code = remember_node(ids, parent, frame, ids->last_node);
		if (code)
			(void)hl_err_set(err, code, "no memory for the stacks of a day");
	}
	return code;
}

void hl_ids_keep_stacks(struct hl_ids *ids)
{
	ids->tables[HL_TABLE_FRAMES].limit = ALL;
	ids->node_limit = ALL;
}

int hl_ids_new(struct hl_db *db, struct hl_ids **ret, struct hl_err *err)
{
	struct hl_ids *ids = calloc(1, sizeof(*ids));
	int code = 0;

	if (!ids)
		return hl_err_set(err, -ENOMEM, "no memory for the rows of a day");
	ids->node_limit = MAX_NODES;
	for (unsigned int i = 0; i < HL_N_INTERNED && !code; i++) {
		ids->tables[i].limit = MAX_ROWS;
		code = load_table(ids, db, i, err);
	}
	if (!code)
		code = load_nodes(ids, db, err);
	if (code) {
		hl_ids_free(ids);
		return code;
	}
	*ret = ids;
	return 0;
}

void hl_ids_free(struct hl_ids *ids)
{
	if (!ids)
		return;
	for (unsigned int i = 0; i < HL_N_INTERNED; i++) {
		hl_query_free(ids->tables[i].insert);
		hl_index_done(&ids->tables[i].index);
		free(ids->tables[i].rows);
	}
	hl_query_free(ids->insert_node);
	hl_index_done(&ids->nodes);
	hl_str_done(&ids->text);
	free(ids);
}

int hl_ids_row(struct hl_ids *ids, enum hl_table table, const struct hl_value *values, size_t n,
	       uint32_t *ret, struct hl_err *err)
{
	struct table *t = &ids->tables[table];
	struct wanted_row wanted = { .rows = t->rows };
	int code = hl_row_key(&ids->text, table, values, n, &wanted.key);
	const struct hl_value id = hl_int(t->last + 1);
	struct hl_value checksum;
	uint32_t at;

	if (code)
		return hl_err_set(err, code, "no memory for the rows of a day");
	at = hl_index_find(&t->index, wanted.key.lo, is_wanted_row, &wanted);
	if (at != HL_INDEX_NONE) {
		*ret = t->rows[at].id;
		return 0;
	}
	if (t->last >= MAX_ID)
		return hl_err_set(err, -EBADMSG, "too many rows in '%s' of this day", hl_tables[table].name);
	hl_query_bind(t->insert, 1, &id, 1);
	hl_query_bind(t->insert, 2, values, n);
	checksum = hl_int(hl_row_checksum(wanted.key, t->last + 1));
	hl_query_bind(t->insert, 2 + (int)n, &checksum, 1);
	code = hl_query_run(t->insert, err);
	if (!code && remember(t, wanted.key, t->last + 1))
		code = hl_err_set(err, -ENOMEM, "no memory for the rows of a day");
	if (!code)
		*ret = ++t->last;
	return code;
}

int hl_ids_node(struct hl_ids *ids, uint32_t parent, uint32_t frame, uint32_t *ret, struct hl_err *err)
{
	uint32_t at = hl_index_find(&ids->nodes, node_key(parent, frame), is_same_node, /* ctx= */ NULL);
	int code;

	if (at != HL_INDEX_NONE) {
		*ret = at;
		return 0;
	}
	if (ids->last_node >= MAX_ID)
		return hl_err_set(err, -EBADMSG, "too many stacks in this day");
	hl_query_give(ids->insert_node, hl_int(ids->last_node + 1), hl_int(parent), hl_int(frame),
		      hl_int(hl_node_checksum(ids->last_node + 1, parent, frame)));
	code = hl_query_run(ids->insert_node, err);
	if (!code && remember_node(ids, parent, frame, ids->last_node + 1))
		code = hl_err_set(err, -ENOMEM, "no memory for the stacks of a day");
	if (!code)
		*ret = ++ids->last_node;
	return code;
}
