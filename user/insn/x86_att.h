/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_X86_ATT_H
#define HL_INSN_X86_ATT_H

#include <stdbool.h>

struct hl_text;
struct hl_x86;

/* Rewrites capstone's AT&T text, or Zydis's, to what `objdump -d` prints. */
void hl_x86_att_from_capstone(const struct hl_x86 *x, struct hl_text *t);
void hl_x86_att_from_zydis(const struct hl_x86 *x, struct hl_text *t);

/*
 * Parts of them: what single instructions have of their own, after operands and size letters are right.
 */
void hl_x86_att_forms(const struct hl_x86 *x, struct hl_text *t);
void hl_x86_zydis_forms(const struct hl_x86 *x, struct hl_text *t);
/* Reserved nops with ModRM. */
void hl_x86_long_nop(const struct hl_x86 *x, struct hl_text *t);
/* Operands that nothing encodes: shown or not, by instruction. */
void hl_x86_implicit_operands(const struct hl_x86 *x, struct hl_text *t);

/* True if @operand is a general register. */
bool hl_x86_is_gpr(const char *operand);
/* Makes operand @i the 64-bit general register of this number. */
void hl_x86_set_wide_register(struct hl_text *t, unsigned int i, unsigned int number);
/* The width of the last general register that is an operand by itself; 0 without one. */
unsigned int hl_x86_register_bits(const struct hl_text *t);

#endif
