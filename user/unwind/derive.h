/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_DERIVE_H
#define HL_UNWIND_DERIVE_H

/*
 * Rules for code without call frame information, from what the code does to the stack pointer. Private to
 * this folder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_code;
struct hl_derived;
struct hl_elf;
struct hl_frame;
struct hl_rows;
struct hl_elf_span;

/* Nothing to derive from, at first. NULL without memory. */
struct hl_derived *hl_derived_new(const struct hl_elf *elf, const struct hl_code *code);
void hl_derived_free(struct hl_derived *d);

/* There is no call frame information from @start to @end, offsets relative to the first page. 0 or -ENOMEM. */
int hl_derived_add(struct hl_derived *d, uint32_t start, uint32_t end);
/* Derives what there is to derive from all that was added. -ENOMEM. */
int hl_derived_run(struct hl_derived *d);

/* Writes the rows of the code from @start to @end; the rule is HL_RULE_NONE where it is not certain. */
int hl_derived_write(const struct hl_derived *d, uint32_t start, uint32_t end, struct hl_rows *rows);

/* As hl_unwind_functions(). */
int hl_derived_functions(const struct hl_derived *d, struct hl_elf_span **ret, size_t *ret_n);

/* Bytes of code: that were looked at, for which there is a rule, and that were left out by a limit. */
struct hl_derived_count {
	uint64_t seen, ruled, left_out;
};
struct hl_derived_count hl_derived_count(const struct hl_derived *d);

/* The frame at ELF address @address, where an instruction begins. False: not known. */
bool hl_derived_frame(const struct hl_derived *d, uint64_t address, struct hl_frame *ret);

#endif
