/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_LIVING_CODE_H
#define HL_COMMAND_LIVING_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_code_files;
struct hl_frame;
struct hl_symd;
struct hl_window;

/*
 * Code that is in no file: the kernel's, and what processes made. While they live it is read from their memory,
 * as it is after the recording; else from their jitdump, where they wrote one.
 */
struct hl_living_code {
	struct hl_symd *symd;
	const struct hl_window *window; /* that the profile was made of; NULL: none, as of an imported one */
	const struct hl_code_files *code_files;
	uint64_t until_ns; /* CLOCK_MONOTONIC: what a jitdump tells of later is not what was sampled */
};

/* The bytes of one function. */
struct hl_living_function {
	uint64_t start, size; /* as addresses in the profile */
	uint64_t where;       /* the place of its start, as symd is asked about it */
	uint16_t place;       /* enum hl_symd_place */
	uint32_t process;     /* number, of made code */
	uint8_t *bytes;       /* of `size`, to be released with free() */
};

/*
 * Reads the function around the sampled instruction @insn, which the kernel's function is if @is_kernel, else one
 * that a process made. 0 or -errno with the reason.
 */
int hl_living_code_read(const struct hl_living_code *code, const struct hl_frame *insn, bool is_kernel,
			struct hl_living_function *ret, struct hl_err *err);

#endif
