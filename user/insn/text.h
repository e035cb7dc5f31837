/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_TEXT_H
#define HL_INSN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The text of one instruction in parts, so that a rule of spelling can look at the one that it is about:
 * "lock cmpxchg %edx,0x8(%rdi)" is the prefix "lock ", the mnemonic "cmpxchg" and two operands. What does
 * not fit is cut; nothing that the decoders print comes near these sizes.
 */
enum { HL_TEXT_OPERANDS = 6 };
struct hl_text {
	char prefix[64]; /* words, each with a blank behind it */
	char mnemonic[32];
	char operand[HL_TEXT_OPERANDS][64];
	unsigned int n; /* operands */
};

/*
 * Takes a decoder's text apart. @mnemonic may have prefix words in front; blanks inside @operands go, except
 * between the words of "qword ptr".
 */
void hl_text_split(struct hl_text *ret, const char *mnemonic, const char *operands);
/* Writes the parts to @buf of @size bytes, with one blank behind the mnemonic if operands follow. */
void hl_text_join(const struct hl_text *t, char *buf, size_t size);

/* Puts one word in front of the mnemonic. */
void hl_text_add_prefix(struct hl_text *t, const char *word);
void hl_text_set_mnemonic(struct hl_text *t, const char *mnemonic);
void hl_text_append_mnemonic(struct hl_text *t, const char *end);
/* Takes the last letter off the mnemonic. */
void hl_text_cut_mnemonic(struct hl_text *t);
bool hl_text_is(const struct hl_text *t, const char *mnemonic);
/* True if the mnemonic is in @list, which is sorted. */
bool hl_text_is_one_of(const struct hl_text *t, const char *const *list, size_t n);

/* Replaces operand @i, which may be the one behind the last; printf's form. */
void hl_text_set_operand(struct hl_text *t, unsigned int i, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void hl_text_remove_operand(struct hl_text *t, unsigned int i);
/* Moves the operands from @i on up by one and writes @operand into the gap. */
void hl_text_insert_operand(struct hl_text *t, unsigned int i, const char *operand);
void hl_text_swap_operands(struct hl_text *t, unsigned int i, unsigned int j);

/* An operand that is put together piece by piece; what does not fit is cut. Zero-initialised is empty. */
struct hl_operand {
	char text[64];
	size_t len;
};

void hl_operand_add(struct hl_operand *o, const char *text, size_t len);
void hl_operand_adds(struct hl_operand *o, const char *text);
/* 0x… */
void hl_operand_add_hex(struct hl_operand *o, uint64_t value);
/* Makes it operand @i of @t, which may be the one behind the last. */
void hl_text_put_operand(struct hl_text *t, unsigned int i, const struct hl_operand *o);

/*
 * Reads the number, decimal or 0x…, with or without a sign, at @text. Returns the character behind it, NULL
 * if there is none.
 */
const char *hl_text_number(const char *text, uint64_t *ret_value, bool *ret_negative);

#endif
