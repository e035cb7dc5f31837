// SPDX-License-Identifier: BSD-2-Clause
#include "command/report_name.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "render/render.h"

#define SECOND_NS UINT64_C(1000000000)

enum { TIME_LEN = 16, MOST_DIGITS = 9 };

/* The number of the @n digits at @text. */
static int number(const char *text, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++)
		value = 10 * value + (text[i] - '0');
	return value;
}

/* "20261130T120000Z" */
static bool parse_time(const char *text, uint64_t *ret_ns)
{
	struct tm tm = { 0 };
	time_t t;

	for (int i = 0; i < TIME_LEN; i++)
		if (i == 8 ? text[i] != 'T' : i == 15 ? text[i] != 'Z' : !isdigit((unsigned char)text[i]))
			return false;
	tm.tm_year = number(text, 4) - 1900;
	tm.tm_mon = number(text + 4, 2) - 1;
	tm.tm_mday = number(text + 6, 2);
	tm.tm_hour = number(text + 9, 2);
	tm.tm_min = number(text + 11, 2);
	tm.tm_sec = number(text + 13, 2);
	if (tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	t = timegm(&tm);
	if (t < 0 || (uint64_t)t > INT64_MAX / SECOND_NS)
		return false;
	*ret_ns = (uint64_t)t * SECOND_NS;
	return true;
}

static bool is_extension(const char *text)
{
	static const char diff[] = "diff.";

	if (hl_starts_with(text, diff))
		text += strlen(diff);
	return hl_writer_find_extension(text) != NULL;
}

/* Where "-20261130T120000Z-60s." stands with that as its last part; a host's name may have dashes and dots. */
static bool parse_at(const char *file, const char *dash, struct hl_report_name *ret)
{
	const char *length = dash + 1 + TIME_LEN, *digits = length + 1, *end;
	uint64_t start_ns;

	if (strlen(dash) < TIME_LEN + 5 || *length != '-' || !parse_time(dash + 1, &start_ns))
		return false;
	for (end = digits; isdigit((unsigned char)*end); end++)
		;
	if (end == digits || end - digits > MOST_DIGITS || end[0] != 's' || end[1] != '.' ||
	    !is_extension(end + 2))
		return false;
	ret->host_len = (size_t)(dash - file);
	ret->stem_len = (size_t)(end + 1 - file);
	ret->extension = end + 2;
	ret->start_ns = start_ns;
	ret->end_ns = start_ns + (uint64_t)number(digits, (int)(end - digits)) * SECOND_NS;
	return true;
}

bool hl_report_name_parse(const char *file, struct hl_report_name *ret)
{
	if (*file == '.')
		return false;
	for (const char *dash = strchr(file, '-'); dash; dash = strchr(dash + 1, '-'))
		if (dash > file && parse_at(file, dash, ret))
			return true;
	return false;
}
