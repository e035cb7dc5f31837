/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_X86_TEXT_H
#define HL_INSN_X86_TEXT_H

#include <stdbool.h>

#include "insn/insn.h"

struct hl_text;
struct hl_x86;

/* Rewrites capstone's AT&T text, or Zydis's, to what `objdump -d` prints. */
void hl_x86_att_from_capstone(const struct hl_x86 *x, struct hl_text *t);
void hl_x86_att_from_zydis(const struct hl_x86 *x, struct hl_text *t);
/* Rewrites the Intel text of either to what `objdump -d -M intel` prints. */
void hl_x86_intel(const struct hl_x86 *x, struct hl_text *t);

/*
 * Parts of them. First, what single instructions have of their own, in AT&T syntax, after operands and size
 * letters are right.
 */
void hl_x86_att_forms(const struct hl_x86 *x, struct hl_text *t);
void hl_x86_zydis_forms(const struct hl_x86 *x, struct hl_text *t);
/* Reserved nops with ModRM. */
void hl_x86_long_nop(const struct hl_x86 *x, struct hl_text *t);
/* Operands that nothing encodes: shown or not, by instruction. */
void hl_x86_implicit_operands(const struct hl_x86 *x, struct hl_text *t);

/* True if @operand is a general register in AT&T syntax. */
bool hl_x86_is_gpr(const char *operand);
/* The width of the last general register that is an operand by itself; 0 without one. */
unsigned int hl_x86_register_bits(const struct hl_text *t);
/* Makes operand @i the 64-bit general register of this number. */
void hl_x86_set_wide_register(struct hl_text *t, unsigned int i, unsigned int number);

/* Then, what both syntaxes share. Prefixes that have a name or change nothing become words. */
void hl_x86_prefix_words(const struct hl_x86 *x, struct hl_text *t);
/* Comparisons into a mask have their predicate, operand @i, in their name, if it has one. */
void hl_x86_mask_compare(struct hl_text *t, unsigned int i);
/* Carry-less multiplication names the halves that its immediate, operand @i, takes. */
void hl_x86_carryless_multiply(struct hl_text *t, unsigned int i);
/* Writes a string instruction out. */
void hl_x86_string(const struct hl_x86 *x, enum hl_insn_syntax syntax, struct hl_text *t);
/* The legacy forms of some blends have %xmm0 as an operand that is not encoded. */
bool hl_x86_has_implicit_xmm0(const struct hl_text *t);
/* True if objdump shows none of the instruction's implicit operands. */
bool hl_x86_hides_operands(const struct hl_x86 *x, const struct hl_text *t);

#endif
