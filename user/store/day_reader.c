// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/schema.h"

/* A day has 86,400 seconds, and may be told by many settings. */
enum { MAX_WINDOWS = 1 << 20, MAX_SOURCES = 1 << 16 };

static char *copy_column(const struct hl_query *query, int column)
{
	size_t len;
	const char *text = hl_query_bytes(query, column, &len);

	return strndup(text, len);
}

static void source_done(struct day_source *s)
{
	free(s->host);
	free(s->kernel);
	free(s->version);
	free(s->decoders);
	free(s->event);
	free(s->unit);
}

void day_reader_done(struct day_reader *day)
{
	for (size_t i = 0; i < day->n_sources; i++)
		source_done(&day->sources[i]);
	free(day->sources);
	free(day->windows);
	hl_str_done(&day->room);
	hl_rows_free(day->rows);
	hl_db_close(day->db);
	*day = (struct day_reader){ 0 };
}

static struct hl_id identify(const struct day_source *s)
{
	const char *const texts[] = { s->host, s->kernel, s->version, s->decoders, s->event, s->unit };
	struct {
		struct hl_id texts[sizeof(texts) / sizeof(texts[0])];
		uint64_t precise, frequency, cpus;
	} whole = { .precise = s->precise, .frequency = s->frequency, .cpus = s->cpus };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		whole.texts[i] = hl_id_of(texts[i], strlen(texts[i]));
	return hl_id_of(&whole, sizeof(whole));
}

static int read_source(struct day_reader *day, const struct hl_query *query, struct hl_err *err)
{
	struct day_source *s;
	int code = hl_row_check(&day->room, HL_TABLE_SOURCES, query, /* ret_key= */ NULL, err);

	if (code)
		return code;
	if (hl_query_int(query, 0) != (int64_t)day->n_sources + 1)
		return hl_err_set(err, -EBADMSG, "its sources are not numbered in order");
	if (hl_grow(&day->sources, &day->cap_sources, day->n_sources + 1, sizeof(*day->sources), MAX_SOURCES))
		return hl_err_set(err, -ENOMEM, "no memory for the sources of a day");
	s = &day->sources[day->n_sources++];
	*s = (struct day_source){
		.host = copy_column(query, 1),
		.kernel = copy_column(query, 2),
		.version = copy_column(query, 3),
		.decoders = copy_column(query, 4),
		.event = copy_column(query, 5),
		.unit = copy_column(query, 6),
		.precise = hl_query_int(query, 7) != 0,
		.frequency = (uint32_t)hl_query_int(query, 8),
		.cpus = (uint32_t)hl_query_int(query, 9),
	};
	if (!s->host || !s->kernel || !s->version || !s->decoders || !s->event || !s->unit)
		return hl_err_set(err, -ENOMEM, "no memory for the sources of a day");
	s->identity = identify(s);
	return 0;
}

int day_reader_window_of(struct day_reader *day, const struct hl_query *q, struct day_window *ret,
			 struct hl_err *err)
{
	uint64_t id = (uint64_t)hl_query_int(q, 0), source = (uint64_t)hl_query_int(q, 2);
	int code = hl_row_check(&day->room, HL_TABLE_WINDOWS, q, /* ret_key= */ NULL, err);

	if (code)
		return code;
	if (source < 1 || source > day->n_sources || id < 1 || id > UINT32_MAX || hl_query_int(q, 4) < 0)
		return hl_err_set(err, -EBADMSG, "its window %lld is damaged", (long long)id);
	*ret = (struct day_window){
		.id = (uint32_t)id,
		.source = (uint32_t)source - 1,
		.start_ns = (uint64_t)hl_query_int(q, 3),
		.length_ns = (uint64_t)hl_query_int(q, 4),
		.samples = (uint64_t)hl_query_int(q, 5),
		.weight = (uint64_t)hl_query_int(q, 6),
		.period = (uint64_t)hl_query_int(q, 7),
		.expected = (uint64_t)hl_query_int(q, 8),
		.seen = (uint64_t)hl_query_int(q, 9),
		.idle = (uint64_t)hl_query_int(q, 10),
		.filtered = (uint64_t)hl_query_int(q, 11),
		.busy_ns = (uint64_t)hl_query_int(q, 12),
		.programs_ns = (uint64_t)hl_query_int(q, 13),
		.process_ns = (uint64_t)hl_query_int(q, 14),
		.programs_known = hl_query_value(q, 13).type == HL_VALUE_INT,
		.process_known = hl_query_value(q, 14).type == HL_VALUE_INT,
		.sum = (uint64_t)hl_query_int(q, 15),
	};
	return 0;
}

static int read_window(struct day_reader *day, const struct hl_query *q, struct hl_err *err)
{
	struct day_window window;
	int code = day_reader_window_of(day, q, &window, err);

	if (code)
		return code;
	if (hl_grow(&day->windows, &day->cap_windows, day->n_windows + 1, sizeof(*day->windows), MAX_WINDOWS))
		return hl_err_set(err, -ENOMEM, "no memory for the windows of a day");
	day->windows[day->n_windows++] = window;
	return 0;
}

int day_reader_query(const struct day_reader *day, struct hl_query **ret, struct hl_err *err)
{
	return hl_query_new(day->db,
			    "SELECT * FROM windows WHERE level = ? AND start >= ? AND start < ? ORDER BY id",
			    ret, err);
}

int day_reader_open(struct day_reader *day, const char *path, uint64_t since_ns, uint64_t until_ns,
		    struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *sources = NULL, *windows = NULL;
	int code = hl_db_open(path, HL_DB_READ, &day->db, err);

	/* One view of it, whatever is written meanwhile. */
	if (!code)
		code = hl_db_run(day->db, "BEGIN", err);
	if (!code)
		code = hl_schema_check(day->db, err);
	if (!code)
		code = hl_schema_has_bodies(day->db, &day->has_bodies, err);
	if (!code)
		code = hl_rows_new(day->db, &day->rows, err);
	if (!code)
		code = hl_query_new(day->db, "SELECT * FROM sources ORDER BY id", &sources, err);
	while (!code && (code = hl_query_step(sources, err)) == 1)
		code = read_source(day, sources, err);
	if (!code)
		code = day_reader_query(day, &windows, err);
	if (!code)
		hl_query_give(windows, hl_int(0), hl_int(since_ns), hl_int(until_ns));
	while (!code && (code = hl_query_step(windows, err)) == 1)
		code = read_window(day, windows, err);
	return code;
}

static int compare_ids(const void *key, const void *item)
{
	uint32_t id = *(const uint32_t *)key;
	const struct day_window *w = item;

	return (id > w->id) - (id < w->id);
}

const struct day_window *day_reader_window(const struct day_reader *day, uint32_t id)
{
	if (!day->n_windows)
		return NULL;
	return bsearch(&id, day->windows, day->n_windows, sizeof(*day->windows), compare_ids);
}
