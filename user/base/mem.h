/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_MEM_H
#define HL_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Grows the array at *@items, of *@cap elements of @size bytes, until it holds @need; at least doubles.
 * New elements are not cleared. Returns 0; -ENOMEM, also on overflow; -E2BIG if @need > @limit. On failure
 * nothing changes. *@items is released with free().
 */
int hl_grow(void *items, size_t *cap, size_t need, size_t size, size_t limit);

/*
 * A region from which small objects are taken one by one and given back all at once. Zero-initialised is
 * empty. Objects are aligned to 8 bytes and never move.
 */
struct hl_arena {
	struct hl_arena_block *block;
	size_t used;
	size_t total; /* bytes taken from malloc */
};

/* @size bytes, not cleared; NULL without memory. */
void *hl_arena_take(struct hl_arena *arena, size_t size);
/* A NUL-terminated copy of @len bytes of @text; NULL without memory. */
char *hl_arena_copy(struct hl_arena *arena, const char *text, size_t len);
void hl_arena_done(struct hl_arena *arena);

/*
 * An open-addressing index over an array that the caller keeps: it maps a 64-bit hash to positions in that
 * array. Zero-initialised is empty. Equality is the caller's: @same(ctx, position) says whether the element
 * at that position is the one looked for; it is asked only where the whole hash agrees.
 */
struct hl_index {
	struct hl_index_slot *slots;
	size_t mask;
	size_t used;
};
typedef int (*hl_index_same_fn)(const void *ctx, uint32_t position);

#define HL_INDEX_NONE UINT32_MAX

uint32_t hl_index_find(const struct hl_index *index, uint64_t hash, hl_index_same_fn same, const void *ctx);
/* Adds @position (not HL_INDEX_NONE) under @hash; the caller has looked it up before. 0 or -ENOMEM. */
int hl_index_add(struct hl_index *index, uint64_t hash, uint32_t position);
/* Forgets everything, keeps the memory. */
void hl_index_clear(struct hl_index *index);
void hl_index_done(struct hl_index *index);

#endif
