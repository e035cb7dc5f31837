/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_SUMS_H
#define HL_STORE_DAY_SUMS_H

#include <stdint.h>

#include "base/err.h"
#include "store/day_nameless.h"
#include "store/day_put.h"

enum { DAY_LEVELS = 3 };

/*
 * The windows of levels 1 and 2 of a day, in which those of level 0 stand summed for each source, minute by
 * minute and hour by hour, without pids, so that long ranges are read fast. Where those of level 0 are minutes
 * already, level 1 has ten of them; where they are hours, there are no sums. A sum is there whole and right, or not
 * at all.
 */
struct day_sums {
	uint64_t length_ns[DAY_LEVELS]; /* of a sum, by level */
	int n_levels;
	struct day_nameless nameless;
	struct hl_query *lacking, *totals, *rows, *wrong, *drop_samples, *drop_window;
	/* By level: all that lie before are there. */
	uint64_t done_ns[DAY_LEVELS];
};

/*
 * Of the day in @db, whose rows @ids numbers; to be released with day_sums_done() in any case, before @db is
 * closed.
 */
int day_sums_init(struct day_sums *sums, struct hl_db *db, struct hl_ids *ids, struct hl_err *err);
void day_sums_done(struct day_sums *sums);

/*
 * Inserts all sums that ended by @now_ns, within a transaction; @last_window is the number of the last window, and
 * grows. 0 or -errno.
 */
int day_sums_write(struct day_sums *sums, struct day_put *put, uint64_t now_ns, int64_t *last_window,
		   struct hl_err *err);
/* Removes the sums that a new window of row @source at @start_ns makes wrong. 0 or -errno. */
int day_sums_drop(struct day_sums *sums, uint32_t source, uint64_t start_ns, struct hl_err *err);

#endif
