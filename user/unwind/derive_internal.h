/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_DERIVE_INTERNAL_H
#define HL_UNWIND_DERIVE_INTERNAL_H

/* What derive.c, derive_roots.c and derive_rows.c share. */

#include "unwind/derive.h"
#include "unwind/paths.h"

struct symbol {
	uint32_t at, size;
};

struct hl_derived {
	const struct hl_elf *elf;
	const struct hl_code *code;
	struct hl_paths paths;
	struct symbol *symbols; /* by position */
	size_t n_symbols, cap_symbols;
	uint32_t *roots; /* positions whose addresses are taken by data, or where the program begins */
	size_t n_roots, cap_roots;
	struct hl_derived_count count;
	const struct hl_stretch **by_start; /* the stretches */
	size_t n_by_start;
	bool has_sections;
	bool is_cut; /* a limit has ended the search before all was seen */
};

/* Finds the roots. 0 or -ENOMEM. */
int hl_derived_find_roots(struct hl_derived *d);

#endif
