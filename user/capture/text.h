/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_TEXT_H
#define HL_CAPTURE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct hl_err;

/*
 * Reads @len bytes of the kernel's code at @address, as it is now, patches included. Needs what recording needs.
 * 0 or -errno; -EFAULT: nothing is mapped there.
 */
int hl_kernel_text_read(uint64_t address, uint8_t *ret, size_t len, struct hl_err *err);

#endif
