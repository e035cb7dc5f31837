// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

#include "harness.h"

HL_TEST(grow_doubles_and_respects_its_limit)
{
	int *items = NULL;
	size_t cap = 0;

	CHECK_INT(hl_grow(&items, &cap, 17, sizeof(*items), 100), 0);
	CHECK_INT(cap, 32);
	CHECK_INT(hl_grow(&items, &cap, 90, sizeof(*items), 100), 0);
	CHECK_INT(cap, 100);
	CHECK_INT(hl_grow(&items, &cap, 101, sizeof(*items), 100), -E2BIG);
	CHECK_INT(hl_grow(&items, &cap, SIZE_MAX / 2, sizeof(*items), SIZE_MAX), -ENOMEM);
	CHECK_INT(cap, 100);
	free(items);
}

HL_TEST(arena_objects_do_not_overlap)
{
	struct hl_arena arena = { 0 };
	char *objects[2000];

	for (int i = 0; i < 2000; i++) {
		objects[i] = hl_arena_take(&arena, (size_t)i * 10);
		memset(objects[i], i, (size_t)i * 10);
	}
	for (int i = 0; i < 2000; i++)
		for (int k = 0; k < i * 10; k++)
			CHECK(objects[i][k] == (char)i);
	CHECK_STR(hl_arena_copy(&arena, "abcdef", 3), "abc");
	hl_arena_done(&arena);
	CHECK(!arena.block);
}

struct wanted {
	const int *values;
	int value;
};

static int same(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return w->values[position] == w->value;
}

HL_TEST(index_finds_each_among_equal_hashes)
{
	enum { N = 5000 };
	static int values[N];
	struct hl_index index = { 0 };
	struct wanted w = { values, 0 };

	for (int i = 0; i < N; i++) {
		values[i] = i * 7;
		CHECK_INT(hl_index_add(&index, (uint64_t)(i / 4), (uint32_t)i), 0);
	}
	for (int i = 0; i < N; i++) {
		w.value = i * 7;
		CHECK_INT(hl_index_find(&index, (uint64_t)(i / 4), same, &w), i);
	}
	w.value = 3;
	CHECK_INT(hl_index_find(&index, 3, same, &w), HL_INDEX_NONE);
	hl_index_clear(&index);
	w.value = 7;
	CHECK_INT(hl_index_find(&index, 0, same, &w), HL_INDEX_NONE);
	hl_index_done(&index);
}
