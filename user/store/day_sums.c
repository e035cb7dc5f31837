// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_sums.h"

#include <errno.h>

#include "store/days.h"
#include "store/row_sums.h"

/* Spans of a level, ?1, of its length, ?2, from ?3 to ?4, that have windows of the level below and no sum. */
static const char lacking[] =
	"SELECT DISTINCT source, start / ?2 * ?2 FROM windows AS w WHERE level = ?1 - 1 AND start >= ?3 AND"
	" start < ?4 AND NOT EXISTS (SELECT 1 FROM windows AS s WHERE s.level = ?1 AND s.source = w.source "
	"AND"
	" s.start = w.start / ?2 * ?2)";
/* Of the windows of level ?1 and source ?2 that start from ?3 on and before ?4. */
#define OF_WINDOWS " WHERE w.level = ?1 AND w.source = ?2 AND w.start >= ?3 AND w.start < ?4"
static const char totals[] =
	"SELECT sum(samples), sum(weight), CASE WHEN min(period) = max(period) THEN min(period) ELSE 0 END,"
	" sum(expected), sum(seen), sum(idle), sum(filtered), sum(busy), sum(programs), sum(process)"
	" FROM windows w" OF_WINDOWS;
static const char rows[] = "SELECT x.thread, x.node, x.count, coalesce(x.weight, x.count * w.period)"
			   " FROM windows w JOIN samples x ON x.window = w.id" OF_WINDOWS;

/* By what the windows of level 0 were summed to. */
static int choose_levels(struct day_sums *s, struct hl_db *db, struct hl_err *err)
{
	int64_t span = 0;
	int code = hl_db_number(db, "SELECT value FROM facts WHERE name = 'span'", &span, err);

	s->length_ns[1] = span ? 10 * HL_MINUTE_NS : HL_MINUTE_NS;
	s->length_ns[2] = HL_HOUR_NS;
	s->n_levels = (uint64_t)span < HL_HOUR_NS ? DAY_LEVELS : 1;
	return code;
}

int day_sums_init(struct day_sums *s, struct hl_db *db, struct hl_ids *ids, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		const char *sql;
	} queries[] = {
		{ &s->lacking, lacking },
		{ &s->totals, totals },
		{ &s->rows, rows },
		{ &s->wrong, "SELECT id FROM windows WHERE level = ? AND source = ? AND start = ?" },
		{ &s->drop_samples, "DELETE FROM samples WHERE window = ?" },
		{ &s->drop_window, "DELETE FROM windows WHERE id = ?" },
	};
	int code;

	*s = (struct day_sums){ 0 };
	code = day_nameless_init(&s->nameless, db, ids, err);
	if (!code)
		code = choose_levels(s, db, err);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(db, queries[i].sql, queries[i].query, err);
	return code;
}

void day_sums_done(struct day_sums *s)
{
	hl_query_free(s->lacking);
	hl_query_free(s->totals);
	hl_query_free(s->rows);
	hl_query_free(s->wrong);
	hl_query_free(s->drop_samples);
	hl_query_free(s->drop_window);
	day_nameless_done(&s->nameless);
}

static int add_rows(struct day_sums *s, struct row_sums *sums, struct hl_err *err)
{
	uint32_t thread;
	int code;

	while ((code = hl_query_step(s->rows, err)) == 1) {
		code = day_nameless_thread(&s->nameless, (uint32_t)hl_query_int(s->rows, 0), &thread, err);
		if (code)
			return code;
		if (row_sums_add(sums, thread, (uint32_t)hl_query_int(s->rows, 1),
				 (uint64_t)hl_query_int(s->rows, 2), (uint64_t)hl_query_int(s->rows, 3)))
			return hl_err_set(err, -ENOMEM, "no memory to sum windows up");
	}
	return code;
}

static void take_totals(const struct hl_query *q, struct stored_window *w)
{
	w->samples = (uint64_t)hl_query_int(q, 0);
	w->weight = (uint64_t)hl_query_int(q, 1);
	w->period = (uint64_t)hl_query_int(q, 2);
	w->expected = (uint64_t)hl_query_int(q, 3);
	w->seen = (uint64_t)hl_query_int(q, 4);
	w->idle = (uint64_t)hl_query_int(q, 5);
	w->filtered = (uint64_t)hl_query_int(q, 6);
	w->busy = hl_query_value(q, 7);
	w->programs = hl_query_value(q, 8);
	w->process = hl_query_value(q, 9);
}

/* Writes the sum @w, of which level, source, start and number are given. */
static int write_sum(struct day_sums *s, struct day_put *put, struct stored_window *w, struct row_sums *sums,
		     struct hl_err *err)
{
	const struct hl_value range[] = { hl_int(w->level - 1), hl_int(w->source), hl_int(w->start_ns),
					  hl_int(w->start_ns + s->length_ns[w->level]) };
	int code;

	row_sums_clear(sums);
	hl_query_bind(s->totals, 1, range, 4);
	code = hl_query_step(s->totals, err);
	if (code < 0)
		return code;
	take_totals(s->totals, w);
	hl_query_reset(s->totals);
	hl_query_bind(s->rows, 1, range, 4);
	code = add_rows(s, sums, err);
	hl_query_reset(s->rows);
	if (code)
		return code;
	w->length_ns = s->length_ns[w->level];
	w->n_rows = stored_rows_sum(sums->rows, sums->n);
	w->rows = sums->rows;
	return day_put_window(put, w, err);
}

/* All of one level. Rows are inserted into what is listed: the level above is, which changes nothing in it. */
static int write_level(struct day_sums *s, struct day_put *put, int level, uint64_t until_ns,
		       int64_t *last_window, struct hl_err *err)
{
	struct row_sums sums = { 0 };
	int code;

	hl_query_give(s->lacking, hl_int(level), hl_int(s->length_ns[level]), hl_int(s->done_ns[level]),
		      hl_int(until_ns));
	while ((code = hl_query_step(s->lacking, err)) == 1) {
		struct stored_window w = { .id = *last_window + 1,
					   .level = level,
					   .source = (uint32_t)hl_query_int(s->lacking, 0),
					   .start_ns = (uint64_t)hl_query_int(s->lacking, 1) };

		code = write_sum(s, put, &w, &sums, err);
		if (code)
			break;
		(*last_window)++;
	}
	hl_query_reset(s->lacking);
	row_sums_done(&sums);
	return code;
}

int day_sums_write(struct day_sums *s, struct day_put *put, uint64_t now_ns, int64_t *last_window,
		   struct hl_err *err)
{
	int code = 0;

	for (int level = 1; level < s->n_levels && !code; level++) {
		uint64_t until_ns = now_ns / s->length_ns[level] * s->length_ns[level];

		if (until_ns <= s->done_ns[level])
			continue;
		code = write_level(s, put, level, until_ns, last_window, err);
		if (!code)
			s->done_ns[level] = until_ns;
	}
	return code;
}

int day_sums_drop(struct day_sums *s, uint32_t source, uint64_t start_ns, struct hl_err *err)
{
	int code = 0;

	for (int level = 1; level < s->n_levels && !code; level++) {
		uint64_t start = start_ns / s->length_ns[level] * s->length_ns[level];

		if (s->done_ns[level] > start)
			s->done_ns[level] = start;
		hl_query_give(s->wrong, hl_int(level), hl_int(source), hl_int(start));
		code = hl_query_step(s->wrong, err);
		if (code != 1)
			continue;
		hl_query_give(s->drop_samples, hl_int(hl_query_int(s->wrong, 0)));
		hl_query_give(s->drop_window, hl_int(hl_query_int(s->wrong, 0)));
		hl_query_reset(s->wrong);
		code = hl_query_run(s->drop_samples, err);
		if (!code)
			code = hl_query_run(s->drop_window, err);
	}
	return code;
}
