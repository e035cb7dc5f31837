/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_TIERS_H
#define HL_COMMAND_TIERS_H

#include <stdint.h>

#include "base/err.h"
#include "profile/loops.h"
#include <hotleaf/symd.h>

struct hl_symd;

/* What stands between a function and its instruction in a stack: the innermost loop around that. */
struct hl_tiers;

/* @symd stays the caller's. NULL without memory. hl_tiers_free() accepts NULL. */
struct hl_tiers *hl_tiers_new(struct hl_symd *symd);
void hl_tiers_free(struct hl_tiers *tiers);

/*
 * The innermost loop around the place of @query, answered by @answer. 1 with the loop in @ret; 0: there is none;
 * -ENODATA: the function's code is not there to look for one, or is too entangled, or goes round there with two
 * ways in; -ENOMEM. Each function is listed once.
 */
int hl_tiers_loop(struct hl_tiers *tiers, const struct hl_symd_query *query,
		  const struct hl_symd_answer *answer, struct hl_loop *ret);

#endif
