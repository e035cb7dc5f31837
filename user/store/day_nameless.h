/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_NAMELESS_H
#define HL_STORE_DAY_NAMELESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

struct hl_ids;
struct hl_rows;

/*
 * Processes without their pid, as long spans of time hold them: of ten thousand compilers with the same stacks
 * one row is left. What else is known of them stays.
 */
struct day_nameless {
	struct hl_ids *ids; /* the caller's */
	struct hl_rows *rows;
	uint32_t *map; /* by thread; 0: not met yet */
	size_t n, cap;
};

/* Of the day in @db, whose rows @ids numbers. 0 or -errno. To be released in any case, before @db is closed. */
int day_nameless_init(struct day_nameless *nameless, struct hl_db *db, struct hl_ids *ids,
		      struct hl_err *err);
void day_nameless_done(struct day_nameless *nameless);

/* The thread that stands for @thread; rows that are lacking are inserted. 0 or -errno. */
int day_nameless_thread(struct day_nameless *nameless, uint32_t thread, uint32_t *ret, struct hl_err *err);

#endif
