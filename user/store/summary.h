/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_SUMMARY_H
#define HL_STORE_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/reading.h"

struct day_left_out;
struct day_reader;
struct day_source;
struct day_window;
struct hl_profile;

/* The header of a profile that was read from a store: sums over its windows, and what is missing. */
struct hl_summary;

/*
 * Of that range, at @now_ns: the last window may not be written yet. NULL without memory. All others: 0 or -errno
 * with the reason. hl_summary_free() accepts NULL.
 */
struct hl_summary *hl_summary_new(uint64_t since_ns, uint64_t until_ns, uint64_t now_ns);
void hl_summary_free(struct hl_summary *summary);

/* Adds the wanted windows of a day, and its gaps. */
int hl_summary_add(struct hl_summary *summary, struct day_reader *day, const struct day_left_out *left_out,
		   struct hl_err *err);
/* Adds the gaps of a day behind the range: one that lasted for days stands where it ended. */
int hl_summary_add_gaps(struct hl_summary *summary, struct day_reader *day, struct hl_err *err);
/* Notes that the file at @path could not be read; takes the reason out of @err. */
int hl_summary_unread(struct hl_summary *summary, const char *path, struct hl_err *err);
/* Notes a file that an agent set aside in the store in @dir. */
int hl_summary_aside(struct hl_summary *summary, const char *dir, const char *name, struct hl_err *err);
/* Notes a store that was given once more. */
int hl_summary_again(struct hl_summary *summary, const char *dir, struct hl_err *err);
/* Counts windows of the file at @path that were added from another file already. */
int hl_summary_copies(struct hl_summary *summary, const char *path, uint64_t windows, struct hl_err *err);
/* Notes what is not shown since its event is another. */
int hl_summary_other_event(struct hl_summary *summary, const char *event, uint64_t windows, uint64_t samples,
			   struct hl_err *err);

/* Adds one window alone, to a summary that is only asked for its piece. 0 or -ENOMEM. */
int hl_summary_add_window(struct hl_summary *summary, const struct day_source *source,
			  const struct day_window *window);
/* What was added, as a piece of a range. */
struct hl_reading_piece hl_summary_piece(const struct hl_summary *summary);

/* How many were added. */
uint64_t hl_summary_windows(const struct hl_summary *summary);
/* When the last of them ended, its length and its frequency; 0: there is none. */
uint64_t hl_summary_last_ns(const struct hl_summary *summary, uint64_t *ret_length_ns, uint32_t *ret_hz);
/* Host @index, counted from 0, and for how long there are windows of it; NULL beyond the last. */
const char *hl_summary_host(const struct hl_summary *summary, size_t index, uint64_t *ret_covered_ns);
/* A sentence about the first file that could not be read, or NULL. */
const char *hl_summary_why_unread(const struct hl_summary *summary);

/* Sets the header of @profile, whose strings stay the summary's. */
int hl_summary_finish(struct hl_summary *summary, struct hl_profile *profile, struct hl_err *err);

#endif
