/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_TABLES_H
#define HL_CAPTURE_TABLES_H

/* What is loaded where; private to this folder. */

#include "capture/rules.h"
#include "capture/slabs.h"

struct hl_table {
	struct hl_table *next;
	uint32_t file; /* id */
	uint32_t words;
	struct hl_extent *extents; /* the first begins with the head and the page index */
	size_t n_extents, cap_extents;
	uint32_t *rules; /* by their number in the file's own table */
	uint32_t n_rules;
};

struct hl_tables {
	struct hl_slabs slabs;
	struct hl_rules rules;
	struct hl_unwind_rule *rule_map; /* mapped */
	struct hl_file *states;          /* mapped, by id */
	struct hl_table *loaded;         /* one a file at most */
	struct hl_table *dead;           /* that no state leads to any more, but a run may be reading */
	/* Other threads read these. */
	uint64_t n_dropped, n_refused;
};

/*
 * Makes @word the `table` of file @id, whose table, if it had one, is dead from here on. The caller then
 * calls hl_tables_bury().
 */
void hl_tables_point(struct hl_tables *tables, uint32_t id, uint32_t word);

#endif
