/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_WHEN_H
#define HL_COMMAND_WHEN_H

#include <stdint.h>

#include "base/err.h"

/*
 * A point in time as a person writes it, in nanoseconds since the epoch: RFC 3339 (2026-11-30T12:00:00Z, or
 * +01:00 for the Z; a blank for the T; without a zone UTC; without seconds or the time of day too), @SECONDS
 * since the epoch, now, today, yesterday, this-hour and last-hour (their first moments, UTC), or -90s, -5m, -1h,
 * -7d before @now_ns. 0 or -EINVAL.
 */
int hl_when_parse(const char *text, uint64_t now_ns, uint64_t *ret, struct hl_err *err);

/* The span from --since to --until, which has begun and is not empty. 0 or HL_EXIT_USAGE. */
int hl_when_range(const char *since, const char *until, uint64_t *ret_since_ns, uint64_t *ret_until_ns,
		  struct hl_err *err);

#endif
