/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_MAPS_H
#define HL_SYMD_MAPS_H

/* What processes tell of the code that they made, by the client's number of the process; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_code_line;
struct hl_code_symbol;
struct hl_err;

/* Zero-initialised is empty. */
struct hl_symd_maps {
	struct hl_symd_process **items; /* by number; NULL: unknown */
	size_t n, cap;
	size_t memory;
};

void hl_symd_maps_done(struct hl_symd_maps *maps);

/* Reads what was appended to @fd, the file of kind @map->kind of process @number. */
int hl_symd_maps_read(struct hl_symd_maps *maps, uint32_t number, int fd, const struct hl_symd_map *map,
		      struct hl_symd_map_counts *ret, struct hl_err *err);

/* What covers @address in process @number, and which kind of file told it. */
bool hl_symd_maps_find(const struct hl_symd_maps *maps, uint32_t number, uint64_t address,
		       struct hl_code_symbol *ret, enum hl_symd_map_kind *ret_kind);

/* The source line of @address in code that begins at @start, as a jitdump told. */
bool hl_symd_maps_find_line(const struct hl_symd_maps *maps, uint32_t number, uint64_t start,
			    uint64_t address, struct hl_code_line *ret);

#endif
