/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_NOBODY_H
#define HL_BASE_NOBODY_H

#include <stdbool.h>
#include <stdint.h>

/* What a child does in order to lose the rights that it was started with. Each returns whether it worked. */

/* User and group of nobody, as Linux has them everywhere. */
enum { HL_NOBODY = 65534 };

/* Lowers the limit of @resource, of setrlimit(2), to @value, or leaves it where it is lower already. */
bool hl_limit_resource(int resource, uint64_t value);
/* No program that is executed later gets capabilities. Needs CAP_SETPCAP, and does nothing without it. */
void hl_empty_bounding_set(void);
bool hl_become_nobody(void);
bool hl_drop_capabilities(void);
/* Gives up all capabilities but those of @keep, a bit each, that there are. 0 or -errno. */
int hl_keep_capabilities(uint64_t keep);

#endif
