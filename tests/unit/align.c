// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample */
#include "sample/align.h"

#include "harness.h"

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* 12:00:03.2, and a monotonic clock that started at some time. */
#define WALL (UINT64_C(1709121603) * S + 200 * MS)
#define MONO (UINT64_C(500) * S)

HL_TEST(windows_end_at_multiples)
{
	struct hl_aligned window = { 0 };
	struct hl_align align;
	unsigned int n = 0;

	hl_align_start(&align, 10 * S, WALL, MONO);
	CHECK_INT(hl_align_wait(WALL), 800 * MS);
	CHECK_INT(hl_align_wait(WALL - 200 * MS), S);
	/* A look each second, some milliseconds late. */
	for (uint64_t at = 800 * MS; at < 30 * S; at += S) {
		uint64_t late = at / S % 7 * MS;

		if (!hl_align_look(&align, WALL + at + late, MONO + at + late, &window))
			continue;
		CHECK_INT(window.end_ns % (10 * S), 0);
		CHECK_INT(window.start_ns, n ? window.end_ns - 10 * S : WALL);
		n++;
	}
	CHECK_INT(n, 3);
	window = hl_align_end(&align, MONO + 30 * S);
	CHECK_INT(window.start_ns, UINT64_C(1709121630) * S);
	CHECK(window.end_ns - WALL >= 29990 * MS && window.end_ns - WALL <= 30010 * MS);
}

HL_TEST(a_late_look_makes_a_longer_window)
{
	struct hl_aligned window;
	struct hl_align align;

	hl_align_start(&align, 10 * S, WALL, MONO);
	CHECK(hl_align_look(&align, WALL + 25 * S, MONO + 25 * S, &window));
	CHECK_INT(window.start_ns, WALL);
	CHECK_INT(window.end_ns, WALL + 25 * S);
	CHECK_INT(align.start_ns, WALL + 25 * S);
}

/* The clock jumps by @by_ns while two seconds pass: the window is two seconds long, whichever way it went. */
static void check_step(int64_t by_ns)
{
	struct hl_aligned window;
	struct hl_align align;
	uint64_t wall = WALL + 2 * S + (uint64_t)by_ns;

	hl_align_start(&align, 10 * S, WALL, MONO);
	CHECK(!hl_align_look(&align, WALL + S, MONO + S, &window));
	CHECK(hl_align_look(&align, wall, MONO + 2 * S, &window));
	CHECK_INT(window.start_ns, WALL);
	CHECK_INT(window.end_ns, WALL + 2 * S);
	CHECK_INT(align.start_ns, wall);
	CHECK(!hl_align_look(&align, wall + 100 * MS, MONO + 2 * S + 100 * MS, &window));
}

HL_TEST(a_clock_that_is_set)
{
	check_step(3600 * (int64_t)S);
	check_step(-3600 * (int64_t)S);
	check_step(-(int64_t)S);
	check_step((int64_t)S * 86400 * 365);
}

HL_TEST(a_clock_that_is_slewed)
{
	struct hl_aligned window;
	struct hl_align align;
	unsigned int n = 0;

	/* 500 parts in a million, as adjtime(3) does. */
	hl_align_start(&align, 10 * S, WALL, MONO);
	for (uint64_t at = S; at <= 1000 * S; at += hl_align_wait(WALL + at + at / 2000))
		if (hl_align_look(&align, WALL + at + at / 2000, MONO + at, &window)) {
			CHECK_INT(window.end_ns % (10 * S), 0);
			n++;
		}
	CHECK_INT(n, 100);
}

HL_TEST(no_window_is_empty)
{
	struct hl_align align;
	struct hl_aligned window;

	hl_align_start(&align, 10 * S, WALL, MONO);
	window = hl_align_end(&align, MONO);
	CHECK(window.end_ns > window.start_ns);
}
