/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_TEXT_H
#define HL_CAPTURE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct hl_err;

/* What reads it: a program in the kernel, to be kept where much is read. NULL is accepted by free. */
struct hl_text_reader;
int hl_text_reader_new(struct hl_text_reader **ret, struct hl_err *err);
void hl_text_reader_free(struct hl_text_reader *reader);
/* As below. */
int hl_text_reader_get(struct hl_text_reader *reader, uint64_t address, uint8_t *ret, size_t len,
		       struct hl_err *err);

/*
 * Reads @len bytes of the kernel's code at @address, as it is now, patches included. Needs what recording needs.
 * 0 or -errno; -EFAULT: nothing is mapped there.
 */
int hl_kernel_text_read(uint64_t address, uint8_t *ret, size_t len, struct hl_err *err);

#endif
