// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_copy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/day_reader.h"
#include "store/ids.h"

enum { MAX_ITEMS = 1 << 28, MAX_COLUMNS = 16, MAX_DEPTH = 4096, MAX_LINKS = 3 };

/* New numbers by old ones; 0: not copied yet. */
struct map {
	uint32_t *to;
	size_t n, cap;
};

struct day_copy {
	struct day_reader *from;
	struct hl_ids *ids;
	struct map maps[HL_N_INTERNED], nodes;
	struct hl_query *node;
};

/* The columns of a table, counted without the number, that name rows of others; 0 in them names none. */
struct link {
	int column;
	enum hl_table table;
};
static const struct {
	int n;
	struct link links[MAX_LINKS];
} tables[HL_N_INTERNED] = {
	[HL_TABLE_CGROUPS] = { 1, { { 2, HL_TABLE_CONTAINERS } } },
	[HL_TABLE_PROCESSES] = { 3,
				 { { 5, HL_TABLE_CGROUPS },
				   { 6, HL_TABLE_SERVICES },
				   { 7, HL_TABLE_MODULES } } },
	[HL_TABLE_THREADS] = { 1, { { 0, HL_TABLE_PROCESSES } } },
	[HL_TABLE_FRAMES] = { 2, { { 4, HL_TABLE_BINARIES }, { 5, HL_TABLE_MODULES } } },
};

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory to copy a day");
}

int day_copy_new(struct day_reader *from, struct hl_ids *ids, struct day_copy **ret, struct hl_err *err)
{
	struct day_copy *copy = calloc(1, sizeof(*copy));
	int code;

	if (!copy)
		return no_memory(err);
	copy->from = from;
	copy->ids = ids;
	code = hl_query_new(from->db, "SELECT * FROM nodes WHERE id = ?", &copy->node, err);
	if (code)
		day_copy_free(copy);
	else
		*ret = copy;
	return code;
}

void day_copy_free(struct day_copy *copy)
{
	if (!copy)
		return;
	for (unsigned int i = 0; i < HL_N_INTERNED; i++)
		free(copy->maps[i].to);
	free(copy->nodes.to);
	hl_query_free(copy->node);
	free(copy);
}

static int make_room(struct map *map, uint32_t number, struct hl_err *err)
{
	if (number < 1 || number >= MAX_ITEMS)
		return hl_err_set(err, -EBADMSG, "there is no row %u", number);
	if (hl_grow(&map->to, &map->cap, (size_t)number + 1, sizeof(*map->to), MAX_ITEMS))
		return no_memory(err);
	while (map->n <= number)
		map->to[map->n++] = 0;
	return 0;
}

static int copy_row(struct day_copy *copy, enum hl_table table, uint32_t number, uint32_t *ret,
		    struct hl_err *err);

/* Tables name each other without a circle: three calls at most lie within each other. */
static int copy_links(struct day_copy *copy, enum hl_table table, struct hl_value *values, struct hl_err *err)
{
	uint32_t to;
	int code = 0;

	for (int i = 0; i < tables[table].n && !code; i++) {
		const struct link *link = &tables[table].links[i];
		int64_t number = values[link->column].number;

		if (!number)
			continue;
		code = number < 0 || number > UINT32_MAX
			       ? hl_err_set(err, -EBADMSG, "there is no row %lld", (long long)number)
			       : copy_row(copy, link->table, (uint32_t)number, &to, err);
		if (!code)
			values[link->column] = hl_int(to);
	}
	return code;
}

static int copy_row(struct day_copy *copy, enum hl_table table, uint32_t number, uint32_t *ret,
		    struct hl_err *err)
{
	struct map *map = &copy->maps[table];
	struct hl_value values[MAX_COLUMNS];
	const struct hl_query *query;
	int code = make_room(map, number, err);

	if (!code && !map->to[number]) {
		code = hl_rows_get(copy->from->rows, table, number, &query, err);
		for (int i = 0; i < hl_tables[table].columns && !code; i++)
			values[i] = hl_query_value(query, 1 + i);
		if (!code)
			code = copy_links(copy, table, values, err);
		if (!code)
			code = hl_ids_row(copy->ids, table, values, (size_t)hl_tables[table].columns,
					  &map->to[number], err);
	}
	if (!code)
		*ret = map->to[number];
	return code;
}

int day_copy_source(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err)
{
	return copy_row(copy, HL_TABLE_SOURCES, number, ret, err);
}

int day_copy_reason(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err)
{
	return copy_row(copy, HL_TABLE_REASONS, number, ret, err);
}

int day_copy_note(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err)
{
	return copy_row(copy, HL_TABLE_NOTES, number, ret, err);
}

int day_copy_thread(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err)
{
	return copy_row(copy, HL_TABLE_THREADS, number, ret, err);
}

uint32_t day_copy_is_frame_copied(const struct day_copy *copy, uint32_t number)
{
	const struct map *map = &copy->maps[HL_TABLE_FRAMES];

	return number < map->n ? map->to[number] : 0;
}

static int read_node(struct day_copy *copy, uint32_t number, uint32_t *parent, uint32_t *frame,
		     struct hl_err *err)
{
	int64_t checksum;
	int code;

	hl_query_give(copy->node, hl_int(number));
	code = hl_query_step(copy->node, err);
	if (code < 0)
		return code;
	*parent = (uint32_t)hl_query_int(copy->node, 1);
	*frame = (uint32_t)hl_query_int(copy->node, 2);
	checksum = hl_query_int(copy->node, 3);
	hl_query_reset(copy->node);
	if (!code || *parent >= number || checksum != hl_node_checksum(number, *parent, *frame))
		return hl_err_set(err, -EBADMSG, "its stack %u is damaged", number);
	return 0;
}

/* Upwards until one that was copied before, and down again. */
int day_copy_node(struct day_copy *copy, uint32_t number, uint32_t *ret, struct hl_err *err)
{
	uint32_t path[MAX_DEPTH], frames[MAX_DEPTH], at = number, to, frame;
	int n = 0, code = number ? make_room(&copy->nodes, number, err) : 0;

	for (; at && !code && !copy->nodes.to[at]; n++) {
		if (n == MAX_DEPTH)
			return hl_err_set(err, -EBADMSG, "its stack %u is too deep", number);
		path[n] = at;
		code = read_node(copy, at, &at, &frames[n], err);
	}
	to = at && !code ? copy->nodes.to[at] : 0;
	while (n-- && !code) {
		code = copy_row(copy, HL_TABLE_FRAMES, frames[n], &frame, err);
		if (!code)
			code = hl_ids_node(copy->ids, to, frame, &to, err);
		if (!code)
			copy->nodes.to[path[n]] = to;
	}
	if (!code)
		*ret = to;
	return code;
}
