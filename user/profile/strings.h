/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_STRINGS_H
#define HL_PROFILE_STRINGS_H

#include "base/mem.h"

/*
 * Byte strings kept once each: frames share module names and instruction texts by the thousand.
 * Zero-initialised is empty.
 */
struct hl_strings {
	struct hl_arena arena;
	struct hl_index index;
	struct hl_string *items;
	size_t n, cap;
};

/* The kept, NUL-terminated copy of @len bytes of @text: one address for equal bytes. NULL without memory. */
const char *hl_strings_keep(struct hl_strings *strings, const char *text, size_t len);
/* Frees what only lookups need; the strings stay. */
void hl_strings_seal(struct hl_strings *strings);
void hl_strings_done(struct hl_strings *strings);

#endif
