// SPDX-License-Identifier: BSD-2-Clause
/* needs: all */
#include "command/caps.h"

#include "harness.h"

/* An agent that costs what it is told, for a sample, and in steady work. */

#define SECOND UINT64_C(1000000000)
#define MB     (UINT64_C(1) << 20)

static const struct hl_caps_limits limits = { .cpu = 1000, .bytes = 100 * MB, .hold_ns = 60 * SECOND };
static struct hl_caps caps;

/* A look after ten seconds on two CPUs; one percent of them is 200 ms. Returns whether something changed. */
static bool look(double cpu_ms, uint64_t mb, uint64_t table_mb)
{
	const struct hl_caps_use use = { .elapsed_ns = 10 * SECOND,
					 .cpu_ns = (uint64_t)(cpu_ms * 1e6),
					 .cpus = 2,
					 .bytes = mb * MB,
					 .table_bytes = table_mb * MB };

	return hl_caps_look(&caps, &use);
}

/* The same of a cost that is proportional to the frequency, but for @steady_ms. */
static bool look_by_frequency(double full_ms, double steady_ms)
{
	return look(steady_ms + full_ms * hl_caps_frequency(&caps) / caps.frequency, 50, 20);
}

static void check_said(const char *want)
{
	char said[200];

	hl_caps_say(&caps, said, sizeof(said));
	CHECK_STR(said, want);
}

HL_TEST(a_burst_is_paid_from_what_was_saved)
{
	hl_caps_init(&caps, &limits, 99, 128);
	/* A minute's worth is 1,200 ms. */
	CHECK(!look(1100, 50, 20));
	CHECK(!look(150, 50, 20));
	CHECK_INT(hl_caps_frequency(&caps), 99);
	check_said("");
	for (int i = 0; i < 3; i++)
		CHECK(!look(250, 50, 20)); /* 50 too many each, of 150 saved */
	CHECK(look(250, 50, 20));
	CHECK_INT(hl_caps_frequency(&caps), 49);
	CHECK_INT(caps.hit[HL_CAP_CPU], 1);
	check_said("over --cpu-max: sampled at 49 Hz instead of 99");
}

HL_TEST(steps_go_on_until_it_fits)
{
	int steps = 0, looks = 0;

	hl_caps_init(&caps, &limits, 99, 128);
	for (; looks < 100; looks++)
		steps += look_by_frequency(700, 20);
	CHECK_INT(steps, 2);
	CHECK_INT(hl_caps_frequency(&caps), 24); /* 190 ms; at 49 Hz it would be 366 */
	CHECK_INT(hl_caps_tables_mb(&caps), 128);
	/* The load goes, and what was done for it is undone, one step after the other. */
	for (looks = 0; caps.level && looks < 100; looks++)
		(void)look_by_frequency(40, 20);
	CHECK_INT(looks, 1 + 6); /* the first was held for long enough */
	CHECK_INT(hl_caps_frequency(&caps), 99);
}

HL_TEST(what_comes_again_is_held_for_longer)
{
	int changes = 0;

	/* It fits just so after a step, and other work comes whenever that is undone. */
	hl_caps_init(&caps, &limits, 99, 128);
	for (int i = 0; i < 6 * 60 * 6; i++)
		changes += look(caps.level ? 80 : 900, 50, 20);
	NOTE("%d changes in six hours", changes);
	CHECK(changes >= 4 && changes <= 24);
}

HL_TEST(frequencies_end_at_one)
{
	hl_caps_init(&caps, &limits, 3, 128);
	for (int i = 0; i < 50; i++)
		(void)look(90000, 50, 20);
	CHECK_INT(hl_caps_frequency(&caps), 1);
	CHECK_INT(caps.level, 1 + 2);
	hl_caps_init(&caps, &limits, 1, 128);
	CHECK(look(90000, 50, 20));
	CHECK_INT(hl_caps_frequency(&caps), 1);
	CHECK(hl_caps_tables_mb(&caps) < 128);
}

HL_TEST(memory_ends_in_fewer_tables)
{
	hl_caps_init(&caps, &limits, 19, 128);
	for (int i = 0; i < 3; i++) {
		CHECK(look(10, 120, 63));
		CHECK_INT(hl_caps_tables_mb(&caps), 128);
	}
	CHECK_INT(hl_caps_frequency(&caps), 2);
	CHECK(look(10, 120, 63));
	CHECK_INT(hl_caps_tables_mb(&caps), 32);
	check_said("over --memory-max: sampled at 2 Hz instead of 19, unwind tables below 32 MB");
	CHECK(!look(10, 89, 32));
	/* No room for 32 MB more: that stays; the frequency is not given back before. */
	for (int i = 0; i < 50; i++)
		CHECK(!look(10, 89, 32));
	for (int i = 0; i < 6; i++)
		(void)look(10, 50, 32);
	CHECK_INT(hl_caps_tables_mb(&caps), 128);
	for (int i = 0; i < 3 * 6; i++)
		(void)look(10, 50, 32);
	CHECK_INT(caps.level, 0);
	CHECK_INT(hl_caps_frequency(&caps), 19);
	CHECK_INT(caps.hit[HL_CAP_MEMORY], 4);
	CHECK_INT(caps.hit[HL_CAP_CPU], 0);
}

HL_TEST(no_caps_no_steps)
{
	static const struct hl_caps_limits none = { .hold_ns = 60 * SECOND };

	hl_caps_init(&caps, &none, 99, 128);
	for (int i = 0; i < 100; i++)
		CHECK(!look(19000, 10000, 900));
	CHECK_INT(hl_caps_frequency(&caps), 99);
}
