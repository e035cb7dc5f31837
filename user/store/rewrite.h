/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_REWRITE_H
#define HL_STORE_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_store_limits;

/*
 * Old days are kept in less detail: windows are summed to minutes, later to hours. A day is written anew beside the
 * old file, which it then replaces: whoever is killed leaves the old day, or the new one. The writer of the store is
 * not waited for and does not wait: if it wants to write into an old day meanwhile, it does, and the rewriting is
 * given up until the next time.
 */

/* Whether some day of @dir is to be rewritten at @now_ns, by what @limits say. */
bool hl_store_rewrite_due(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns);

/*
 * Rewrites all of them; their number to @ret. One that cannot be is left as it is, and the others go on. 0; -EBUSY:
 * another is at it; or the first failure.
 */
int hl_store_rewrite(const char *dir, const struct hl_store_limits *limits, uint64_t now_ns,
		     unsigned int *ret, struct hl_err *err);

#endif
