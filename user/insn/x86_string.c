// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <stdio.h>
#include <string.h>

#include "insn/text.h"
#include "insn/x86_text.h"

/*
 * String instructions and xlat are written with operands that no byte of them encodes, and with their
 * segments; AT&T and Intel have the same operands in opposite order.
 */

enum { DESTINATION = 1, SOURCE, TABLE, ACCUMULATOR, PORT };

struct row {
	uint8_t opcode; /* of the byte form */
	char name[5];
	uint8_t first, second; /* in AT&T's order; 0: none */
};

static const struct row rows[] = {
	{ 0x6c, "ins", PORT, DESTINATION },         { 0x6e, "outs", SOURCE, PORT },
	{ 0xa4, "movs", SOURCE, DESTINATION },      { 0xa6, "cmps", DESTINATION, SOURCE },
	{ 0xaa, "stos", ACCUMULATOR, DESTINATION }, { 0xac, "lods", SOURCE, ACCUMULATOR },
	{ 0xae, "scas", DESTINATION, ACCUMULATOR }, { 0xd6, "xlat", TABLE, 0 },
};

/* The letter of the operand size. */
static char size_letter(const struct hl_x86 *x)
{
	bool is_port = (x->opcode & 0xfc) == 0x6c, is_table = x->opcode == 0xd7;

	if (!(x->opcode & 1) || is_table)
		return 'b';
	if (x->is_w && !is_port)
		return 'q';
	return x->data16 ? 'w' : 'l';
}

/* The prefix of a register as wide as addresses are. */
static const char *wide_register(const struct hl_x86 *x)
{
	if (x->mode == HL_INSN_MODE_64)
		return x->addr32 ? "e" : "r";
	return x->addr32 ? "" : "e";
}

static void add_operand(const struct hl_x86 *x, enum hl_insn_syntax syntax, uint8_t role, struct hl_text *t)
{
	/* In 64-bit code the other segments start at 0, whatever a prefix says. */
	bool is_chosen = x->mode == HL_INSN_MODE_32 || x->segment == 0x64 || x->segment == 0x65;
	const char *segment = role == DESTINATION ? "es" : hl_x86_segment_name(is_chosen ? x->segment : 0);
	const char *pointer = role == DESTINATION ? "di" : role == SOURCE ? "si" : "bx";
	char letter = size_letter(x);
	const char *accumulator = letter == 'b' ? "al" : letter == 'w' ? "ax" : letter == 'l' ? "eax" : "rax";
	const char *size = letter == 'b'   ? "BYTE"
			   : letter == 'w' ? "WORD"
			   : letter == 'l' ? "DWORD"
					   : "QWORD";
	bool is_att = syntax == HL_INSN_ATT;

	if (role == ACCUMULATOR)
		hl_text_set_operand(t, t->n, "%s%s", is_att ? "%" : "", accumulator);
	else if (role == PORT)
		hl_text_set_operand(t, t->n, "%s", is_att ? "(%dx)" : "dx");
	else if (is_att)
		hl_text_set_operand(t, t->n, "%%%s:(%%%s%s)", segment, wide_register(x), pointer);
	else
		hl_text_set_operand(t, t->n, "%s PTR %s:[%s%s]", size, segment, wide_register(x), pointer);
}

static void write_row(const struct hl_x86 *x, enum hl_insn_syntax syntax, const struct row *row,
		      struct hl_text *t)
{
	bool has_accumulator = row->first == ACCUMULATOR || row->second == ACCUMULATOR;
	char suffix[2] = { size_letter(x), '\0' };

	t->n = 0;
	hl_text_set_mnemonic(t, row->name);
	if (syntax == HL_INSN_ATT && !has_accumulator && row->second)
		hl_text_append_mnemonic(t, suffix);
	add_operand(x, syntax, row->first, t);
	if (row->second)
		add_operand(x, syntax, row->second, t);
	if (syntax == HL_INSN_INTEL)
		hl_text_swap_operands(t, 0, t->n - 1);
}

void hl_x86_string(const struct hl_x86 *x, enum hl_insn_syntax syntax, struct hl_text *t)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].opcode == (x->opcode & 0xfe))
			write_row(x, syntax, &rows[i], t);
}
