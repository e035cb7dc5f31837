/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_CODEMAP_H
#define HL_SYMBOL_CODEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The names of code that one process made while it ran: address ranges in the order in which they were told.
 * Of ranges that overlap the one told last counts, up to its ends: runtimes reuse the memory of old code.
 */
struct hl_code_map;

/* Beyond so many ranges in use, or bytes of names, what is told is dropped and counted. */
#define HL_CODE_MAP_RANGES (2u << 20)
#define HL_CODE_MAP_NAMES  (64u << 20)

/* An empty map, owned by the caller; NULL without memory. */
struct hl_code_map *hl_code_map_new(void);
void hl_code_map_free(struct hl_code_map *map);
/* Forgets all ranges, but not what was counted. */
void hl_code_map_clear(struct hl_code_map *map);

/*
 * Tells that @size bytes at @start are called @name from now on. No size means up to the next range, of 4 KiB at
 * most. Damaged: what lies not in user space, wraps around or has no name. Names are cut at HL_SYMBOL_NAME_MAX
 * bytes.
 */
void hl_code_map_add(struct hl_code_map *map, uint64_t start, uint64_t size, const char *name, size_t len);

/*
 * Tells that what begins at @from is at @to, too, from now on. It is looked for among the ranges one by one,
 * the last told first: @effort is how many may be looked at, and what is left of that.
 */
void hl_code_map_move(struct hl_code_map *map, uint64_t from, uint64_t to, uint64_t size, uint64_t *effort);

struct hl_code_counts {
	uint64_t told;    /* ranges that were added */
	uint64_t damaged; /* records that make no sense: left out */
	uint64_t dropped; /* records for which there was no room: left out */
	uint64_t
		left; /* bytes of the file that the last read left: no whole record, or too many for one go */
};
struct hl_code_counts hl_code_map_counts(const struct hl_code_map *map);
void hl_code_map_count_damaged(struct hl_code_map *map);
void hl_code_map_count_dropped(struct hl_code_map *map);
void hl_code_map_set_left(struct hl_code_map *map, uint64_t bytes);
/* Bytes of memory held. */
size_t hl_code_map_memory(const struct hl_code_map *map);

struct hl_code_symbol {
	uint64_t start, size; /* as told, also where a later range covers a part of it */
	const char *name;     /* any bytes, and a NUL behind them; valid until the next change of the map */
	size_t len;
	uint32_t id; /* of the name: equal ids are equal names until the next change */
};

/* What covers @address. False if nothing does, or without memory to put the ranges in order. */
bool hl_code_map_find(struct hl_code_map *map, uint64_t address, struct hl_code_symbol *ret);

#endif
