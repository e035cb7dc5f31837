/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_NUMBER_H
#define HL_SYMD_NUMBER_H

/* How a file is called in sentences, of which both sides know the number only; private to this folder. */

#include <stdio.h>

#include <hotleaf/symd.h>

#define HL_FILE_CALLED(number) hl_symd_call_file((char[24]){ "" }, sizeof(char[24]), number)

static inline const char *hl_symd_call_file(char *ret, size_t size, __u32 number)
{
	if (number == HL_SYMD_KERNEL_FILE)
		return "the kernel";
	(void)snprintf(ret, size, "file %u", number);
	return ret;
}

#endif
