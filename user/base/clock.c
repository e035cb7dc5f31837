// SPDX-License-Identifier: BSD-2-Clause
#include "base/clock.h"

#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t); /* cannot fail for the clocks used here */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t hl_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t hl_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t hl_process_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static char *format(uint64_t ns, const char *form, char *buf)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(buf, HL_TIME_SIZE, form, &tm) == 0)
		buf[0] = 0;
	return buf;
}

char *hl_time_text(uint64_t ns, char buf[static HL_TIME_SIZE])
{
	return format(ns, "%Y-%m-%dT%H:%M:%SZ", buf);
}

char *hl_time_file_name(uint64_t ns, char buf[static HL_TIME_SIZE])
{
	return format(ns, "%Y%m%dT%H%M%SZ", buf);
}
