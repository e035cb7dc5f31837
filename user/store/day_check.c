// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_check.h"

#include <errno.h>
#include <stdio.h>

#include "store/day_bodies.h"
#include "store/day_reader.h"

static int check_table(struct day_reader *day, enum hl_table table, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	char sql[64];
	int code;

	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s", hl_tables[table].name);
	code = hl_query_new(day->db, sql, &query, err);
	while (!code && (code = hl_query_step(query, err)) == 1)
		code = hl_row_check(&day->room, table, query, /* ret_key= */ NULL, err);
	return code;
}

static int check_nodes(struct day_reader *day, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int64_t number, parent, frame, n_frames = 0;
	int code = hl_query_new(day->db, "SELECT * FROM nodes", &query, err);

	if (!code)
		code = hl_db_number(day->db, "SELECT max(id) FROM frames", &n_frames, err);
	while (!code && (code = hl_query_step(query, err)) == 1) {
		code = 0;
		number = hl_query_int(query, 0);
		parent = hl_query_int(query, 1);
		frame = hl_query_int(query, 2);
		if (parent < 0 || parent >= number || frame < 1 || frame > n_frames ||
		    hl_query_int(query, 3) !=
			    hl_node_checksum((uint32_t)number, (uint32_t)parent, (uint32_t)frame))
			code = hl_err_set(err, -EBADMSG, "its stack %lld is damaged", (long long)number);
	}
	return code;
}

static int check_window(struct hl_query *samples, int64_t id, uint64_t period, uint64_t n, uint64_t sum,
			struct hl_err *err)
{
	uint64_t seen = 0, checksum = 0, count;
	int code;

	hl_query_give(samples, hl_int(id));
	while ((code = hl_query_step(samples, err)) == 1) {
		struct hl_value weight = hl_query_value(samples, 3);

		count = (uint64_t)hl_query_int(samples, 2);
		seen += count;
		checksum += hl_sample_checksum(
			(uint32_t)hl_query_int(samples, 0), (uint32_t)hl_query_int(samples, 1), count,
			weight.type == HL_VALUE_INT ? (uint64_t)weight.number : count * period);
	}
	if (!code && (seen != n || checksum != sum))
		code = hl_err_set(err, -EBADMSG, "its window %lld has a damaged sample", (long long)id);
	return code;
}

static int check_windows(struct day_reader *day, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL, *samples = NULL;
	int code = hl_query_new(day->db, "SELECT id, period, samples, sum FROM windows", &query, err);

	if (!code)
		code = hl_query_new(day->db,
				    "SELECT thread, node, count, weight FROM samples WHERE window = ?",
				    &samples, err);
	while (!code && (code = hl_query_step(query, err)) == 1)
		code = check_window(samples, hl_query_int(query, 0), (uint64_t)hl_query_int(query, 1),
				    (uint64_t)hl_query_int(query, 2), (uint64_t)hl_query_int(query, 3), err);
	return code;
}

/* Each function has a frame, and the code that it names, whole. */
static int check_bodies(struct day_reader *day, struct hl_err *err)
{
	struct hl_body_sum sum = { 0 };
	int code = day_bodies_each(day, NULL, NULL, &sum, err);

	return !code && sum.damaged ? hl_err_set(err, -EBADMSG, "its code of a function is damaged") : code;
}

int day_check(struct day_reader *day, struct hl_err *err)
{
	int64_t strays = 0;
	int code = 0;

	for (unsigned int table = 0; table < HL_N_TABLES && !code; table++)
		if ((table < HL_TABLE_CODES || day->has_bodies) && hl_tables[table].name)
			code = check_table(day, table, err);
	if (!code)
		code = check_nodes(day, err);
	if (!code)
		code = check_windows(day, err);
	if (!code)
		code = check_bodies(day, err);
	if (!code)
		code = hl_db_number(day->db,
				    "SELECT count(*) FROM (SELECT DISTINCT window FROM samples)"
				    " WHERE window NOT IN (SELECT id FROM windows)",
				    &strays, err);
	return !code && strays ? hl_err_set(err, -EBADMSG, "it has samples of no window") : code;
}
