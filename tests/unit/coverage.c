// SPDX-License-Identifier: BSD-2-Clause
/* needs: base store sample profile */

/* What is said of the time that no window covers. */

#include "store/coverage.h"

#include <stdio.h>

#include "base/clock.h"
#include "harness.h"

#define SECOND_NS UINT64_C(1000000000)

enum { HOST = 3 };

/* 2024-02-28T12:00:00Z */
static const uint64_t noon_ns = UINT64_C(1709121600) * SECOND_NS;

static void add_of(struct hl_coverage *c, uint64_t start_s, uint64_t end_s, uint32_t file)
{
	struct hl_span span = { noon_ns + start_s * SECOND_NS, noon_ns + end_s * SECOND_NS, HOST, file };

	CHECK_INT(hl_coverage_add(c, &span), 0);
}

static void add(struct hl_coverage *c, uint64_t start_s, uint64_t end_s)
{
	add_of(c, start_s, end_s, 1);
}

static void check_said(struct hl_coverage *c, uint64_t since_s, uint64_t until_s, const char *expected)
{
	struct hl_str text = { 0 };

	hl_coverage_say(c, HOST, noon_ns + since_s * SECOND_NS, noon_ns + until_s * SECOND_NS, 0, &text);
	CHECK_STR(text.data, expected);
	hl_str_done(&text);
	hl_coverage_done(c);
}

HL_TEST(a_range_that_begins_within_a_window)
{
	struct hl_coverage c = { 0 };

	add(&c, 10, 20);
	add(&c, 20, 30);
	check_said(&c, 3, 30, "2 windows, none missing");
	add(&c, 10, 20);
	check_said(&c, 0, 20,
		   "1 window, 10 s missing: 2024-02-28T12:00:00Z to 2024-02-28T12:00:10Z (the agent did not "
		   "run)");
	/* Of an hour's sum it is worth a word. */
	add(&c, 3600, 7200);
	check_said(&c, 3000, 7200,
		   "1 window, 600 s missing: 2024-02-28T12:50:00Z to 2024-02-28T13:00:00Z "
		   "(in a window that began before)");
}

HL_TEST(a_gap_that_was_noted_is_said)
{
	struct hl_gap gap = { .start_ns = noon_ns + 2 * SECOND_NS,
			      .end_ns = noon_ns + 10 * SECOND_NS,
			      .reason = "disabled" };
	struct hl_coverage c = { 0 };

	add(&c, 10, 20);
	CHECK_INT(hl_coverage_add_gap(&c, HOST, &gap), 0);
	check_said(&c, 3, 20,
		   "1 window, 7 s missing: 2024-02-28T12:00:03Z to 2024-02-28T12:00:10Z (disabled)");
}

HL_TEST(a_gap_of_another_host_says_nothing)
{
	struct hl_gap gap = { .start_ns = noon_ns, .end_ns = noon_ns + 10 * SECOND_NS, .reason = "disabled" };
	struct hl_coverage c = { 0 };

	add(&c, 10, 20);
	CHECK_INT(hl_coverage_add_gap(&c, HOST + 1, &gap), 0);
	check_said(&c, 0, 20,
		   "1 window, 10 s missing: 2024-02-28T12:00:00Z to 2024-02-28T12:00:10Z (the agent did not "
		   "run)");
	add(&c, 10, 20);
	CHECK_INT(hl_coverage_add_gap(&c, HL_ANY_HOST, &gap), 0);
	check_said(&c, 0, 20,
		   "1 window, 10 s missing: 2024-02-28T12:00:00Z to 2024-02-28T12:00:10Z (disabled)");
}

HL_TEST(a_store_that_is_given_twice)
{
	struct hl_coverage c = { 0 };

	for (unsigned int turn = 0; turn < 2; turn++) {
		add_of(&c, 0, 10, turn);
		add_of(&c, 10, 20, turn);
	}
	check_said(&c, 0, 20,
		   "4 windows, none missing; 2 windows of a time that others have too, whose samples COUNT "
		   "TWICE: "
		   "leave out the store that is given twice, or is a copy");
}

HL_TEST(a_clock_that_was_set_back)
{
	struct hl_coverage c = { 0 };

	add(&c, 0, 10);
	add(&c, 10, 20);
	add(&c, 5, 15);
	check_said(
		&c, 0, 20,
		"3 windows, none missing; 2 windows of a time that others have too: the clock was set back");
}
