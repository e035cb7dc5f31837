/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_SORTED_H
#define HL_RENDER_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "render/render.h"

/* One table whose rows are what samples have in common, as perf report --sort has it. */

enum hl_sort_key {
	HL_SORT_ROOT, /* the frame at depth `root` that stacks begin with */
	HL_SORT_MODULE,
	HL_SORT_BUILD_ID,
	HL_SORT_FUNCTION, /* that executes; it may be inlined */
	HL_SORT_CALLER,   /* the function around or above it */
	HL_SORT_INSN,
	HL_SORT_MNEMONIC, /* with its prefixes: "lock cmpxchg" */
	HL_SORT_CLASS,    /* of the instruction */
	HL_SORT_KEYS,
};
/* By value, as options spell them; HL_SORT_ROOT has none. */
extern const char *const hl_sort_names[HL_SORT_KEYS];

struct hl_sort_column {
	enum hl_sort_key key;
	uint32_t root; /* of HL_SORT_ROOT: from 1 */
	const char *title;
};

enum { HL_SORT_MAX = 32 };

struct hl_sorting {
	struct hl_sort_column columns[HL_SORT_MAX];
	size_t n; /* 0: the usual tables */
	/* Rows with most samples in what they call come first, instead of those with most of their own. */
	bool by_total;
};

/*
 * Writes the table of @profile, all of its @top rows with most samples. Stacks must have a root for each column
 * of that kind. 0 or -ENOMEM.
 */
int hl_sorted_write(const struct hl_profile *profile, const struct hl_sorting *sorting, size_t top,
		    FILE *out);

#endif
