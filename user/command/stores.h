/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_STORES_H
#define HL_COMMAND_STORES_H

#include "base/err.h"

struct hl_reading;
struct hl_store_query;
struct hl_words;

/*
 * Reads what @query asks for from the stores in @dirs, which may hold the wildcards of glob(7), or from the agent's
 * if there are none. 0; -ENODATA if there is nothing; or -errno. To be released with hl_reading_free().
 */
int hl_stores_read(const struct hl_words *dirs, const struct hl_store_query *query, struct hl_reading **ret,
		   struct hl_err *err);

#endif
