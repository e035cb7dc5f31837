/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_READER_H
#define HL_STORE_DAY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "store/db.h"
#include "store/rows.h"

struct hl_profile;
struct hl_store_query;

/* A row of `sources`; strings are the day's. */
struct day_source {
	char *host, *kernel, *version, *decoders, *event, *unit;
	bool precise;
	uint32_t frequency, cpus;
	struct hl_id identity; /* of all of it: equal ones are equal in any file */
};

/* A row of `windows`. */
struct day_window {
	uint32_t id, source; /* source: index into the day's */
	uint64_t start_ns, length_ns, samples, weight, period;
	uint64_t expected, seen, idle, filtered, busy_ns, programs_ns, process_ns;
	uint64_t sum; /* of the checksums of its samples */
	bool programs_known, process_known;
	bool wanted; /* set by the caller: its samples are to be read */
	bool summed; /* they were, with the minute's or the hour's */
};

/* One day, open for reading, as it was when it was opened. */
struct day_reader {
	struct hl_db *db;
	struct hl_rows *rows;
	struct hl_str room;
	struct day_source *sources;
	struct day_window *windows; /* by id */
	size_t n_sources, n_windows, cap_sources, cap_windows;
	bool has_bodies; /* the tables; older days have none */
};

/*
 * Opens the file at @path and reads its windows of level 0 that start in [@since_ns, @until_ns). 0; -EBADMSG
 * damaged; -ENOTSUP of a newer hotleaf; -errno. To be released by day_reader_done() in any case.
 */
int day_reader_open(struct day_reader *day, const char *path, uint64_t since_ns, uint64_t until_ns,
		    struct hl_err *err);
void day_reader_done(struct day_reader *day);

/* Samples that are there and not shown. */
struct day_left_out {
	uint64_t not_asked, excluded;
};

/*
 * Adds the samples of all wanted windows, which are of @event, to @profile as @query says, and to @left_out.
 * -EBADMSG if they are not what the windows say.
 */
int day_reader_samples(struct day_reader *day, const struct hl_store_query *query, const char *event,
		       struct hl_profile *profile, struct day_left_out *left_out, struct hl_err *err);

/* A query for windows of a level that start in a range, to be given all three; and the window of its row. */
int day_reader_query(const struct day_reader *day, struct hl_query **ret, struct hl_err *err);
int day_reader_window_of(struct day_reader *day, const struct hl_query *query, struct day_window *ret,
			 struct hl_err *err);

/* The window with that id, if it is among those that were read; else NULL. */
const struct day_window *day_reader_window(const struct day_reader *day, uint32_t id);

#endif
