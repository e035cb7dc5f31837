// SPDX-License-Identifier: BSD-2-Clause
#include "command/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cli.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS   (3600 * SECOND_NS)
#define DAY_NS    (24 * HOUR_NS)
/* Year 2262: later times do not fit into what is stored. */
#define LATEST_NS ((uint64_t)INT64_MAX)

/* Exactly @digits digits as a number from @low to @high; moves *@at behind them. */
static bool take_number(const char **at, int digits, int low, int high, int *ret)
{
	int n = 0;

	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*at)[i]))
			return false;
		n = 10 * n + ((*at)[i] - '0');
	}
	*at += digits;
	*ret = n;
	return n >= low && n <= high;
}

static bool take_char(const char **at, const char *any)
{
	if (!**at || !strchr(any, **at))
		return false;
	(*at)++;
	return true;
}

/* ".123" behind the seconds. */
static bool take_fraction(const char **at, uint64_t *ret_ns)
{
	uint64_t unit = SECOND_NS;

	if (!take_char(at, "."))
		return true;
	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++) {
		unit /= 10;
		*ret_ns += unit * (uint64_t)(**at - '0');
	}
	return true;
}

/* "12:00", "12:00:30", "12:00:30.5". */
static bool take_time_of_day(const char **at, struct tm *tm, uint64_t *ret_ns)
{
	if (!take_number(at, 2, 0, 23, &tm->tm_hour) || !take_char(at, ":") ||
	    !take_number(at, 2, 0, 59, &tm->tm_min))
		return false;
	if (!take_char(at, ":"))
		return true;
	return take_number(at, 2, 0, 60, &tm->tm_sec) && take_fraction(at, ret_ns);
}

/* "Z", "+01:00" or nothing, in seconds east of UTC. */
static bool take_zone(const char **at, int64_t *ret)
{
	int hours, minutes, sign;

	if (!**at || take_char(at, "Zz"))
		return true;
	sign = **at == '-' ? -1 : 1;
	if (!take_char(at, "+-") || !take_number(at, 2, 0, 23, &hours) || !take_char(at, ":") ||
	    !take_number(at, 2, 0, 59, &minutes))
		return false;
	*ret = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool parse_date(const char *at, uint64_t *ret)
{
	struct tm tm = { 0 }, again;
	uint64_t part_ns = 0;
	int64_t zone = 0, seconds;
	time_t t;

	if (!take_number(&at, 4, 1970, 2261, &tm.tm_year) || !take_char(&at, "-") ||
	    !take_number(&at, 2, 1, 12, &tm.tm_mon) || !take_char(&at, "-") ||
	    !take_number(&at, 2, 1, 31, &tm.tm_mday))
		return false;
	if (*at &&
	    (!take_char(&at, "Tt ") || !take_time_of_day(&at, &tm, &part_ns) || !take_zone(&at, &zone)))
		return false;
	if (*at)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	again = tm;
	t = timegm(&again);
	/* 30 February is none; a leap second is the first of the next minute. */
	if (again.tm_mday != tm.tm_mday && tm.tm_sec < 60)
		return false;
	seconds = (int64_t)t - zone;
	if (seconds < 0)
		return false;
	*ret = (uint64_t)seconds * SECOND_NS + part_ns;
	return true;
}

static uint64_t unit_of(char suffix)
{
	switch (suffix) {
	case '\0':
	case 's':
		return SECOND_NS;
	case 'm':
		return 60 * SECOND_NS;
	case 'h':
		return 3600 * SECOND_NS;
	case 'd':
		return DAY_NS;
	case 'w':
		return 7 * DAY_NS;
	default:
		return 0;
	}
}

/* "90s", "1h" or "1800", as nanoseconds. */
static bool parse_span(const char *text, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	return !errno && unit_of(*end) && (!*end || !end[1]) &&
	       !__builtin_mul_overflow(n, unit_of(*end), ret) && *ret <= LATEST_NS;
}

int hl_when_parse(const char *text, uint64_t now_ns, uint64_t *ret, struct hl_err *err)
{
	uint64_t today = now_ns - now_ns % DAY_NS, hour = now_ns - now_ns % HOUR_NS, ns = 0;
	bool good = true;

	if (strcmp(text, "now") == 0)
		ns = now_ns;
	else if (strcmp(text, "today") == 0)
		ns = today;
	else if (strcmp(text, "yesterday") == 0)
		ns = today > DAY_NS ? today - DAY_NS : 0;
	else if (strcmp(text, "this-hour") == 0)
		ns = hour;
	else if (strcmp(text, "last-hour") == 0)
		ns = hour > HOUR_NS ? hour - HOUR_NS : 0;
	else if (text[0] == '-') {
		good = parse_span(text + 1, &ns);
		ns = ns < now_ns ? now_ns - ns : 0;
	} else if (text[0] == '@')
		good = parse_span(text + 1, &ns) && isdigit((unsigned char)text[strlen(text) - 1]);
	else
		good = parse_date(text, &ns);
	if (!good)
		return hl_err_set(err, -EINVAL,
				  "\"%.60s\" is no point in time; give 2026-11-30T12:00:00Z, 2026-11-30, "
				  "today, yesterday, "
				  "now or a time ago as -1h",
				  text);
	*ret = ns;
	return 0;
}

int hl_when_range(const char *since, const char *until, uint64_t *ret_since_ns, uint64_t *ret_until_ns,
		  struct hl_err *err)
{
	uint64_t now_ns = hl_realtime_ns(), since_ns = 0, until_ns = 0;

	if (hl_when_parse(since, now_ns, &since_ns, err) || hl_when_parse(until, now_ns, &until_ns, err))
		return HL_EXIT_USAGE;
	if (since_ns >= until_ns)
		return hl_usage(err, "\"--since %s\" is not before \"--until %s\"", since, until);
	if (since_ns >= now_ns)
		return hl_usage(err, "\"--since %s\" is still to come", since);
	*ret_since_ns = since_ns;
	*ret_until_ns = until_ns;
	return 0;
}
