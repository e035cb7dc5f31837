// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include "capture/extents.h"

#include <errno.h>
#include <stdlib.h>

#include "harness.h"

enum { FIRST = 16, END = 4096, BOUNDARY = 256, ROUNDS = 200000, MOST = 512 };

/* The model: who owns each number, 0 for nobody. */
static uint16_t owner[END];

/* The lowest place by the definition, number by number; -1: none. */
static long lowest(uint32_t len, uint32_t boundary)
{
	for (uint32_t at = FIRST + FIRST % 2; at + len <= END; at += 2) {
		uint32_t i = 0;

		if (boundary && at / boundary != (at + len - 1) / boundary)
			continue;
		while (i < len && !owner[at + i])
			i++;
		if (i == len)
			return at;
	}
	return -1;
}

/* The free list says what the model says, and is in its one normal form. */
static void compare(const struct hl_extents *extents)
{
	uint32_t at = FIRST, total = 0;

	for (size_t i = 0; i < extents->n; i++) {
		const struct hl_extent *e = &extents->free[i];

		CHECK(e->len > 0 && e->start >= at && (i == 0 || e->start > at));
		for (; at < e->start; at++)
			CHECK(owner[at]);
		for (; at < e->start + e->len; at++)
			CHECK(!owner[at]);
		total += e->len;
	}
	for (; at < END; at++)
		CHECK(owner[at]);
	CHECK_INT(extents->free_total, total);
}

static void own(uint32_t start, uint32_t len, uint16_t who)
{
	for (uint32_t i = 0; i < len; i++)
		owner[start + i] = who;
}

HL_TEST(random_use_agrees_with_a_model)
{
	struct hl_extent taken[MOST];
	struct hl_extents extents;
	size_t n = 0, refused = 0;

	srandom(1);
	CHECK_INT(hl_extents_init(&extents, FIRST, END), 0);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t len = 1 + (uint32_t)random() % (random() % 8 ? 24 : 400), start = 0;
		uint32_t boundary = random() % 2 ? BOUNDARY : 0;

		/* Now rather full, now rather empty. */
		if (n < MOST && random() % 16 < (round / 5000 % 2 ? 10 : 6)) {
			long want = lowest(len, boundary);
			int code = hl_extents_take(&extents, len, boundary, &start);

			CHECK_INT(code, want < 0 ? -ENOSPC : 0);
			refused += code != 0;
			if (code)
				continue;
			CHECK_INT(start, want);
			own(start, len, 1);
			taken[n++] = (struct hl_extent){ start, len };
		} else if (n) {
			size_t at = (size_t)random() % n;

			hl_extents_give(&extents, taken[at].start, taken[at].len);
			own(taken[at].start, taken[at].len, 0);
			taken[at] = taken[--n];
		}
		CHECK_INT(extents.n_taken, n);
		if (round % 16 == 0)
			compare(&extents);
	}
	CHECK(refused > 100);
	while (n--)
		hl_extents_give(&extents, taken[n].start, taken[n].len);
	CHECK(extents.n == 1 && extents.free[0].start == FIRST && extents.free[0].len == END - FIRST);
	hl_extents_done(&extents);
}

HL_TEST(what_cannot_fit_is_refused)
{
	struct hl_extents extents;
	uint32_t start = 7;

	CHECK_INT(hl_extents_init(&extents, 0, 1024), 0);
	CHECK_INT(hl_extents_take(&extents, 1025, 0, &start), -ENOSPC);
	CHECK_INT(hl_extents_take(&extents, 257, 256, &start), -ENOSPC);
	CHECK_INT(start, 7);
	CHECK_INT(hl_extents_take(&extents, 1024, 0, &start), 0);
	CHECK_INT(start, 0);
	CHECK_INT(hl_extents_take(&extents, 1, 0, &start), -ENOSPC);
	hl_extents_done(&extents);
	CHECK_INT(hl_extents_init(&extents, 5, 5), 0);
	CHECK_INT(hl_extents_take(&extents, 1, 0, &start), -ENOSPC);
	hl_extents_done(&extents);
}
