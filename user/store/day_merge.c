// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/day_bodies.h"
#include "store/day_copy.h"
#include "store/day_nameless.h"
#include "store/day_put.h"
#include "store/day_reader.h"
#include "store/day_sums.h"
#include "store/days.h"
#include "store/ids.h"
#include "store/row_sums.h"

/* Windows follow each other without a gap; clocks are corrected by less than this at a time. */
#define TOLERANCE_NS UINT64_C(1000000000)

enum { MAX_REMARKS = 1 << 16 };

struct merge {
	struct day_reader *from;
	struct hl_db *to;
	uint64_t span_ns;            /* 0: windows stay as they are */
	uint64_t since_ns, until_ns; /* of gaps */
	struct hl_ids *ids;
	struct day_copy *copy;
	struct day_put put;
	struct day_nameless nameless;
	struct day_bodies bodies;
	struct day_sums sums;
	struct hl_query *samples, *losses, *notes, *present, *overlapping, *same_gap;
	/* Of one window of @to. */
	struct row_sums rows;
	struct stored_loss *loss;
	uint32_t *note;
	size_t n_loss, cap_loss, n_note, cap_note;
	/* Of @to before anything was added: its last window, and the length of its longest. */
	int64_t first_window, longest_ns;
	/* So far. */
	int64_t last_window;
	uint64_t n_samples, weight;
	struct day_merged merged;
};

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory to rewrite a day");
}

/* ---- one window of the old day --------------------------------------------------------------------------- */

static int take_samples(struct merge *m, const struct day_window *w, struct hl_err *err)
{
	uint64_t checksum = 0, samples = 0, count, weight;
	uint32_t thread, node, to_thread, to_node;
	int code;

	hl_query_give(m->samples, hl_int(w->id));
	while ((code = hl_query_step(m->samples, err)) == 1) {
		struct hl_value told = hl_query_value(m->samples, 3);

		thread = (uint32_t)hl_query_int(m->samples, 0);
		node = (uint32_t)hl_query_int(m->samples, 1);
		count = (uint64_t)hl_query_int(m->samples, 2);
		weight = told.type == HL_VALUE_INT ? (uint64_t)told.number : count * w->period;
		checksum += hl_sample_checksum(thread, node, count, weight);
		samples += count;
		code = day_copy_thread(m->copy, thread, &to_thread, err);
		if (!code && m->span_ns >= HL_HOUR_NS)
			code = day_nameless_thread(&m->nameless, to_thread, &to_thread, err);
		if (!code)
			code = day_copy_node(m->copy, node, &to_node, err);
		if (!code && row_sums_add(&m->rows, to_thread, to_node, count, weight))
			code = no_memory(err);
		if (code)
			break;
	}
	hl_query_reset(m->samples);
	if (!code && (checksum != w->sum || samples != w->samples))
		code = hl_err_set(err, -EBADMSG, "its window %u has a damaged sample", w->id);
	return code;
}

static int add_loss(struct merge *m, uint32_t reason, uint64_t samples)
{
	for (size_t i = 0; i < m->n_loss; i++)
		if (m->loss[i].reason == reason) {
			m->loss[i].samples += samples;
			return 0;
		}
	if (hl_grow(&m->loss, &m->cap_loss, m->n_loss + 1, sizeof(*m->loss), MAX_REMARKS))
		return -ENOMEM;
	m->loss[m->n_loss++] = (struct stored_loss){ reason, samples };
	return 0;
}

static int add_note(struct merge *m, uint32_t note)
{
	for (size_t i = 0; i < m->n_note; i++)
		if (m->note[i] == note)
			return 0;
	if (hl_grow(&m->note, &m->cap_note, m->n_note + 1, sizeof(*m->note), MAX_REMARKS))
		return -ENOMEM;
	m->note[m->n_note++] = note;
	return 0;
}

static int take_remarks(struct merge *m, const struct day_window *w, struct hl_err *err)
{
	uint32_t number;
	int code;

	hl_query_give(m->losses, hl_int(w->id));
	while ((code = hl_query_step(m->losses, err)) == 1) {
		code = hl_row_check(&m->from->room, HL_TABLE_LOSSES, m->losses, /* ret_key= */ NULL, err);
		if (!code)
			code = day_copy_reason(m->copy, (uint32_t)hl_query_int(m->losses, 1), &number, err);
		if (!code && add_loss(m, number, (uint64_t)hl_query_int(m->losses, 2)))
			code = no_memory(err);
		if (code)
			return code;
	}
	hl_query_give(m->notes, hl_int(w->id));
	while (!code && (code = hl_query_step(m->notes, err)) == 1) {
		code = hl_row_check(&m->from->room, HL_TABLE_WINDOW_NOTES, m->notes, /* ret_key= */ NULL,
				    err);
		if (!code)
			code = day_copy_note(m->copy, (uint32_t)hl_query_int(m->notes, 1), &number, err);
		if (!code && add_note(m, number))
			code = no_memory(err);
	}
	return code;
}

/* ---- windows of the new day ------------------------------------------------------------------------------ */

static void add_number(struct hl_value *sum, bool known, uint64_t more)
{
	if (known)
		*sum = hl_int((sum->type == HL_VALUE_INT ? sum->number : 0) + (int64_t)more);
}

static void add_window(struct stored_window *sum, const struct day_window *w)
{
	if (w->start_ns + w->length_ns > sum->start_ns + sum->length_ns)
		sum->length_ns = w->start_ns + w->length_ns - sum->start_ns;
	sum->period = sum->period == w->period ? w->period : 0;
	sum->samples += w->samples;
	sum->weight += w->weight;
	sum->expected += w->expected;
	sum->seen += w->seen;
	sum->idle += w->idle;
	sum->filtered += w->filtered;
	add_number(&sum->busy, true, w->busy_ns);
	add_number(&sum->programs, w->programs_known, w->programs_ns);
	add_number(&sum->process, w->process_known, w->process_ns);
}

/* How many windows from @w on, at most @n, become one. */
static size_t count_run(const struct merge *m, const struct day_window *w, size_t n)
{
	uint64_t end_ns = w->start_ns + w->length_ns;
	size_t i = 1;

	for (; i < n; i++) {
		uint64_t start_ns = w[i].start_ns;

		if (!m->span_ns || w[i].source != w->source ||
		    start_ns / m->span_ns != w->start_ns / m->span_ns || start_ns > end_ns + TOLERANCE_NS ||
		    start_ns + TOLERANCE_NS < end_ns)
			break;
		end_ns = start_ns + w[i].length_ns;
	}
	return i;
}

/* Whether a query of @to that was given its values has a row. 0, 1 or -errno. */
static int has_row(struct hl_query *query, struct hl_err *err)
{
	int code = hl_query_step(query, err);

	hl_query_reset(query);
	return code;
}

/*
 * Whether @to has the window already, or had other ones of the same host and event for its time, such as those that
 * it was summed from: counted, and left out. If not, the sums go that it makes wrong. 0, 1 or -errno.
 */
static int is_present(struct merge *m, const struct stored_window *w, struct hl_err *err)
{
	uint64_t end_ns = w->start_ns + w->length_ns;
	int code;

	/* The clock may have been set back: then two windows of one start are two. */
	if (m->span_ns)
		return 0;
	hl_query_give(m->present, hl_int(w->source), hl_int(w->start_ns), hl_int(w->length_ns),
		      hl_int(w->samples), hl_int(w->seen), hl_int(w->idle));
	code = has_row(m->present, err);
	if (code) {
		m->merged.present += code == 1;
		return code;
	}
	hl_query_give(m->overlapping, hl_int(w->source), hl_int(m->first_window),
		      hl_int((int64_t)w->start_ns - m->longest_ns), hl_int(w->start_ns), hl_int(end_ns),
		      hl_int(TOLERANCE_NS));
	code = has_row(m->overlapping, err);
	if (code) {
		m->merged.overlapping += code == 1;
		return code;
	}
	return day_sums_drop(&m->sums, w->source, w->start_ns, err);
}

/* Writes @n windows of the old day as one. */
static int write_run(struct merge *m, const struct day_window *w, size_t n, struct hl_err *err)
{
	struct stored_window sum = { .id = m->last_window + 1,
				     .start_ns = w->start_ns,
				     .period = w->period,
				     .busy = hl_null(),
				     .programs = hl_null(),
				     .process = hl_null() };
	int code = day_copy_source(m->copy, w->source + 1, &sum.source, err);

	for (size_t i = 0; i < n; i++)
		add_window(&sum, &w[i]);
	if (!code)
		code = is_present(m, &sum, err);
	if (code)
		return code < 0 ? code : 0;
	row_sums_clear(&m->rows);
	m->n_loss = m->n_note = 0;
	for (size_t i = 0; i < n && !code; i++) {
		code = take_samples(m, &w[i], err);
		if (!code)
			code = take_remarks(m, &w[i], err);
	}
	if (code)
		return code;
	sum.n_rows = stored_rows_sum(m->rows.rows, m->rows.n);
	sum.rows = m->rows.rows;
	sum.losses = m->loss;
	sum.n_losses = m->n_loss;
	sum.notes = m->note;
	sum.n_notes = m->n_note;
	m->last_window++;
	m->merged.windows++;
	m->merged.samples += sum.samples;
	m->n_samples += sum.samples;
	m->weight += sum.weight;
	return day_put_window(&m->put, &sum, err);
}

static int compare_windows(const void *a, const void *b)
{
	const struct day_window *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int write_windows(struct merge *m, struct hl_err *err)
{
	struct day_window *windows = m->from->windows;
	size_t n = m->from->n_windows;
	uint64_t samples = 0, weight = 0;
	int code = 0;

	if (n)
		qsort(windows, n, sizeof(*windows), compare_windows);
	for (size_t i = 0, run; i < n && !code; i += run) {
		run = count_run(m, &windows[i], n - i);
		code = write_run(m, &windows[i], run, err);
	}
	for (size_t i = 0; i < n; i++) {
		samples += windows[i].samples;
		weight += windows[i].weight;
	}
	if (!code && !m->merged.present && !m->merged.overlapping &&
	    (samples != m->n_samples || weight != m->weight))
		code = hl_err_set(err, -EBADMSG, "its windows do not add up");
	return code;
}

/* A gap that reaches into the range, unless it is there already. */
static int write_gap(struct merge *m, const struct hl_gap *gap, struct hl_err *err)
{
	int code;

	if (gap->start_ns >= m->until_ns || gap->end_ns <= m->since_ns)
		return 0;
	hl_query_give(m->same_gap, hl_int(gap->start_ns), hl_int(gap->end_ns - gap->start_ns),
		      hl_int(gap->samples), hl_text(gap->reason, strlen(gap->reason)));
	code = has_row(m->same_gap, err);
	return code == 1 ? 0 : code ? code : day_put_gap(&m->put, gap, err);
}

static int write_gaps(struct merge *m, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(m->from->db, "SELECT * FROM gaps ORDER BY start", &query, err);
	size_t len;

	while (!code && (code = hl_query_step(query, err)) == 1) {
		struct hl_gap gap = { .start_ns = (uint64_t)hl_query_int(query, 0),
				      .samples = (uint64_t)hl_query_int(query, 3) };

		code = hl_row_check(&m->from->room, HL_TABLE_GAPS, query, /* ret_key= */ NULL, err);
		if (code)
			break;
		gap.end_ns = gap.start_ns + (uint64_t)hl_query_int(query, 1);
		(void)snprintf(gap.reason, sizeof(gap.reason), "%s", hl_query_bytes(query, 2, &len));
		code = write_gap(m, &gap, err);
	}
	return code;
}

/* To what the windows of the new day are summed. */
static int write_span(struct merge *m, struct hl_err *err)
{
	char sql[80];

	(void)snprintf(sql, sizeof(sql), "INSERT INTO facts VALUES('span', %llu)",
		       (unsigned long long)m->span_ns);
	return m->span_ns ? hl_db_run(m->to, sql, err) : 0;
}

static int prepare(struct merge *m, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		struct hl_db *db;
		const char *sql;
	} queries[] = {
		{ &m->samples, m->from->db,
		  "SELECT thread, node, count, weight FROM samples WHERE window = ?" },
		{ &m->losses, m->from->db, "SELECT * FROM losses WHERE window = ?" },
		{ &m->notes, m->from->db, "SELECT * FROM window_notes WHERE window = ?" },
		{ &m->present, m->to,
		  "SELECT 1 FROM windows WHERE level = 0 AND source = ? AND start = ? AND"
		  " length = ? AND samples = ? AND seen = ? AND idle = ?" },
		/*
		 * Windows that begin a little early or late are others all the same: clocks are corrected. But
		 * those that are no longer than that have all of their time in what they became.
		 */
		{ &m->overlapping, m->to,
		  "SELECT 1 FROM windows w WHERE level = 0 AND source IN (SELECT s.id FROM sources s,"
		  " sources t WHERE t.id = ?1 AND s.host = t.host AND s.event = t.event) AND id <= ?2 AND"
		  " start >= ?3 AND start < ?5 AND min(start + length, ?5) - max(start, ?4) >"
		  " min(?6, length / 2, (?5 - ?4) / 2) LIMIT 1" },
		{ &m->same_gap, m->to,
		  "SELECT 1 FROM gaps WHERE start = ? AND length = ? AND samples = ? AND reason = ?" },
	};
	int code = hl_ids_new(m->to, &m->ids, err);

	if (code)
		return code;
	hl_ids_keep_stacks(m->ids);
	code = day_copy_new(m->from, m->ids, &m->copy, err);
	if (!code)
		code = day_put_init(&m->put, m->to, err);
	if (!code)
		code = day_nameless_init(&m->nameless, m->to, m->ids, err);
	if (!code)
		code = day_bodies_init(&m->bodies, m->to, err);
	if (!code)
		code = day_sums_init(&m->sums, m->to, m->ids, err);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(queries[i].db, queries[i].sql, queries[i].query, err);
	if (!code)
		code = hl_db_number(m->to, "SELECT max(length) FROM windows WHERE level = 0", &m->longest_ns,
				    err);
	if (!code)
		code = hl_db_number(m->to, "SELECT max(id) FROM windows", &m->last_window, err);
	m->first_window = m->last_window;
	return code;
}

static void done(struct merge *m)
{
	hl_query_free(m->samples);
	hl_query_free(m->losses);
	hl_query_free(m->notes);
	hl_query_free(m->present);
	hl_query_free(m->overlapping);
	hl_query_free(m->same_gap);
	day_sums_done(&m->sums);
	day_nameless_done(&m->nameless);
	day_bodies_done(&m->bodies);
	day_put_done(&m->put);
	day_copy_free(m->copy);
	hl_ids_free(m->ids);
	row_sums_done(&m->rows);
	free(m->loss);
	free(m->note);
}

static int run(struct merge *m, struct hl_err *err)
{
	int code = hl_db_run(m->to, "BEGIN IMMEDIATE", err);

	if (!code)
		code = write_span(m, err);
	if (!code)
		code = prepare(m, err);
	if (!code)
		code = write_windows(m, err);
	if (!code)
		code = day_bodies_copy(&m->bodies, m->from, m->copy, err);
	if (!code)
		code = write_gaps(m, err);
	if (!code)
		code = day_sums_write(&m->sums, &m->put, INT64_MAX, &m->last_window, err);
	if (!code)
		code = hl_db_run(m->to, "COMMIT", err);
	done(m);
	return code;
}

int day_merge(struct day_reader *from, struct hl_db *to, uint64_t span_ns, struct hl_err *err)
{
	struct merge m = { .from = from, .to = to, .span_ns = span_ns, .until_ns = UINT64_MAX };

	return run(&m, err);
}

int day_append(struct day_reader *from, uint64_t since_ns, uint64_t until_ns, struct hl_db *to,
	       struct day_merged *ret, struct hl_err *err)
{
	struct merge m = { .from = from, .to = to, .since_ns = since_ns, .until_ns = until_ns };
	int code = run(&m, err);

	*ret = m.merged;
	return code;
}
