// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

/* Takes @byte as a legacy prefix (Intel SDM volume 2, section 2.1.1). False if it is none. */
static bool take_prefix(struct hl_x86 *x, uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		x->segment = byte;
		return true;
	case 0x66:
		x->data16++;
		return true;
	case 0x67:
		x->addr32 = true;
		return true;
	case 0xf0:
		x->lock = true;
		return true;
	case 0xf2:
	case 0xf3:
		x->rep = byte;
		return true;
	default:
		return false;
	}
}

static uint8_t byte_at(const struct hl_x86 *x, size_t i)
{
	return i < x->len ? x->code[i] : 0;
}

/*
 * The map that the opcode byte at @at opens. In 32-bit code c4, c5 and 62 are lds, les and bound unless the
 * byte behind them would be the ModRM of a register form; 8f is pop unless it names a map of 8 or more.
 */
static enum hl_x86_map escape(const struct hl_x86 *x, size_t at)
{
	uint8_t next = byte_at(x, at + 1);
	bool is_vector = x->mode == HL_INSN_MODE_64 || next >= 0xc0;

	switch (byte_at(x, at)) {
	case 0x0f:
		return next == 0x38 ? HL_X86_0F38 : next == 0x3a ? HL_X86_0F3A : HL_X86_0F;
	case 0xc4:
	case 0xc5:
		return is_vector ? HL_X86_VEX : HL_X86_ONE_BYTE;
	case 0x62:
		return is_vector ? HL_X86_EVEX : HL_X86_ONE_BYTE;
	case 0x8f:
		return (next & 0x1f) >= 8 ? HL_X86_XOP : HL_X86_ONE_BYTE;
	default:
		return HL_X86_ONE_BYTE;
	}
}

/* How many bytes stand between the start of the escape at @at and the opcode. */
static size_t escape_length(const struct hl_x86 *x, size_t at)
{
	switch (x->map) {
	case HL_X86_0F:
		return 1;
	case HL_X86_0F38:
	case HL_X86_0F3A:
		return 2;
	case HL_X86_VEX:
		return x->code[at] == 0xc5 ? 2 : 3;
	case HL_X86_XOP:
		return 3;
	case HL_X86_EVEX:
		return 4;
	default:
		return 0;
	}
}

/* The bit that makes operands 64 bits wide, or is part of the opcode. */
static bool has_w(const struct hl_x86 *x, size_t opcode_at)
{
	switch (x->map) {
	case HL_X86_VEX:
		return x->code[x->n_prefixes] == 0xc4 && (x->payload & 0x80);
	case HL_X86_XOP:
		return x->payload & 0x80;
	case HL_X86_EVEX:
		return byte_at(x, opcode_at - 2) & 0x80;
	default:
		return x->rex & 8;
	}
}

void hl_x86_scan(struct hl_x86 *x)
{
	size_t at = 0;

	for (; at < x->len; at++) {
		uint8_t byte = x->code[at];

		if (x->mode == HL_INSN_MODE_64 && (byte & 0xf0) == 0x40)
			x->rex = byte;
		else if (take_prefix(x, byte))
			x->rex = 0;
		else
			break;
	}
	x->n_prefixes = (uint8_t)at;
	x->map = escape(x, at);
	at += escape_length(x, at);
	x->opcode = byte_at(x, at);
	x->modrm = byte_at(x, at + 1);
	x->payload = at ? byte_at(x, at - 1) : 0;
	x->is_w = has_w(x, at);
}

static bool is_misread_0f(const struct hl_x86 *x)
{
	unsigned int reg = hl_x86_reg(x);

	switch (x->opcode) {
	case 0xb9: /* ud1 with its ModRM: the kernel's UBSAN traps; printed as ud2b, too short */
	case 0xff: /* ud0, likewise */
		return true;
	case 0xc7: /* rdpid and senduipi, printed as rdseed and rdrand */
		return x->rep == 0xf3 && hl_x86_is_register_form(x) && reg >= 6;
	case 0xae: /* umonitor, umwait, tpause, incssp, ptwrite, clrssbsy: printed as fences and xsave */
		if (hl_x86_is_register_form(x))
			return reg >= 4 && (x->rep || x->data16);
		return x->rep == 0xf3;
	case 0x1c: /* cldemote, printed as a nop */
		return reg == 0 && !hl_x86_is_register_form(x) && !x->rep && !x->data16;
	default:
		return false;
	}
}

bool hl_x86_is_misread(const struct hl_x86 *x)
{
	switch (x->map) {
	case HL_X86_EVEX: /* register numbers from 16 on turn an index into a vector; scatters lose it */
		return true;
	case HL_X86_XOP: /* with W set, which says which operand is in memory, two registers are swapped */
		return x->is_w;
	case HL_X86_VEX: /* vpermil2ps, vpermil2pd: the same */
		return x->is_w && (x->opcode & 0xfe) == 0x48;
	case HL_X86_0F:
		return is_misread_0f(x);
	case HL_X86_ONE_BYTE: /* movslq without REX.W: the destination has 32 bits */
		return x->mode == HL_INSN_MODE_64 && x->opcode == 0x63 && !x->is_w;
	default:
		return false;
	}
}

const char *hl_x86_own_text(const struct hl_x86 *x)
{
	if (x->map != HL_X86_0F || x->rep != 0xf3)
		return NULL;
	if (x->opcode == 0x09)
		return "wbnoinvd";
	if (x->opcode == 0x01 && x->modrm == 0xd9)
		return "vmgexit";
	return NULL;
}

/*
 * The width that a negative immediate is extended to. The later maps have bytes that are not, nor are those
 * of int and enter, or the 16 bits of enter and ret.
 */
unsigned int hl_x86_extended_bits(const struct hl_x86 *x, bool is_second)
{
	bool is_plain = x->map >= HL_X86_0F3A;

	if (x->map == HL_X86_ONE_BYTE) {
		if (x->opcode == 0xc8 && is_second) /* enter's nesting depth */
			return 8;
		is_plain = x->opcode == 0xc8 || x->opcode == 0xc2 || x->opcode == 0xca || x->opcode == 0xcd ||
			   (x->opcode == 0xc6 && x->modrm == 0xf8); /* enter, ret, lret, int, xabort */
	}
	return is_plain && x->immediate_bits ? x->immediate_bits : x->operand_bits ? x->operand_bits : 64;
}

/*
 * A SIB byte without an index, where none is needed to say what the base is, is written with a pseudo
 * register: compilers use it to make a nop longer.
 */
const char *hl_x86_pseudo_index(const struct hl_x86 *x, bool has_base)
{
	bool is_64 = x->mode == HL_INSN_MODE_64;

	if (!x->has_sib || (x->sib >> 3 & 7) != 4 || (x->rex & 2))
		return NULL;
	if (!(x->sib >> 6) && ((x->sib & 7) == 4 || (!has_base && is_64)))
		return NULL;
	return is_64 && !x->addr32 ? "riz" : "eiz";
}
