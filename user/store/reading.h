/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_READING_H
#define HL_STORE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/body.h"

struct hl_owner;
struct hl_profile;

/* Takes a frame that stacks begin with, the outermost first. 0 or -errno. */
typedef int (*hl_root_push_fn)(void *ctx, const char *name, size_t len);

/* Why samples are not shown. */
enum { HL_ROOT_NOT_ASKED = 1, HL_ROOT_EXCLUDED = 2 };

/* What is to be read: windows that start from @since_ns on and before @until_ns, since the epoch. */
struct hl_store_query {
	uint64_t since_ns, until_ns;
	const char *event; /* NULL: the one with most samples; different ones are never summed */
	bool functions;    /* leaves are functions; else instructions */
	/*
	 * Says under which frames the samples of @owner stand: calls @push with each, then 0; or one of the
	 * above, for samples that are counted, but not shown; or -errno. NULL: they stand under their process.
	 */
	int (*root)(void *ctx, const struct hl_owner *owner, hl_root_push_fn push, void *push_ctx);
	void *root_ctx;
	bool keyed; /* what it pushes is "KEY=VALUE": the frame's module is KEY */
	bool some;  /* it leaves some out: what is not asked for need not even be read */
	bool pids;  /* it looks at pid, exec_id or started_ns, which sums of minutes and hours do not tell */
	/*
	 * Not 0: what functions had over time is read, in pieces of that length from @since_ns on. Each sample is a
	 * stack of two frames then: a root whose address is the number of its piece, counted from 0, and the function
	 * that it was in. @root says only what is left out; NULL: nothing is.
	 */
	uint64_t piece_ns;
};

/* What is known of a piece. */
struct hl_reading_piece {
	uint64_t expected, seen; /* samples that were due, and those that the program saw */
	uint32_t cpus;           /* of the hosts that there are windows of */
};

/* A profile in the making, from the stores of one or several hosts. */
struct hl_reading;

/* NULL without memory; @query is copied, what it points to is not. hl_reading_free() accepts NULL. */
struct hl_reading *hl_reading_new(const struct hl_store_query *query);
void hl_reading_free(struct hl_reading *reading);
HL_DEFINE_CLEANUP(struct hl_reading, hl_reading_free)

/* Looks at the store in @dir: which windows there are. A day that cannot be read is noted. 0 or -errno. */
int hl_reading_add(struct hl_reading *reading, const char *dir, struct hl_err *err);

/*
 * Reads all of it and finishes the profile, whose header says range, gaps, losses and what could not be read.
 * 0; -ENODATA if there are no windows in the range, with what there is instead; or -errno.
 */
int hl_reading_finish(struct hl_reading *reading, struct hl_err *err);

/*
 * Gives the code that the days of the range hold of functions to @take. Of a day that cannot be read there is none,
 * as the header says. 0 or -errno.
 */
int hl_reading_bodies(const struct hl_reading *reading, hl_body_fn take, void *ctx, struct hl_body_sum *ret,
		      struct hl_err *err);

/* When the last window that was read ended, since the epoch, how long it was, and at which frequency. */
uint64_t hl_reading_last_ns(const struct hl_reading *reading, uint64_t *ret_length_ns, uint32_t *ret_hz);

/* Host @index, counted from 0, and for how long there are windows of it; NULL beyond the last. */
const char *hl_reading_host(const struct hl_reading *reading, size_t index, uint64_t *ret_covered_ns);

/* Piece @index, counted from 0, of a query with pieces. */
struct hl_reading_piece hl_reading_piece(const struct hl_reading *reading, size_t index);

/* The finished profile; the reading's. */
struct hl_profile *hl_reading_profile(const struct hl_reading *reading);

#endif
