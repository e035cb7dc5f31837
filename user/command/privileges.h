/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_PRIVILEGES_H
#define HL_COMMAND_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What a recording keeps of its capabilities once all is attached, and why; it drops every other. */
struct hl_privilege {
	unsigned int cap; /* CAP_* of linux/capability.h */
	const char *name;
	const char *why;
};

enum { HL_PRIVILEGES = 12 };

/*
 * Those that this process would keep now, at most HL_PRIVILEGES of them, and in @ret_dropped how many it has
 * besides. @writes_elsewhere: outputs go to directories of other users.
 */
unsigned int hl_privileges_kept(bool writes_elsewhere, const struct hl_privilege **ret,
				unsigned int *ret_dropped);

/*
 * Drops the others, for the calling thread and those that it starts. What symd needs to lock itself in stays
 * in the bounding set, from which a root's new program takes its capabilities; no other program is started.
 */
int hl_privileges_drop(bool writes_elsewhere, struct hl_err *err);

#endif
