// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "store/batch_rows.h"
#include "store/day_bodies.h"
#include "store/day_intern.h"
#include "store/day_put.h"
#include "store/day_sums.h"
#include "store/db.h"
#include "store/ids.h"
#include "store/schema.h"

struct day_writer {
	struct hl_db *db;
	struct hl_ids *ids;
	struct day_put put;
	struct day_sums sums;
	struct day_bodies bodies;
	int64_t last_window;
};

/* ---- opening ------------------------------------------------------------------------------------------- */

static int open_day(struct day_writer *day, const char *path, struct hl_err *err)
{
	int code = hl_db_open(path, HL_DB_WRITE, &day->db, err);

	if (!code)
		code = hl_schema_prepare(day->db, err);
	if (!code)
		code = hl_db_check(day->db, /* all= */ false, err);
	/*
	 * Without fsync at each window a power cut may cost the last of them, a kill costs none. WAL also for a
	 * day that was closed as whole before: the clock was set back, or the agent started anew.
	 */
	if (!code)
		code = hl_db_run(day->db,
				 "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
				 "PRAGMA journal_size_limit = 4194304; PRAGMA cache_size = -1024; PRAGMA "
				 "temp_store = MEMORY",
				 err);
	if (!code)
		code = hl_ids_new(day->db, &day->ids, err);
	if (!code)
		code = day_put_init(&day->put, day->db, err);
	if (!code)
		code = day_sums_init(&day->sums, day->db, day->ids, err);
	if (!code)
		code = day_bodies_init(&day->bodies, day->db, err);
	return code ? code : hl_db_number(day->db, "SELECT max(id) FROM windows", &day->last_window, err);
}

int day_writer_open(const char *path, struct day_writer **ret, struct hl_err *err)
{
	struct day_writer *day = calloc(1, sizeof(*day));
	int code;

	if (!day)
		return hl_err_set(err, -ENOMEM, "no memory to open '%s'", path);
	code = open_day(day, path, err);
	if (code) {
		day_writer_close(day, /* whole= */ false);
		return code;
	}
	*ret = day;
	return 0;
}

void day_writer_close(struct day_writer *day, bool whole)
{
	if (!day)
		return;
	day_put_done(&day->put);
	day_sums_done(&day->sums);
	day_bodies_done(&day->bodies);
	hl_ids_free(day->ids);
	/* Fails while a reader is at it; then it stays as it is, which is as good for all who may write. */
	if (whole)
		(void)hl_db_run(day->db, "PRAGMA busy_timeout = 100; PRAGMA journal_mode = DELETE", NULL);
	hl_db_close(day->db);
	free(day);
}

/* ---- one window ---------------------------------------------------------------------------------------- */

static struct hl_value cpu_time(double cpus, uint64_t length_ns)
{
	return cpus < 0 ? hl_null() : hl_int(cpus * (double)length_ns);
}

static int put_window(struct day_writer *day, const struct hl_profile_meta *m, const struct hl_batch *batch,
		      const struct stored_window *base, struct hl_err *err)
{
	_cleanup_free_ struct stored_loss *losses = calloc(m->n_losses + 1, sizeof(*losses));
	_cleanup_free_ uint32_t *notes = calloc(m->n_notes + 1, sizeof(*notes));
	_cleanup_free_ struct stored_row *rows = NULL;
	struct stored_window window = *base;
	int code;

	if (!losses || !notes)
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	code = day_intern_rows(day->ids, batch, &rows, &window.n_rows, err);
	for (size_t i = 0; i < m->n_losses && !code; i++) {
		losses[i].samples = m->losses[i].count;
		code = day_intern_loss(day->ids, &m->losses[i], &losses[i].reason, err);
	}
	for (size_t i = 0; i < m->n_notes && !code; i++)
		code = day_intern_note(day->ids, m->notes[i], &notes[i], err);
	if (code)
		return code;
	window.rows = rows;
	window.losses = losses;
	window.n_losses = m->n_losses;
	window.notes = notes;
	window.n_notes = m->n_notes;
	return day_put_window(&day->put, &window, err);
}

static int write_window(struct day_writer *day, const struct hl_profile_meta *m, const struct hl_batch *batch,
			struct hl_err *err)
{
	uint64_t length = m->end_ns - m->start_ns, samples = hl_batch_samples(batch);
	struct stored_window window = {
		.id = day->last_window + 1,
		.start_ns = m->start_ns,
		.length_ns = length,
		.samples = samples,
		.weight = hl_batch_weight(batch),
		.expected = m->expected,
		.seen = m->seen,
		.idle = m->idle,
		.filtered = m->filtered,
		.busy = hl_int(m->busy_cpus * (double)length),
		.programs = cpu_time(m->cost_programs, length),
		.process = cpu_time(m->cost_process, length),
	};
	int code = day_intern_source(day->ids, m, &window.source, err);

	/* Of most events each sample stands for the same. */
	window.period = samples ? window.weight / samples : 0;
	if (!code)
		code = day_sums_drop(&day->sums, window.source, m->start_ns, err);
	if (!code)
		code = put_window(day, m, batch, &window, err);
	if (!code)
		day->last_window = window.id;
	return code;
}

static int write_bodies(struct day_writer *day, const struct hl_batch *batch, uint64_t limit,
			struct hl_err *err)
{
	uint32_t frame;
	int code = 0;

	for (size_t i = 0; i < batch->n_bodies && !code; i++) {
		code = day_intern_frame(day->ids, batch, batch->bodies[i].frame, &frame, err);
		if (!code)
			code = day_bodies_put(&day->bodies, frame, &batch->bodies[i].body, limit, err);
	}
	return code;
}

static int write_gaps(struct day_writer *day, const struct hl_gap *gaps, size_t n, struct hl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < n && !code; i++)
		code = day_put_gap(&day->put, &gaps[i], err);
	return code;
}

/* Nobody may replace the file from here to the end of the transaction: see rewrite.h. */
static int begin(struct day_writer *day, struct hl_err *err)
{
	int code = hl_db_run(day->db, "BEGIN IMMEDIATE", err);

	if (!code && hl_db_has_moved(day->db))
		code = hl_err_set(err, -ESTALE, "the day was replaced");
	return code;
}

static int commit(struct day_writer *day, struct hl_err *err)
{
	hl_db_rest(day->db);
	return hl_db_run(day->db, "COMMIT", err);
}

int day_writer_write(struct day_writer *day, const struct hl_profile_meta *meta, const struct hl_batch *batch,
		     uint64_t code_bytes, const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err)
{
	int code = begin(day, err);

	if (!code)
		code = day_sums_write(&day->sums, &day->put, meta->start_ns, &day->last_window, err);
	if (!code)
		code = write_window(day, meta, batch, err);
	if (!code)
		code = write_bodies(day, batch, code_bytes, err);
	if (!code)
		code = write_gaps(day, gaps, n_gaps, err);
	return code ? code : commit(day, err);
}

int day_writer_gaps(struct day_writer *day, const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err)
{
	int code = begin(day, err);

	if (!code)
		code = write_gaps(day, gaps, n_gaps, err);
	return code ? code : commit(day, err);
}

int day_writer_finish(struct day_writer *day, struct hl_err *err)
{
	int code = begin(day, err);

	if (!code)
		code = day_sums_write(&day->sums, &day->put, INT64_MAX, &day->last_window, err);
	return code ? code : commit(day, err);
}
