// SPDX-License-Identifier: BSD-2-Clause
#include "store/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/day_bodies.h"
#include "store/day_reader.h"
#include "store/days.h"
#include "store/seen.h"
#include "store/summary.h"

/*
 * A range is read twice: first which events there are, since only one can be shown; then its samples, day by
 * day, into one profile, in which equal frames of several days and hosts meet.
 */

enum { MAX_FILES = 1 << 16, MAX_EVENTS = 64, MAX_PIECES = 1 << 20 };

struct event_sum {
	char *name;
	uint64_t samples, windows;
};

/* A directory that is a store, or a file that is a day with windows of the range. */
struct place {
	char *path;
	uint64_t device, inode; /* of a directory */
	bool copy;              /* what a file has was read from others */
};

struct places {
	struct place *items;
	size_t n, cap;
};

struct hl_reading {
	struct hl_store_query query;
	uint64_t now_ns;
	struct places files, dirs;
	struct places later; /* of each store the first day behind the range */
	struct event_sum events[MAX_EVENTS];
	size_t n_events;
	struct hl_seen looked_at, seen; /* windows, when looking and when reading */
	struct hl_summary *summary;
	struct hl_profile *profile;
	struct hl_summary **pieces; /* of a query that has some */
	size_t n_pieces;
};

static int make_pieces(struct hl_reading *reading)
{
	const struct hl_store_query *q = &reading->query;
	uint64_t n =
		q->until_ns > q->since_ns ? (q->until_ns - q->since_ns + q->piece_ns - 1) / q->piece_ns : 0;

	reading->pieces = n < MAX_PIECES ? calloc(n + 1, sizeof(reading->pieces[0])) : NULL;
	if (!reading->pieces)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start_ns = q->since_ns + i * q->piece_ns;

		reading->pieces[i] = hl_summary_new(start_ns, start_ns + q->piece_ns, reading->now_ns);
		if (!reading->pieces[i])
			return -ENOMEM;
		reading->n_pieces++;
	}
	return 0;
}

struct hl_reading *hl_reading_new(const struct hl_store_query *query)
{
	struct hl_reading *reading = calloc(1, sizeof(*reading));

	if (!reading)
		return NULL;
	reading->query = *query;
	reading->now_ns = hl_realtime_ns();
	if (reading->query.until_ns > reading->now_ns)
		reading->query.until_ns = reading->now_ns;
	reading->profile = hl_profile_new();
	reading->summary = hl_summary_new(query->since_ns, reading->query.until_ns, reading->now_ns);
	if (reading->profile && reading->summary && (!query->piece_ns || !make_pieces(reading)))
		return reading;
	hl_reading_free(reading);
	return NULL;
}

static void places_done(struct places *places)
{
	for (size_t i = 0; i < places->n; i++)
		free(places->items[i].path);
	free(places->items);
}

void hl_reading_free(struct hl_reading *reading)
{
	if (!reading)
		return;
	places_done(&reading->files);
	places_done(&reading->later);
	places_done(&reading->dirs);
	hl_seen_done(&reading->looked_at);
	hl_seen_done(&reading->seen);
	for (size_t i = 0; i < reading->n_events; i++)
		free(reading->events[i].name);
	hl_profile_free(reading->profile);
	hl_summary_free(reading->summary);
	for (size_t i = 0; reading->pieces && i < reading->n_pieces; i++)
		hl_summary_free(reading->pieces[i]);
	free(reading->pieces);
	free(reading);
}

struct hl_profile *hl_reading_profile(const struct hl_reading *reading)
{
	return reading->profile;
}

uint64_t hl_reading_last_ns(const struct hl_reading *reading, uint64_t *ret_length_ns, uint32_t *ret_hz)
{
	return hl_summary_last_ns(reading->summary, ret_length_ns, ret_hz);
}

const char *hl_reading_host(const struct hl_reading *reading, size_t index, uint64_t *ret_covered_ns)
{
	return hl_summary_host(reading->summary, index, ret_covered_ns);
}

struct hl_reading_piece hl_reading_piece(const struct hl_reading *reading, size_t index)
{
	return index < reading->n_pieces ? hl_summary_piece(reading->pieces[index])
					 : (struct hl_reading_piece){ 0 };
}

/* Appends the path "A/B"; @b may be NULL. NULL without memory. */
static struct place *add_place(struct places *places, const char *a, const char *b)
{
	_cleanup_str_ struct hl_str path = { 0 };
	int code = hl_grow(&places->items, &places->cap, places->n + 1, sizeof(*places->items), MAX_FILES);
	struct place *place;

	hl_str_addf(&path, "%s%s%s", a, b ? "/" : "", b ? b : "");
	if (code || hl_str_status(&path))
		return NULL;
	place = &places->items[places->n++];
	*place = (struct place){ 0 };
	place->path = TAKE_PTR(path.data);
	return place;
}

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the samples of that time");
}

/* ---- which windows there are --------------------------------------------------------------------------- */

static struct event_sum *get_event(struct hl_reading *reading, const char *name)
{
	struct event_sum *event = &reading->events[reading->n_events];

	for (size_t i = 0; i < reading->n_events; i++)
		if (strcmp(reading->events[i].name, name) == 0)
			return &reading->events[i];
	if (reading->n_events == MAX_EVENTS)
		return NULL;
	event->name = strdup(name);
	if (!event->name)
		return NULL;
	reading->n_events++;
	return event;
}

static int open_day(const struct hl_reading *reading, struct day_reader *day, const char *path,
		    struct hl_err *err)
{
	int code = day_reader_open(day, path, reading->query.since_ns, reading->query.until_ns, err);

	if (code)
		day_reader_done(day);
	return code;
}

static int look_at_day(struct hl_reading *reading, const char *path, struct hl_err *err)
{
	struct day_reader day = { 0 };
	int code = open_day(reading, &day, path, err);

	if (code)
		return code == -ENOMEM ? code : hl_summary_unread(reading->summary, path, err);
	for (size_t i = 0; i < day.n_windows && !code; i++) {
		const struct day_window *w = &day.windows[i];
		const struct day_source *source = &day.sources[w->source];
		struct event_sum *event = get_event(reading, source->event);

		if (hl_seen_has(&reading->looked_at, source, w))
			continue;
		if (!event || hl_seen_add(&reading->looked_at, source, w)) {
			code = no_memory(err);
			break;
		}
		event->windows++;
		event->samples += w->samples;
	}
	day_reader_done(&day);
	return code;
}

/* Notes the directory as one of the stores. 1: it is one already, by whatever name. */
static int add_store(struct hl_reading *reading, const char *dir, struct hl_err *err)
{
	struct place *place;
	struct stat st;

	if (stat(dir, &st))
		return hl_days_fail(dir, -errno, err);
	for (size_t i = 0; i < reading->dirs.n; i++) {
		place = &reading->dirs.items[i];
		if (place->device == st.st_dev && place->inode == st.st_ino) {
			int code = hl_summary_again(reading->summary, place->path, err);

			return code ? code : 1;
		}
	}
	place = add_place(&reading->dirs, dir, NULL);
	if (!place)
		return no_memory(err);
	place->device = st.st_dev;
	place->inode = st.st_ino;
	return 0;
}

int hl_reading_add(struct hl_reading *reading, const char *dir, struct hl_err *err)
{
	_cleanup_free_ char *real = realpath(dir, NULL);
	_cleanup_free_ struct hl_day *days = NULL;
	uint64_t first = reading->query.since_ns / HL_DAY_NS, last = reading->query.until_ns / HL_DAY_NS;
	size_t n = 0;
	int code;

	if (!real)
		return hl_days_fail(dir, -errno, err);
	code = add_store(reading, real, err);
	if (code)
		return code < 0 ? code : 0;
	code = hl_days_list(real, &days, &n, err);
	for (size_t i = 0; i < n && !code; i++) {
		const struct place *file;

		if (days[i].day < first || days[i].day > last)
			continue;
		if (days[i].aside) {
			code = hl_summary_aside(reading->summary, real, days[i].name, err);
			continue;
		}
		file = add_place(&reading->files, real, days[i].name);
		if (!file)
			return no_memory(err);
		code = look_at_day(reading, file->path, err);
	}
	for (size_t i = 0; i < n && !code; i++) {
		if (days[i].aside || days[i].day <= last)
			continue;
		if (!add_place(&reading->later, real, days[i].name))
			code = no_memory(err);
		break;
	}
	return code;
}

/* ---- what to say where there is nothing ---------------------------------------------------------------- */

static void widen(const char *path, uint64_t *first_ns, uint64_t *last_ns)
{
	struct day_reader day = { 0 };

	if (!day_reader_open(&day, path, 0, INT64_MAX, NULL)) {
		for (size_t i = 0; i < day.n_windows; i++) {
			const struct day_window *w = &day.windows[i];

			*first_ns = w->start_ns < *first_ns ? w->start_ns : *first_ns;
			*last_ns =
				w->start_ns + w->length_ns > *last_ns ? w->start_ns + w->length_ns : *last_ns;
		}
	}
	day_reader_done(&day);
}

/* When the windows of all stores begin and end, by their first and last days. */
static void span_of_stores(const struct hl_reading *reading, uint64_t *first_ns, uint64_t *last_ns)
{
	for (size_t i = 0; i < reading->dirs.n; i++) {
		const char *dir = reading->dirs.items[i].path;
		_cleanup_free_ struct hl_day *days = NULL;
		size_t n = 0;

		if (hl_days_list(dir, &days, &n, NULL))
			continue;
		for (size_t k = 0; k < n; k++) {
			_cleanup_str_ struct hl_str path = { 0 };

			hl_str_addf(&path, "%s/%s", dir, days[k].name);
			if (!days[k].aside && (k == 0 || k == n - 1) && !hl_str_status(&path))
				widen(path.data, first_ns, last_ns);
		}
	}
}

static int nothing(const struct hl_reading *reading, struct hl_err *err)
{
	char since[HL_TIME_SIZE], until[HL_TIME_SIZE], from[HL_TIME_SIZE], to[HL_TIME_SIZE];
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	const char *event = reading->query.event, *why = hl_summary_why_unread(reading->summary);

	(void)hl_time_text(reading->query.since_ns, since);
	(void)hl_time_text(reading->query.until_ns, until);
	if (why)
		return hl_err_set(err, -ENODATA, "nothing that can be read from %s to %s: %s", since, until,
				  why);
	span_of_stores(reading, &first_ns, &last_ns);
	if (!last_ns)
		return hl_err_set(err, -ENODATA, "the store is empty: does `hotleaf agent` run?");
	return hl_err_set(err, -ENODATA, "no windows%s%s from %s to %s; what is stored begins %s and ends %s",
			  event ? " of event " : "", event ? event : "", since, until,
			  hl_time_text(first_ns, from), hl_time_text(last_ns, to));
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static const char *choose_event(const struct hl_reading *reading)
{
	const struct event_sum *best = NULL;

	for (size_t i = 0; i < reading->n_events; i++) {
		const struct event_sum *e = &reading->events[i];

		if (reading->query.event ? strcmp(e->name, reading->query.event) == 0
					 : !best || e->samples > best->samples)
			best = e;
	}
	return best ? best->name : NULL;
}

static int add_to_pieces(struct hl_reading *reading, const struct day_reader *day, struct hl_err *err)
{
	for (size_t i = 0; i < day->n_windows; i++) {
		const struct day_window *w = &day->windows[i];
		uint64_t piece = (w->start_ns - reading->query.since_ns) / reading->query.piece_ns;

		if (w->wanted && piece < reading->n_pieces &&
		    hl_summary_add_window(reading->pieces[piece], &day->sources[w->source], w))
			return no_memory(err);
	}
	return 0;
}

/* Marks what is to be read: of @event, and not read from another file before. How many are copies. */
static uint64_t mark_windows(const struct hl_reading *reading, struct day_reader *day, const char *event,
			     bool *ret_any)
{
	uint64_t copies = 0;

	for (size_t i = 0; i < day->n_windows; i++) {
		struct day_window *w = &day->windows[i];
		const struct day_source *source = &day->sources[w->source];

		if (strcmp(source->event, event) != 0)
			continue;
		w->wanted = !hl_seen_has(&reading->seen, source, w);
		*ret_any |= w->wanted;
		copies += !w->wanted;
	}
	return copies;
}

/* Only what was read is not to be read again: of a damaged day and its copy the copy is shown. */
static int add_seen(struct hl_reading *reading, const struct day_reader *day, struct hl_err *err)
{
	for (size_t i = 0; i < day->n_windows; i++)
		if (day->windows[i].wanted &&
		    hl_seen_add(&reading->seen, &day->sources[day->windows[i].source], &day->windows[i]))
			return no_memory(err);
	return 0;
}

static int read_day(struct hl_reading *reading, struct place *file, const char *event, struct hl_err *err)
{
	struct day_reader day = { 0 };
	struct day_left_out left_out = { 0 };
	uint64_t copies = 0;
	bool any = false;
	int code = open_day(reading, &day, file->path, err);

	if (!code)
		copies = mark_windows(reading, &day, event, &any);
	file->copy = copies && !any;
	if (!code && !file->copy)
		code = day_reader_samples(&day, &reading->query, event, reading->profile, &left_out, err);
	if (!code && !file->copy)
		code = hl_summary_add(reading->summary, &day, &left_out, err);
	if (!code && reading->query.piece_ns && !file->copy)
		code = add_to_pieces(reading, &day, err);
	if (!code)
		code = hl_summary_copies(reading->summary, file->path, copies, err);
	if (!code)
		code = add_seen(reading, &day, err);
	day_reader_done(&day);
	return code && code != -ENOMEM ? hl_summary_unread(reading->summary, file->path, err) : code;
}

/* What is wrong with it is said where its windows are asked for. */
static int read_later(struct hl_reading *reading, const char *path, struct hl_err *err)
{
	struct day_reader day = { 0 };
	int code = open_day(reading, &day, path, err);

	if (!code)
		code = hl_summary_add_gaps(reading->summary, &day, err);
	day_reader_done(&day);
	return code == -ENOMEM ? code : 0;
}

int hl_reading_finish(struct hl_reading *reading, struct hl_err *err)
{
	const char *event = choose_event(reading);
	int code = 0;

	if (!event)
		return nothing(reading, err);
	for (size_t i = 0; i < reading->files.n && !code; i++)
		code = read_day(reading, &reading->files.items[i], event, err);
	for (size_t i = 0; i < reading->later.n && !code; i++)
		code = read_later(reading, reading->later.items[i].path, err);
	for (size_t i = 0; i < reading->n_events && !code; i++)
		if (strcmp(reading->events[i].name, event) != 0)
			code = hl_summary_other_event(reading->summary, reading->events[i].name,
						      reading->events[i].windows, reading->events[i].samples,
						      err);
	if (code)
		return code;
	if (!hl_summary_windows(reading->summary))
		return nothing(reading, err);
	if (hl_profile_finish(reading->profile))
		return no_memory(err);
	return hl_summary_finish(reading->summary, reading->profile, err);
}

int hl_reading_bodies(const struct hl_reading *reading, hl_body_fn take, void *ctx, struct hl_body_sum *ret,
		      struct hl_err *err)
{
	struct hl_body_sum sum = { 0 };
	int code = 0;

	for (size_t i = 0; i < reading->files.n && !code; i++) {
		const struct place *file = &reading->files.items[i];
		struct day_reader day = { 0 };

		if (file->copy || open_day(reading, &day, file->path, NULL))
			continue;
		code = day.n_windows ? day_bodies_each(&day, take, ctx, &sum, err) : 0;
		day_reader_done(&day);
	}
	*ret = sum;
	return code;
}
