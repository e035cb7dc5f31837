/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_ELF_INFLATE_H
#define HL_ELF_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_elf_section;
struct hl_err;

/*
 * Sections as their producer meant them: plain, compressed (SHF_COMPRESSED with ELFCOMPRESS_ZLIB or
 * ELFCOMPRESS_ZSTD, System V gABI), or compressed in GNU's older way (named .zdebug_*: "ZLIB" and the size,
 * big-endian). What a section says of its own size is a claim: memory is taken only up to the caller's
 * limit, and only for sizes that its compressed bytes can reach.
 */

/* The section of debug information that is called .debug_@name, or .zdebug_@name, or NULL. */
const struct hl_elf_section *hl_elf_debug_section(const struct hl_elf *elf, const char *name);

/*
 * All of @section, inflated, to be released with free(), with a NUL behind it. -E2BIG if it is more than @limit
 * bytes, -EBADMSG for a damaged header, an impossible size, or bytes that are damaged or not as many as
 * announced, -EOPNOTSUPP for a method that we do not know.
 */
int hl_elf_inflate(const struct hl_elf *elf, const struct hl_elf_section *section, size_t limit,
		   uint8_t **ret, size_t *ret_len, struct hl_err *err);

#endif
