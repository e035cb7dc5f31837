// SPDX-License-Identifier: BSD-2-Clause
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hl_grow(void *items, size_t *cap, size_t need, size_t size, size_t limit)
{
	size_t want = *cap ? *cap : 16, bytes;
	void *grown;

	if (need <= *cap)
		return 0;
	if (need > limit)
		return -E2BIG;
	while (want < need)
		if (__builtin_mul_overflow(want, 2, &want))
			return -ENOMEM;
	if (want > limit)
		want = limit;
	if (__builtin_mul_overflow(want, size, &bytes))
		return -ENOMEM;
	grown = realloc(*(void **)items, bytes);
	if (!grown)
		return -ENOMEM;
	*(void **)items = grown;
	*cap = want;
	return 0;
}

struct hl_arena_block {
	struct hl_arena_block *next;
	size_t size;
	char bytes[] __attribute__((aligned(8)));
};

void *hl_arena_take(struct hl_arena *arena, size_t size)
{
	enum { BLOCK = 64 * 1024 };
	struct hl_arena_block *block = arena->block;
	void *object;

	if (size > SIZE_MAX - BLOCK)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (!block || block->size - arena->used < size) {
		size_t room = size > BLOCK / 4 ? size : BLOCK;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->size = room;
		block->next = arena->block;
		arena->block = block;
		arena->used = 0;
		arena->total += sizeof(*block) + room;
	}
	object = block->bytes + arena->used;
	arena->used += size;
	return object;
}

char *hl_arena_copy(struct hl_arena *arena, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? hl_arena_take(arena, len + 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void hl_arena_done(struct hl_arena *arena)
{
	struct hl_arena_block *block = arena->block, *next;

	for (; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct hl_arena){ 0 };
}

struct hl_index_slot {
	uint64_t hash;
	uint32_t position; /* plus one; 0: free */
};

uint32_t hl_index_find(const struct hl_index *index, uint64_t hash, hl_index_same_fn same, const void *ctx)
{
	size_t i;

	if (!index->slots)
		return HL_INDEX_NONE;
	for (i = hash & index->mask; index->slots[i].position; i = (i + 1) & index->mask)
		if (index->slots[i].hash == hash && same(ctx, index->slots[i].position - 1))
			return index->slots[i].position - 1;
	return HL_INDEX_NONE;
}

static void index_put(struct hl_index_slot *slots, size_t mask, struct hl_index_slot slot)
{
	size_t i = slot.hash & mask;

	while (slots[i].position)
		i = (i + 1) & mask;
	slots[i] = slot;
}

int hl_index_add(struct hl_index *index, uint64_t hash, uint32_t position)
{
	/* At most two thirds full, so that a probe ends soon. */
	if (!index->slots || (index->used + 1) * 3 > (index->mask + 1) * 2) {
		size_t mask = index->slots ? index->mask * 2 + 1 : 63, i;
		struct hl_index_slot *slots = calloc(mask + 1, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		for (i = 0; index->slots && i <= index->mask; i++)
			if (index->slots[i].position)
				index_put(slots, mask, index->slots[i]);
		free(index->slots);
		index->slots = slots;
		index->mask = mask;
	}
	index_put(index->slots, index->mask, (struct hl_index_slot){ hash, position + 1 });
	index->used++;
	return 0;
}

void hl_index_clear(struct hl_index *index)
{
	if (index->slots)
		memset(index->slots, 0, (index->mask + 1) * sizeof(*index->slots));
	index->used = 0;
}

void hl_index_done(struct hl_index *index)
{
	free(index->slots);
	*index = (struct hl_index){ 0 };
}
