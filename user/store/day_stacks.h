/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_STACKS_H
#define HL_STORE_DAY_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct day_reader;
struct hl_profile;

/*
 * The stacks of a day, which are read where they are needed: a short range, or one container, needs few of them.
 * Every number is checked before it is used: a day may be damaged in ways that SQLite does not see.
 */
struct day_stacks;

/* Frames go to @profile; without instructions and parts of functions if @functions. 0 or -errno. */
int day_stacks_new(struct day_reader *day, struct hl_profile *profile, bool functions,
		   struct day_stacks **ret, struct hl_err *err);
void day_stacks_free(struct day_stacks *stacks);

/* Reads stack @node and all that it consists of. 0; -EBADMSG: there is none, or it is damaged; or -errno. */
int day_stacks_need(struct day_stacks *stacks, uint32_t node, struct hl_err *err);
/* The profile's frame of the function that stack @node ends in, of which no more is read. As day_stacks_need(). */
int day_stacks_function(struct day_stacks *stacks, uint32_t node, uint32_t *ret, struct hl_err *err);
/*
 * The profile's node of stack @node, which was read, below its node @root. Roots one after the other: all of
 * one, then all of the next. 0 or -ENOMEM.
 */
int day_stacks_below(struct day_stacks *stacks, uint32_t root, uint32_t node, uint32_t *ret);

#endif
