/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAYS_H
#define HL_STORE_DAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A store is a directory with a file for each UTC day, 2026-11-30.db, beside which SQLite keeps 2026-11-30.db-wal
 * and -shm while it is written. A file that could not be used was set aside under another name,
 * 2026-11-30.db.damaged-20261201T120000Z or 2026-11-30.db.newer-…, for a person to look at.
 */

#define HL_MINUTE_NS UINT64_C(60000000000)
#define HL_HOUR_NS   (60 * HL_MINUTE_NS)
#define HL_DAY_NS    (24 * HL_HOUR_NS)

/* Files of a store: twenty years of days and as many set aside. */
enum { HL_MOST_DAYS = 1 << 14 };

struct hl_day {
	uint32_t day;   /* since the epoch */
	bool aside;     /* no day of the store any more */
	uint64_t bytes; /* with what SQLite keeps beside it */
	char name[64];  /* in the directory */
};

/* Says that the store in @dir cannot be opened for @code, a -errno. Returns that. */
int hl_days_fail(const char *dir, int code, struct hl_err *err);
/* The days of directory @dir, the oldest first, those set aside after the one of that day. 0 or -errno. */
int hl_days_list(const char *dir, struct hl_day **ret, size_t *ret_n, struct hl_err *err);

enum { HL_DAY_NAME_SIZE = 24 };
/* The file's name of a day. Returns @buf. */
char *hl_day_name(uint32_t day, char buf[static HL_DAY_NAME_SIZE]);

/* What may be kept. 0: no limit. */
struct hl_store_limits {
	uint64_t max_age_ns; /* of the end of a day */
	uint64_t max_bytes;  /* of all files together */
	uint64_t min_free;   /* bytes free in the file system */
	/* How long after its end a day has windows as they were measured, and then those of minutes; see rewrite.h. */
	uint64_t windows_ns, minutes_ns;
	uint64_t code_bytes; /* of machine code of functions in a day; 0: none is kept */
};

/*
 * Unlinks the oldest days until the limits hold, but none from today on; one that cannot be removed is passed over.
 * The number of files is in @ret_removed. 0; -ENOSPC if the limits do not hold even so, with the reason; -errno with
 * the first file that could not be removed, or since the directory cannot be listed.
 */
int hl_days_prune(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns,
		  unsigned int *ret_removed, struct hl_err *err);

/* Gives the file of @day another name, told by @why ("damaged", "newer") and the time. 0 or -errno. */
int hl_days_set_aside(const char *dir, uint32_t day, const char *why, uint64_t now_ns, char *ret_name,
		      size_t size, struct hl_err *err);

#endif
