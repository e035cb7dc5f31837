/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_INSPECT_H
#define HL_STORE_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/body.h"

/* What one day's file holds. */
struct hl_day_info {
	uint64_t first_ns, last_ns; /* start of the first window, end of the last; 0: there are none */
	uint64_t windows, samples;
	struct hl_body_sum bodies;
};

/*
 * Looks into the file at @path; with @whole it reads all that a report would, and checks it. 0; -EBADMSG
 * damaged, with what is wrong; -ENOTSUP of a newer hotleaf; or -errno.
 */
int hl_day_inspect(const char *path, bool whole, struct hl_day_info *ret, struct hl_err *err);

#endif
