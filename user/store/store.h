/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_STORE_H
#define HL_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/days.h"

struct hl_batch;
struct hl_profile_meta;

/*
 * Writing a store: one SQLite file a UTC day, one transaction a window. Its directory has one writer at a time;
 * anybody may read meanwhile. What cannot be written is counted and noted as a gap when writing works again.
 */
struct hl_store;

/*
 * Opens the store in directory @dir, which is made if need be. 0; -EBUSY if another process writes to it; or
 * -errno. Owned by the caller. hl_store_close() accepts NULL; the day that is open can be gone on with.
 */
int hl_store_open(const char *dir, const struct hl_store_limits *limits, struct hl_store **ret,
		  struct hl_err *err);
void hl_store_close(struct hl_store *store);
HL_DEFINE_CLEANUP(struct hl_store, hl_store_close)

/*
 * Writes the window that @meta describes, into the day of its start, and removes old days where the limits
 * demand it. 0; or -errno with the reason: the window's samples are counted as lost then, and the next call
 * tries again from scratch, be it that the disk was full, or the directory gone.
 */
int hl_store_write(struct hl_store *store, const struct hl_profile_meta *meta, const struct hl_batch *batch,
		   struct hl_err *err);

/* The process that holds a store. */
struct hl_store_writer {
	long pid;          /* as it numbers itself; 0: not known */
	uint64_t since_ns; /* since the epoch */
	uint64_t window_s; /* seconds of a window; 0: not known */
};

/* Tells others that windows are so long from now on: they may find none yet, or some that took longer. */
void hl_store_tell_window(struct hl_store *store, uint64_t window_ns);

/*
 * Who writes to the store in @dir. 1: @ret does; 0: nobody, and only the window of @ret is set, as the last one told
 * it; or -errno, if that cannot be told.
 */
int hl_store_writer(const char *dir, struct hl_store_writer *ret);

/* From the next window on, the limits are these. */
void hl_store_limit(struct hl_store *store, const struct hl_store_limits *limits);
struct hl_store_limits hl_store_limits(const struct hl_store *store);
/* Whether the clock has just jumped ahead by more than a day: nothing is old by it for an hour. */
bool hl_store_doubts_clock(const struct hl_store *store);
/* Its directory, without symbolic links. */
const char *hl_store_dir(const struct hl_store *store);

/* Notes that there are no windows from @start_ns to @end_ns: written with the next window. */
void hl_store_gap(struct hl_store *store, uint64_t start_ns, uint64_t end_ns, uint64_t samples,
		  const char *reason);

/* Writes the gaps that were noted, where there is no window to do it with. 0 or -errno. */
int hl_store_flush(struct hl_store *store, struct hl_err *err);

/* What was done to go on, since the last call: a sentence, or "". Static until the next call. */
const char *hl_store_notice(struct hl_store *store);

#endif
