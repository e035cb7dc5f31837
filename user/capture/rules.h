/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_RULES_H
#define HL_CAPTURE_RULES_H

/* Unwind rules, of which all tables share equal ones; private to this folder. */

#include <stdint.h>

#include "base/mem.h"
#include <hotleaf/unwind.h>

/* Zero-initialised is without room. */
struct hl_rules {
	struct hl_unwind_rule *items; /* as programs see them */
	uint32_t *users;              /* how many tables have each */
	uint32_t n, max;              /* that were ever taken; that there is room for */
	uint32_t *spare;              /* numbers below n without users, found by the last sweep */
	uint32_t n_spare;
	struct hl_index index;
};

/* Over @max items at @items, which stay the caller's. 0 or -ENOMEM. */
int hl_rules_init(struct hl_rules *rules, struct hl_unwind_rule *items, uint32_t max);
void hl_rules_done(struct hl_rules *rules);

/* The number of @rule, which has one user more. -ENOSPC: all are in use; -ENOMEM. */
int hl_rules_take(struct hl_rules *rules, const struct hl_unwind_rule *rule, uint32_t *ret);
/* One user less, of whom programs see nothing any more. */
void hl_rules_give(struct hl_rules *rules, uint32_t number);

#endif
