/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_BODIES_H
#define HL_STORE_DAY_BODIES_H

#include "base/str.h"
#include "store/body.h"
#include "store/db.h"

struct day_copy;
struct day_reader;

/* The code of functions on its way into a day: equal bytes stand there once. */
struct day_bodies {
	struct hl_query *same_code, *code, *same, *function;
	struct hl_str room;
	uint64_t bytes;
	int64_t last_code, last;
};

/* Looks what the day @db holds. 0 or -errno; to be released with day_bodies_done() in any case. */
int day_bodies_init(struct day_bodies *bodies, struct hl_db *db, struct hl_err *err);
void day_bodies_done(struct day_bodies *bodies);

/*
 * Adds @body of the function whose frame has number @frame, unless it is there. Beyond @limit bytes in the day it
 * is noted as one that found no room. 0 or -errno.
 */
int day_bodies_put(struct day_bodies *bodies, uint32_t frame, const struct hl_body *body, uint64_t limit,
		   struct hl_err *err);

/* Adds those of @from whose functions @copy has copied. 0; -EBADMSG: @from is damaged; or -errno. */
int day_bodies_copy(struct day_bodies *bodies, struct day_reader *from, struct day_copy *copy,
		    struct hl_err *err);

/*
 * Gives all of @day to @take, which may be NULL, and adds them to @sum. Damaged ones are counted, and left out.
 * 0 or -errno.
 */
int day_bodies_each(struct day_reader *day, hl_body_fn take, void *ctx, struct hl_body_sum *sum,
		    struct hl_err *err);

#endif
