/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_IDENTITY_H
#define HL_SYMD_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_elf;
struct hl_err;

/*
 * Fills what names @elf: its build-id, its debuglink, and the binary id. That is the first half of the
 * SHA-256 over, for each executable PT_LOAD, its address and size and its bytes, then the file's size if
 * the bytes went over 1 GiB and were cut there, then the build-id. A build-id alone can be forged.
 */
int hl_symd_identify(const struct hl_elf *elf, struct hl_symd_file *ret, struct hl_err *err);

/*
 * The first half of the SHA-256 over, for each of @n files, its size and all of its bytes. NULL among them is
 * passed over. -E2BIG if they have more than 1 GiB, as above: half a second of work.
 */
int hl_symd_content(const struct hl_elf *const *files, size_t n, uint8_t ret[HL_SYMD_CONTENT_ID],
		    struct hl_err *err);

/*
 * 0 if @debug is the separate debug file of @elf: both are for the same machine and have the same build-id,
 * or, where one has none, the debuglink's CRC is that of @debug. Else -ESTALE.
 */
int hl_symd_match_debug(const struct hl_elf *elf, const struct hl_elf *debug, struct hl_err *err);

#endif
