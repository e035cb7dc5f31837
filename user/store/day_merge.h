/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_MERGE_H
#define HL_STORE_DAY_MERGE_H

#include <stdint.h>

#include "base/err.h"

struct day_reader;
struct hl_db;

/*
 * Writes what @from, open for reading with all its windows, holds to the new, empty day @to, whose windows follow
 * each other within spans of @span_ns; a window never reaches over time in which there was none. From an hour on,
 * pids are left out. 0; -EBADMSG: @from is damaged; or -errno.
 */
int day_merge(struct day_reader *from, struct hl_db *to, uint64_t span_ns, struct hl_err *err);

/* What was added. */
struct day_merged {
	uint64_t windows, samples;
	uint64_t present;     /* windows that were there already, by source and start */
	uint64_t overlapping; /* others, of whose time the day had windows of that host and event */
};

/*
 * Adds the windows and gaps of @from, open for reading with those of the range, to the day @to, as they are, in one
 * transaction; sums of minutes and hours follow. Likewise.
 */
int day_append(struct day_reader *from, uint64_t since_ns, uint64_t until_ns, struct hl_db *to,
	       struct day_merged *ret, struct hl_err *err);

#endif
