/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_FOLDER_H
#define HL_COMMAND_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct hl_profile;

/*
 * A directory of reports, HOST-20261130T120000Z-60s.html and so on: what belongs to one name is one report.
 * Beside them index.html lists them, index.tsv holds what their names do not say, and .hotleaf.lock keeps two
 * writers apart. Files of other names are left alone.
 */
struct hl_folder;

/* Which reports are kept; the newest always is, and what was noted. 0: no limit. */
struct hl_folder_limits {
	uint64_t max_age_ns; /* of the end */
	uint32_t max_count;  /* reports */
	uint64_t max_bytes;  /* of all their files */
};

/* Locks @dir. 0; -EBUSY: another one writes there; or -errno. hl_folder_free() accepts NULL. */
int hl_folder_open(const char *dir, struct hl_folder **ret, struct hl_err *err);
void hl_folder_free(struct hl_folder *folder);
HL_DEFINE_CLEANUP(struct hl_folder, hl_folder_free)

/* Notes what is to be said of the report that file @path belongs to. 0 or -ENOMEM. */
int hl_folder_note(struct hl_folder *folder, const char *path, const struct hl_profile *profile,
		   struct hl_err *err);

/*
 * The last report of the same host and length that starts before that of file @path: its range. False if there
 * is none.
 */
bool hl_folder_before(const struct hl_folder *folder, const char *path, uint64_t *ret_start_ns,
		      uint64_t *ret_end_ns);

/* The name for the page that compares the report of @path with the one before, to be freed; or NULL. */
char *hl_folder_diff_path(const char *path);

/* Removes what is over the limits, and writes both lists. 0 or -errno. */
int hl_folder_finish(struct hl_folder *folder, const struct hl_folder_limits *limits, uint64_t now_ns,
		     struct hl_err *err);

#endif
