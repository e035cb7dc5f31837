/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_WRITER_H
#define HL_STORE_DAY_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_batch;
struct hl_profile_meta;

/* Time without windows, to be noted. */
struct hl_gap {
	uint64_t start_ns, end_ns;
	uint64_t samples; /* taken, but not kept */
	char reason[120];
};

/* One day's file, open for writing. */
struct day_writer;

/*
 * Opens or makes the file at @path, and checks one that is there whole. 0; -EBADMSG damaged; -ENOTSUP written
 * by a newer hotleaf; or as hl_db_open(). day_writer_close() accepts NULL.
 */
int day_writer_open(const char *path, struct day_writer **ret, struct hl_err *err);
/* @whole: the day is over; the file becomes one that readers need nothing else for. */
void day_writer_close(struct day_writer *day, bool whole);

/*
 * Writes a window with its samples, bodies, of which the day holds at most @code_bytes, and @gaps in one
 * transaction. 0; -ESTALE: its file has another name now, or
 * none; or -errno: then nothing of it is there, and
 * the day must be closed.
 */
int day_writer_write(struct day_writer *day, const struct hl_profile_meta *meta, const struct hl_batch *batch,
		     uint64_t code_bytes, const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err);

/* The day is over: sums that are lacking are written, likewise. */
int day_writer_finish(struct day_writer *day, struct hl_err *err);
/* Writes @gaps alone, likewise. */
int day_writer_gaps(struct day_writer *day, const struct hl_gap *gaps, size_t n_gaps, struct hl_err *err);

#endif
