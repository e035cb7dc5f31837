/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_CRT_H
#define HL_UNWIND_CRT_H

/*
 * The functions _init and _fini, which the linker puts together from the C library's start files in sections
 * of their own. Nearly every program and library has them, and nobody wrote call frame information for them.
 * Private to this folder.
 */

#include <stdbool.h>
#include <stdint.h>

struct hl_elf;

enum { HL_CRT_FUNCTIONS = 2 };

/* Between @pushed and @popped, bytes behind @address, eight bytes more are on the stack. */
struct hl_crt {
	uint64_t address, size;
	uint32_t pushed, popped;
};

/* Function number @i, below HL_CRT_FUNCTIONS. False: it is not there, or not as it always is. */
bool hl_crt_find(const struct hl_elf *elf, uint32_t i, struct hl_crt *ret);

#endif
