/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_UNWIND_H
#define HL_UNWIND_UNWIND_H

#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_elf_span;
struct hl_err;

/* A table as include/hotleaf/unwind.h has it, to be released with free(), and what went into it. */
struct hl_unwind_result {
	uint8_t *bytes;
	size_t len;
	uint32_t n_fdes;
	uint32_t n_unsupported; /* FDEs with at least one row that the table cannot express */
	uint32_t n_rows, n_rules;
	uint64_t uncovered; /* bytes of code without call frame information, filling included */
	uint64_t derived;   /* of these: for which rules were derived from the code */
	uint64_t left_out;  /* of these: which were not looked at, for there is too much of it */
};

/*
 * Compiles the call frame information of @elf: .eh_frame, and .debug_frame for what .eh_frame leaves out.
 * Code without any has rules derived from what it does to the stack pointer, where that is certain; else
 * rows of HL_CFA_NONE. Work and memory are bounded by the size of the file, and by these: -E2BIG if its code
 * spans more than 1 GiB of the file, or needs more than 16 M rows. -ENODATA: it has none for its code and
 * none was derived, or is no 64-bit x86 file. Else -ENOMEM, or what reading said.
 */
int hl_unwind_compile(const struct hl_elf *elf, struct hl_unwind_result *ret, struct hl_err *err);

/*
 * Where functions begin and end in code without call frame information, as far as the code tells: it is called, or
 * stands behind other code and returns as a function does. @ret has them by address, to be released with free(); none
 * for other machines. Work is bounded as above. 0, -ENOMEM, or what reading said.
 */
int hl_unwind_functions(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n);

#endif
