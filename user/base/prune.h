/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_PRUNE_H
#define HL_BASE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Which of the files of a directory may stay. */
struct hl_prune {
	bool (*is_ours)(const char *name); /* all others are left alone, and do not count */
	uint64_t max_age_ns;               /* since it was last written; 0: any */
	uint64_t max_bytes, max_files;     /* of all of ours; 0: any */
};

/*
 * Removes the files in @dir that are too old, then the oldest until the rest is within the limits; the newest stays
 * whatever its size. @now_ns since the epoch. Directories and symbolic links are left alone. 0 or -errno.
 */
int hl_prune_files(const char *dir, const struct hl_prune *prune, uint64_t now_ns, struct hl_err *err);

#endif
