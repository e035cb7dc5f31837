// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/rows.h"
#include "store/schema.h"

int day_put_init(struct day_put *put, struct hl_db *db, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		const char *sql;
	} queries[] = {
		{ &put->window, "INSERT INTO windows VALUES(?,?,?,?,?, ?,?,?,?,?, ?,?,?,?,?, ?,?)" },
		{ &put->sample, "INSERT INTO samples VALUES(?,?,?,?,?)" },
		{ &put->loss, "INSERT INTO losses VALUES(?,?,?,?)" },
		{ &put->note, "INSERT OR IGNORE INTO window_notes VALUES(?,?,?)" },
		{ &put->gap, "INSERT INTO gaps VALUES(?,?,?,?,?)" },
	};
	int code = 0;

	*put = (struct day_put){ 0 };
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(db, queries[i].sql, queries[i].query, err);
	return code;
}

void day_put_done(struct day_put *put)
{
	hl_query_free(put->window);
	hl_query_free(put->sample);
	hl_query_free(put->loss);
	hl_query_free(put->note);
	hl_query_free(put->gap);
	hl_str_done(&put->room);
	*put = (struct day_put){ 0 };
}

/* Inserts a row of @table: its first column, the @n others, and the checksum. */
static int insert(struct day_put *put, struct hl_query *query, enum hl_table table, uint64_t first,
		  const struct hl_value *values, size_t n, struct hl_err *err)
{
	struct hl_value number = hl_int(first), checksum;
	struct hl_id key;

	if (hl_row_key(&put->room, table, values, n, &key))
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	checksum = hl_int(hl_row_checksum(key, first));
	hl_query_bind(query, 1, &number, 1);
	hl_query_bind(query, 2, values, n);
	hl_query_bind(query, 2 + (int)n, &checksum, 1);
	return hl_query_run(query, err);
}

static int put_samples(struct day_put *put, const struct stored_window *w, uint64_t *ret_sum,
		       struct hl_err *err)
{
	int code = 0;

	*ret_sum = 0;
	for (size_t i = 0; i < w->n_rows && !code; i++) {
		const struct stored_row *row = &w->rows[i];

		*ret_sum += hl_sample_checksum(row->thread, row->node, row->count, row->weight);
		hl_query_give(put->sample, hl_int(w->id), hl_int(row->thread), hl_int(row->node),
			      hl_int(row->count),
			      row->weight == row->count * w->period ? hl_null() : hl_int(row->weight));
		code = hl_query_run(put->sample, err);
	}
	return code;
}

/* What the window says of itself. */
static int put_remarks(struct day_put *put, const struct stored_window *w, struct hl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < w->n_losses && !code; i++) {
		const struct hl_value values[] = { hl_int(w->losses[i].reason),
						   hl_int(w->losses[i].samples) };

		code = insert(put, put->loss, HL_TABLE_LOSSES, (uint64_t)w->id, values, 2, err);
	}
	for (size_t i = 0; i < w->n_notes && !code; i++) {
		const struct hl_value value = hl_int(w->notes[i]);

		code = insert(put, put->note, HL_TABLE_WINDOW_NOTES, (uint64_t)w->id, &value, 1, err);
	}
	return code;
}

int day_put_window(struct day_put *put, const struct stored_window *w, struct hl_err *err)
{
	uint64_t sum;
	int code = put_samples(put, w, &sum, err);

	if (!code)
		code = put_remarks(put, w, err);
	if (code)
		return code;
	const struct hl_value values[] = {
		hl_int(w->level),   hl_int(w->source), hl_int(w->start_ns), hl_int(w->length_ns),
		hl_int(w->samples), hl_int(w->weight), hl_int(w->period),   hl_int(w->expected),
		hl_int(w->seen),    hl_int(w->idle),   hl_int(w->filtered), w->busy,
		w->programs,        w->process,        hl_int(sum),
	};
	return insert(put, put->window, HL_TABLE_WINDOWS, (uint64_t)w->id, values,
		      sizeof(values) / sizeof(values[0]), err);
}

int day_put_gap(struct day_put *put, const struct hl_gap *gap, struct hl_err *err)
{
	const struct hl_value values[] = { hl_int(gap->end_ns - gap->start_ns),
					   hl_text(gap->reason, strlen(gap->reason)), hl_int(gap->samples) };

	return insert(put, put->gap, HL_TABLE_GAPS, gap->start_ns, values, 3, err);
}

static int compare_rows(const void *a, const void *b)
{
	const struct stored_row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

size_t stored_rows_sum(struct stored_row *rows, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 1; i < n; i++) {
		if (compare_rows(&rows[kept], &rows[i])) {
			rows[++kept] = rows[i];
			continue;
		}
		rows[kept].count += rows[i].count;
		rows[kept].weight += rows[i].weight;
	}
	return kept + 1;
}
