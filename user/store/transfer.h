/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_TRANSFER_H
#define HL_STORE_TRANSFER_H

#include <stdint.h>

#include "base/err.h"

/* Windows of a span of time on their way from one store to another, perhaps on another host, in a file. */

struct hl_transferred {
	uint64_t windows, samples;
	uint64_t present;     /* windows that were there already, and were left alone */
	uint64_t overlapping; /* that were left out, since there are others of that host, event and time */
};

/*
 * Writes what the store in @dir holds of windows that start from @since_ns on and before @until_ns to @path, which
 * must not exist yet: a database as a day is. 0; -ENODATA: there are none; -EBADMSG: a day is damaged; or -errno:
 * then there is no such file.
 */
int hl_store_export(const char *dir, uint64_t since_ns, uint64_t until_ns, const char *path,
		    struct hl_transferred *ret, struct hl_err *err);

/*
 * Adds the windows of that span in such a file, or in a day of another store, to the store in @dir, day by day; one
 * that is there already is not added again, and none of a time of which the day had windows of that host and event
 * before, as where one of the two was rewritten. 0; -EBUSY: an agent writes to it; or -errno:
 * then some days may have been added.
 */
int hl_store_import(const char *path, uint64_t since_ns, uint64_t until_ns, const char *dir,
		    struct hl_transferred *ret, struct hl_err *err);

#endif
