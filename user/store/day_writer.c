// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/profile.h"
#include "store/batch_rows.h"
#include "store/db.h"
#include "store/ids.h"
#include "store/labels.h"
#include "store/schema.h"

struct day_writer {
	struct hl_db *db;
	struct hl_ids *ids;
	struct hl_query *window, *sample, *loss, *note, *gap, *sum_window, *sum_samples;
	int64_t last_window;
	uint64_t last_start_ns; /* of the last window; 0: none was written since the day was opened */
};

/* A row as it is stored. */
struct stored_row {
	uint32_t thread, node;
	uint64_t count, weight;
};

/* ---- opening ------------------------------------------------------------------------------------------- */

/*
 * Sums of all windows of level 0 of a source in a span of time. Where all have one period, what stands for it
 * stays NULL.
 */
static const char sum_window[] =
	"INSERT INTO windows SELECT ?1, ?2, source, ?3, ?4, sum(samples), sum(weight),"
	" CASE WHEN min(period) = max(period) THEN min(period) ELSE 0 END, sum(expected), sum(seen), "
	"sum(idle),"
	" sum(filtered), sum(busy), sum(programs), sum(process) FROM windows"
	" WHERE level = 0 AND start >= ?3 AND start < ?3 + ?4 AND source = ?5 GROUP BY source";
static const char sum_samples[] =
	"INSERT INTO samples SELECT ?1, x.thread, x.node, sum(x.count),"
	" CASE WHEN count(x.weight) = 0 AND min(w.period) = max(w.period) AND min(w.period) ="
	"  (SELECT period FROM windows WHERE id = ?1)"
	" THEN NULL ELSE sum(coalesce(x.weight, x.count * w.period)) END"
	" FROM windows w JOIN samples x ON x.window = w.id"
	" WHERE w.level = 0 AND w.start >= ?3 AND w.start < ?3 + ?4 AND w.source = ?5"
	" GROUP BY x.thread, x.node";

static int prepare_queries(struct day_writer *day, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		const char *sql;
	} queries[] = {
		{ &day->window, "INSERT INTO windows VALUES(?, 0, ?,?,?, ?,?,?,?, ?,?,?,?,?,?)" },
		{ &day->sample, "INSERT INTO samples VALUES(?,?,?,?,?)" },
		{ &day->loss, "INSERT INTO losses VALUES(?,?,?)" },
		{ &day->note, "INSERT OR IGNORE INTO window_notes VALUES(?,?)" },
		{ &day->gap, "INSERT INTO gaps VALUES(?,?,?,?)" },
		{ &day->sum_window, sum_window },
		{ &day->sum_samples, sum_samples },
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(day->db, queries[i].sql, queries[i].query, err);
	return code;
}

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
		code = prepare_queries(day, err);
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
	hl_query_free(day->window);
	hl_query_free(day->sample);
	hl_query_free(day->loss);
	hl_query_free(day->note);
	hl_query_free(day->gap);
	hl_query_free(day->sum_window);
	hl_query_free(day->sum_samples);
	hl_ids_free(day->ids);
	/* Fails while a reader is at it; then it stays as it is, which is as good for all who may write. */
	if (whole)
		(void)hl_db_run(day->db, "PRAGMA busy_timeout = 100; PRAGMA journal_mode = DELETE", NULL);
	hl_db_close(day->db);
	free(day);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static int intern_text(struct day_writer *day, enum hl_table table, const char *text, size_t len,
		       uint32_t *ret, struct hl_err *err)
{
	const struct hl_value value = hl_text(text, len);

	return hl_ids_row(day->ids, table, &value, 1, ret, err);
}

#define hl_string(text) hl_text((text) ? (text) : "", (text) ? strlen(text) : 0)

static int intern_source(struct day_writer *day, const struct hl_profile_meta *m, uint32_t *ret,
			 struct hl_err *err)
{
	const struct hl_value values[] = {
		hl_string(m->host),     hl_string(m->kernel), hl_string(m->version),
		hl_string(m->decoders), hl_string(m->event),  hl_string(m->unit),
		hl_int(m->precise),     hl_int(m->frequency), hl_int(m->cpus),
	};

	return hl_ids_row(day->ids, HL_TABLE_SOURCES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

/* A text that may be unknown. */
static struct hl_value known(const char *text)
{
	return text ? hl_text(text, strlen(text)) : hl_null();
}

static int intern_container(struct day_writer *day, const struct hl_owner_container *c, uint32_t *ret,
			    struct hl_err *err)
{
	_cleanup_str_ struct hl_str labels = { 0 };

	hl_labels_encode(c->labels, c->n_labels, &labels);
	if (hl_str_status(&labels))
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	const struct hl_value values[] = {
		known(c->runtime), known(c->id),        known(c->name),     known(c->image),
		known(c->pod),     known(c->namespace), known(c->workload), hl_text(labels.data, labels.len),
	};
	return hl_ids_row(day->ids, HL_TABLE_CONTAINERS, values, sizeof(values) / sizeof(values[0]), ret,
			  err);
}

static int intern_cgroup(struct day_writer *day, const struct hl_owner_cgroup *g, uint32_t *ret,
			 struct hl_err *err)
{
	uint32_t container = 0;
	int code = g->container ? intern_container(day, g->container, &container, err) : 0;
	const struct hl_value values[] = { hl_string(g->path), known(g->unit), hl_int(container) };

	if (code)
		return code;
	return hl_ids_row(day->ids, HL_TABLE_CGROUPS, values, sizeof(values) / sizeof(values[0]), ret, err);
}

static int intern_owner(struct day_writer *day, const struct hl_owner *o, uint32_t *ret, struct hl_err *err)
{
	struct hl_value thread[] = { hl_null(), hl_string(o->thread) };
	uint32_t id, cgroup = 0, service = 0, exe = 0;
	int code = o->cgroup ? intern_cgroup(day, o->cgroup, &cgroup, err) : 0;

	if (!code && o->service)
		code = intern_text(day, HL_TABLE_SERVICES, o->service, strlen(o->service), &service, err);
	if (!code && o->exe)
		code = intern_text(day, HL_TABLE_MODULES, o->exe, strlen(o->exe), &exe, err);
	if (code)
		return code;
	const struct hl_value process[] = { hl_int(o->kind),       hl_int(o->pid),
					    hl_int(o->exec_id),    hl_int(o->started_ns),
					    hl_string(o->process), hl_int(cgroup),
					    hl_int(service),       hl_int(exe) };

	code = hl_ids_row(day->ids, HL_TABLE_PROCESSES, process, sizeof(process) / sizeof(process[0]), &id,
			  err);
	if (code)
		return code;
	thread[0] = hl_int(id);
	return hl_ids_row(day->ids, HL_TABLE_THREADS, thread, sizeof(thread) / sizeof(thread[0]), ret, err);
}

static int intern_binary(struct day_writer *day, const struct hl_batch *batch, struct hl_id id, uint32_t *ret,
			 struct hl_err *err)
{
	const struct hl_binary *binary = hl_profile_binary(batch->profile, id);
	struct hl_value values[] = { hl_blob(&id, sizeof(id)), hl_blob("", 0), hl_blob("", 0) };

	if (!(id.lo | id.hi)) {
		*ret = 0;
		return 0;
	}
	if (binary) {
		values[1] = hl_blob(binary->build_id, binary->build_id_len);
		values[2] = hl_blob(binary->segments, binary->n_segments * sizeof(*binary->segments));
	}
	return hl_ids_row(day->ids, HL_TABLE_BINARIES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

static int intern_frame(struct day_writer *day, const struct hl_batch *batch, uint32_t index, uint32_t *ret,
			struct hl_err *err)
{
	const struct hl_frame *f = hl_profile_get_frame(batch->profile, index);
	struct hl_id hash = hl_profile_frame_id(batch->profile, index);
	uint32_t module = 0, binary = 0;
	int code = intern_text(day, HL_TABLE_MODULES, f->module, f->module_len, &module, err);

	if (!code)
		code = intern_binary(day, batch, f->binary, &binary, err);
	if (code)
		return code;
	const struct hl_value values[] = {
		hl_blob(&hash, sizeof(hash)),
		hl_int(f->kind),
		hl_int(f->insn_class),
		hl_int(f->kernel),
		hl_int(binary),
		hl_int(module),
		hl_int(f->address),
		hl_int(f->offset),
		hl_text(f->name, f->name_len),
	};
	return hl_ids_row(day->ids, HL_TABLE_FRAMES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

/* The day's numbers of all stacks of @batch, in an array by the batch's. Allocated. */
static int intern_nodes(struct day_writer *day, const struct hl_batch *batch, uint32_t **ret,
			struct hl_err *err)
{
	uint32_t n_frames = hl_profile_n_frames(batch->profile), last = 0, parent, frame;
	_cleanup_free_ uint32_t *frames = calloc(n_frames, sizeof(*frames)), *nodes = NULL;
	int code = 0;

	for (size_t i = 0; i < batch->n_rows; i++)
		if (batch->rows[i].node > last)
			last = batch->rows[i].node;
	nodes = calloc((size_t)last + 1, sizeof(*nodes));
	if (!frames || !nodes)
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	for (uint32_t node = 1; node <= last && !code; node++) {
		frame = hl_profile_stack_frame(batch->profile, node, &parent);
		if (!frames[frame])
			code = intern_frame(day, batch, frame, &frames[frame], err);
		if (!code)
			code = hl_ids_node(day->ids, nodes[parent], frames[frame], &nodes[node], err);
	}
	*ret = TAKE_PTR(nodes);
	return code;
}

static int compare_rows(const void *a, const void *b)
{
	const struct stored_row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* The rows of @batch in the order in which they are stored. Allocated. */
static int sort_rows(struct day_writer *day, const struct hl_batch *batch, const uint32_t *nodes,
		     struct stored_row **ret, struct hl_err *err)
{
	_cleanup_free_ uint32_t *threads = calloc(batch->n_owners + 1, sizeof(*threads));
	_cleanup_free_ struct stored_row *rows = calloc(batch->n_rows + 1, sizeof(*rows));
	int code = 0;

	if (!threads || !rows || !nodes)
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	for (size_t i = 0; i < batch->n_owners && !code; i++)
		code = intern_owner(day, &batch->owners[i], &threads[i], err);
	if (code)
		return code;
	for (size_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		rows[i] =
			(struct stored_row){ threads[row->owner], nodes[row->node], row->count, row->weight };
	}
	qsort(rows, batch->n_rows, sizeof(*rows), compare_rows);
	*ret = TAKE_PTR(rows);
	return 0;
}

static int write_samples(struct day_writer *day, int64_t window, uint64_t period,
			 const struct hl_batch *batch, struct hl_err *err)
{
	_cleanup_free_ uint32_t *nodes = NULL;
	_cleanup_free_ struct stored_row *rows = NULL;
	int code = intern_nodes(day, batch, &nodes, err);

	if (!code)
		code = sort_rows(day, batch, nodes, &rows, err);
	for (size_t i = 0; rows && i < batch->n_rows && !code; i++) {
		const struct stored_row *row = &rows[i];

		hl_query_give(day->sample, hl_int(window), hl_int(row->thread), hl_int(row->node),
			      hl_int(row->count),
			      row->weight == row->count * period ? hl_null() : hl_int(row->weight));
		code = hl_query_run(day->sample, err);
	}
	return code;
}

static struct hl_value cpu_time(double cpus, uint64_t length_ns)
{
	return cpus < 0 ? hl_null() : hl_int(cpus * (double)length_ns);
}

static int write_window(struct day_writer *day, int64_t window, uint64_t period,
			const struct hl_profile_meta *m, const struct hl_batch *batch, struct hl_err *err)
{
	uint64_t length = m->end_ns - m->start_ns;
	uint32_t source;
	int code = intern_source(day, m, &source, err);

	if (code)
		return code;
	hl_query_give(day->window, hl_int(window), hl_int(source), hl_int(m->start_ns), hl_int(length),
		      hl_int(batch->samples), hl_int(batch->weight), hl_int(period), hl_int(m->expected),
		      hl_int(m->seen), hl_int(m->idle), hl_int(m->filtered), cpu_time(m->busy_cpus, length),
		      cpu_time(m->cost_programs, length), cpu_time(m->cost_process, length));
	return hl_query_run(day->window, err);
}

/* What the window says of itself: losses and notes. */
static int write_remarks(struct day_writer *day, int64_t window, const struct hl_profile_meta *m,
			 struct hl_err *err)
{
	uint32_t id;
	int code = 0;

	for (size_t i = 0; i < m->n_losses && !code; i++) {
		const struct hl_loss *loss = &m->losses[i];
		const struct hl_value values[] = { hl_int(loss->kind), hl_string(loss->name),
						   hl_string(loss->help) };

		code = hl_ids_row(day->ids, HL_TABLE_REASONS, values, sizeof(values) / sizeof(values[0]), &id,
				  err);
		if (code)
			return code;
		hl_query_give(day->loss, hl_int(window), hl_int(id), hl_int(loss->count));
		code = hl_query_run(day->loss, err);
	}
	for (size_t i = 0; i < m->n_notes && !code; i++) {
		code = intern_text(day, HL_TABLE_NOTES, m->notes[i], strlen(m->notes[i]), &id, err);
		if (code)
			return code;
		hl_query_give(day->note, hl_int(window), hl_int(id));
		code = hl_query_run(day->note, err);
	}
	return code;
}

static int write_gaps(struct day_writer *day, const struct hl_gap *gaps, size_t n, struct hl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		hl_query_give(day->gap, hl_int(gaps[i].start_ns), hl_int(gaps[i].end_ns - gaps[i].start_ns),
			      hl_string(gaps[i].reason), hl_int(gaps[i].samples));
		code = hl_query_run(day->gap, err);
	}
	return code;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Writes the sum of one source over @length_ns from @start_ns on, as a window of @level. */
static int write_sum(struct day_writer *day, int level, uint64_t start_ns, uint64_t length_ns, int64_t source,
		     struct hl_err *err)
{
	const struct hl_value values[] = { hl_int(day->last_window + 1), hl_int(level), hl_int(start_ns),
					   hl_int(length_ns), hl_int(source) };
	int code;

	hl_query_bind(day->sum_window, 1, values, 5);
	code = hl_query_run(day->sum_window, err);
	if (code)
		return code;
	hl_query_bind(day->sum_samples, 1, values, 5);
	code = hl_query_run(day->sum_samples, err);
	day->last_window++;
	return code;
}

/* Sums of each source that has windows there. */
static int write_sums(struct day_writer *day, int level, uint64_t start_ns, uint64_t length_ns,
		      struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *sources = NULL;
	int code =
		hl_query_new(day->db,
			     "SELECT DISTINCT source FROM windows AS w WHERE level = 0 AND start >= ?1 AND"
			     " start < ?2 AND NOT EXISTS (SELECT 1 FROM windows AS s WHERE s.level = ?3 AND"
			     " s.start = ?1 AND s.source = w.source)",
			     &sources, err);

	if (!code)
		hl_query_give(sources, hl_int(start_ns), hl_int(start_ns + length_ns), hl_int(level));
	while (!code && (code = hl_query_step(sources, err)) == 1)
		code = write_sum(day, level, start_ns, length_ns, hl_query_int(sources, 0), err);
	return code;
}

/* The minute and the hour that ended before a window that starts at @now_ns. */
static int write_ended(struct day_writer *day, uint64_t now_ns, struct hl_err *err)
{
	static const uint64_t lengths_ns[] = { UINT64_C(60000000000), UINT64_C(3600000000000) };
	int code = 0;

	for (int i = 0; i < 2 && day->last_start_ns && !code; i++) {
		uint64_t start_ns = day->last_start_ns / lengths_ns[i] * lengths_ns[i];

		if (now_ns >= start_ns + lengths_ns[i])
			code = write_sums(day, i + 1, start_ns, lengths_ns[i], err);
	}
	return code;
}

int day_writer_write(struct day_writer *day, const struct hl_profile_meta *meta, const struct hl_batch *batch,
		     const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err)
{
	/* Of most events each sample stands for the same. */
	uint64_t period = batch->samples ? batch->weight / batch->samples : 0;
	int64_t window = 0;
	int code = hl_db_run(day->db, "BEGIN IMMEDIATE", err);

	if (!code)
		code = write_ended(day, meta->start_ns, err);
	window = day->last_window + 1;
	if (!code)
		code = write_window(day, window, period, meta, batch, err);
	if (!code)
		code = write_samples(day, window, period, batch, err);
	if (!code)
		code = write_remarks(day, window, meta, err);
	if (!code)
		code = write_gaps(day, gaps, n_gaps, err);
	if (!code)
		code = hl_db_run(day->db, "COMMIT", err);
	if (!code) {
		day->last_window = window;
		day->last_start_ns = meta->start_ns;
	}
	return code;
}

int day_writer_gaps(struct day_writer *day, const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err)
{
	int code = hl_db_run(day->db, "BEGIN IMMEDIATE", err);

	if (!code)
		code = write_gaps(day, gaps, n_gaps, err);
	return code ? code : hl_db_run(day->db, "COMMIT", err);
}

int day_writer_finish(struct day_writer *day, struct hl_err *err)
{
	int code = hl_db_run(day->db, "BEGIN IMMEDIATE", err);

	if (!code)
		code = write_ended(day, UINT64_MAX, err);
	return code ? code : hl_db_run(day->db, "COMMIT", err);
}
