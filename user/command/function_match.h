/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_FUNCTION_MATCH_H
#define HL_COMMAND_FUNCTION_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_profile;

/* Which functions of a profile somebody means. */

/* What was asked for: a name, or an address, perhaps in one module. */
struct hl_wanted {
	const char *text;
	size_t module_len; /* of "MODULE+0xADDRESS"; 0: any module */
	uint64_t address;
	bool by_address;
};
struct hl_wanted hl_wanted_parse(const char *text);

/* Frames of functions, in an array of the caller's with room for all frames of the profile. */
struct hl_matches {
	uint32_t *frames;
	size_t n;
};

/*
 * Finds those that may be meant: of an address all that are in its module. @samples: of each frame in its own
 * instructions. 0; -ENOENT: there is none, or a part of a name is that of several, which are printed to standard error;
 * or -ENOMEM.
 */
int hl_wanted_find(const struct hl_profile *profile, const uint64_t *samples, const struct hl_wanted *wanted,
		   struct hl_matches *ret, struct hl_err *err);

#endif
