/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_SEEN_H
#define HL_STORE_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/mem.h"

struct day_source;
struct day_window;

/*
 * Windows that were read, to know them again in a copy. The same is what has the same source, time, and sums of
 * all kinds, among them what hotleaf itself took, to the nanosecond, which no two measure alike. Of a window in
 * which that is not known nothing is certain.
 */
struct hl_seen {
	struct hl_id *ids;
	size_t n, cap;
	struct hl_index index;
};

bool hl_seen_has(const struct hl_seen *seen, const struct day_source *source,
		 const struct day_window *window);
/* Adds one that is not there. 0 or -ENOMEM. */
int hl_seen_add(struct hl_seen *seen, const struct day_source *source, const struct day_window *window);
void hl_seen_done(struct hl_seen *seen);

#endif
