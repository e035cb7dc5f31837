// SPDX-License-Identifier: BSD-2-Clause
/* needs: all */
#include "command/when.h"

#include <errno.h>

#include "harness.h"

#define S    UINT64_C(1000000000)
/* 2024-02-28T12:00:00Z, a Wednesday. */
#define NOON (UINT64_C(1709121600) * S)

static void check(const char *text, uint64_t want)
{
	struct hl_err err = { "" };
	uint64_t got = 0;

	if (hl_when_parse(text, NOON + 5, &got, &err))
		FAIL("%s: %s", text, err.text);
	if (got != want)
		FAIL("%s is %llu, should be %llu", text, (unsigned long long)got, (unsigned long long)want);
}

static void refuse(const char *text)
{
	struct hl_err err = { "" };
	uint64_t got = 7;

	if (hl_when_parse(text, NOON, &got, &err) != -EINVAL)
		FAIL("\"%s\" is taken for %llu", text, (unsigned long long)got);
	CHECK_INT(got, 7);
	CHECK(strstr(err.text, "is no point in time"));
}

HL_TEST(points_in_time)
{
	check("2024-02-28T12:00:00Z", NOON);
	check("2024-02-28t12:00:00z", NOON);
	check("2024-02-28 12:00", NOON);
	check("2024-02-28T12:00:00", NOON);
	check("2024-02-28T12:00:30.25Z", NOON + 30 * S + S / 4);
	check("2024-02-28T13:00:00+01:00", NOON);
	check("2024-02-28T06:30:00-05:30", NOON);
	check("2024-02-28", NOON - 12 * 3600 * S);
	check("2024-02-29", NOON + 12 * 3600 * S);
	check("1970-01-01", 0);
	check("2016-12-31T23:59:60Z", UINT64_C(1483228800) * S);
	check("@1709121600", NOON);
	check("now", NOON + 5);
	check("today", NOON - 12 * 3600 * S);
	check("yesterday", NOON - 36 * 3600 * S);
	check("this-hour", NOON);
	check("last-hour", NOON - 3600 * S);
	check("-1h", NOON + 5 - 3600 * S);
	check("-90s", NOON + 5 - 90 * S);
	check("-90", NOON + 5 - 90 * S);
	check("-5m", NOON + 5 - 300 * S);
	check("-7d", NOON + 5 - 7 * 86400 * S);
	check("-1w", NOON + 5 - 7 * 86400 * S);
	check("-100000d", 0);
}

HL_TEST(what_is_none)
{
	static const char *const none[] = {
		"",
		"tomorrow",
		"2024",
		"2024-2-28",
		"2024-02-30",
		"2023-02-29",
		"2024-13-01",
		"2024-00-10",
		"2024-02-28T",
		"2024-02-28T12",
		"2024-02-28T24:00:00Z",
		"2024-02-28T12:60",
		"2024-02-28T12:00:00.Z",
		"2024-02-28T12:00:00+1:00",
		"2024-02-28T12:00:00Zx",
		"1969-12-31",
		"1970-01-01T00:00:00+01:00",
		"-",
		"-h",
		"-1x",
		"-1hh",
		"--1h",
		"+1h",
		"@",
		"@x",
		"@1h",
		"-99999999999999999999",
		"2024-02-28x",
		" 2024-02-28",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		refuse(none[i]);
}
