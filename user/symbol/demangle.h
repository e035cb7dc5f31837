/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_DEMANGLE_H
#define HL_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

struct hl_str;

/* Longer names are not demangled, and none into more than so many bytes. */
#define HL_DEMANGLE_INPUT_MAX  8192
#define HL_DEMANGLE_OUTPUT_MAX 16384

/*
 * Appends the demangled form of @name (C++ of the Itanium ABI with parameters; Rust, legacy without its
 * hash, and v0) to @out. False, with @out as it was, if @name is not mangled or goes over a limit.
 */
bool hl_demangle(const char *name, struct hl_str *out);

/* Appends @name, of @len bytes, cut at @max bytes; a name that is cut ends in "…". */
void hl_copy_name(const char *name, size_t len, size_t max, struct hl_str *out);
/* Appends @len bytes of @name, demangled if it is mangled, cut with "…" behind @max bytes. */
void hl_demangle_or_copy(const char *name, size_t len, size_t max, struct hl_str *out);

#endif
