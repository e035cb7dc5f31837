/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_X86_H
#define HL_INSN_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn/insn.h"

struct hl_text;

/* Opcode maps: Intel SDM volume 2, section 2.1.2 and appendix A.2; XOP: AMD APM volume 3, section 1.2.1. */
enum hl_x86_map {
	HL_X86_ONE_BYTE,
	HL_X86_0F,
	HL_X86_0F38,
	HL_X86_0F3A,
	HL_X86_VEX,
	HL_X86_XOP,
	HL_X86_EVEX,
};

/* What the spelling and the class of an instruction depend on, beside a decoder's text. */
struct hl_x86 {
	const uint8_t *code;
	size_t len; /* bytes known at @code, at most 15 */
	uint64_t address;
	enum hl_insn_mode mode;

	/* From the bytes, by hl_x86_scan(). */
	uint8_t segment; /* the last segment prefix byte; 0: none */
	uint8_t data16;  /* number of 66 prefixes */
	uint8_t rep;     /* the last of f2 and f3; 0: none */
	bool addr32;     /* 67: the other address size */
	bool lock;
	uint8_t rex;        /* 0: none, or not directly before the opcode */
	uint8_t n_prefixes; /* legacy and REX, from the first byte on */
	enum hl_x86_map map;
	uint8_t payload; /* the byte before the opcode: of VEX, XOP and EVEX the last of the prefix */
	bool is_w;       /* REX.W, or the W of VEX, XOP or EVEX */
	uint8_t opcode;  /* 0 if cut off */
	uint8_t modrm;   /* the byte behind the opcode, whatever it is; 0 if cut off */

	/* By hl_zydis_decode(). */
	bool known; /* what follows is valid */
	uint8_t length;
	uint16_t superfluous;   /* bit i: prefix byte i changes nothing */
	uint16_t mandatory;     /* bit i: it is part of the opcode */
	bool has_displacement;  /* encoded, even if it is zero */
	uint8_t operand_bits;   /* the operand size in force: 8, 16, 32, 64 */
	uint8_t immediate_bits; /* of the first immediate, as encoded; 0 without one */
	bool has_vex_twin;      /* has an EVEX prefix where a VEX prefix could say the same */
	bool has_sib;
	uint8_t sib;
	bool is_branch; /* jump, call, return, trap */
	bool is_divide;
	bool is_exchange;
	bool reads_memory, writes_memory;
	bool has_vector; /* an explicit MMX, vector or mask register operand */
	bool has_target, has_reference;
	uint64_t target, reference;
};

/* Reads prefixes and opcode at @x->code; fills the first part of @x. */
void hl_x86_scan(struct hl_x86 *x);
/* ModRM names a register, not memory. */
static inline bool hl_x86_is_register_form(const struct hl_x86 *x)
{
	return x->modrm >= 0xc0;
}
static inline unsigned int hl_x86_reg(const struct hl_x86 *x)
{
	return x->modrm >> 3 & 7;
}

/* movs, cmps, stos, lods, scas, ins, outs, and xlat */
static inline bool hl_x86_is_string(const struct hl_x86 *x)
{
	return x->map == HL_X86_ONE_BYTE && ((x->opcode & 0xfc) == 0x6c || (x->opcode & 0xfc) == 0xa4 ||
					     (x->opcode >= 0xaa && x->opcode <= 0xaf) || x->opcode == 0xd7);
}
/* "cs" and so on; "ds" for 0. */
const char *hl_x86_segment_name(uint8_t prefix);

/* The width that an immediate, or enter's second, has after its extension. */
unsigned int hl_x86_extended_bits(const struct hl_x86 *x, bool is_second);

/* The pseudo register, without %, that stands for the index of a needless SIB byte; NULL: none. */
const char *hl_x86_pseudo_index(const struct hl_x86 *x, bool has_base);

/* True if capstone 4.0.2 is known to decode this encoding to something else than it is. */
bool hl_x86_is_misread(const struct hl_x86 *x);
/* The text of an instruction that both decoders misread, NULL for any other. */
const char *hl_x86_own_text(const struct hl_x86 *x);
enum hl_insn_class hl_x86_class(const struct hl_x86 *x);

/* Zydis for one mode and syntax. NULL if it refuses to start or without memory. */
struct hl_zydis *hl_zydis_new(enum hl_insn_mode mode, enum hl_insn_syntax syntax);
void hl_zydis_free(struct hl_zydis *zydis);
/* Of the library that is loaded: major, minor, patch. */
void hl_zydis_version(unsigned int ret[3]);
/* Decodes the instruction at @x->code and fills the second part of @x. False if Zydis does not know it. */
bool hl_zydis_decode(struct hl_zydis *zydis, struct hl_x86 *x);
/* The text, in Zydis's spelling, of what was decoded last, with success. False if it cannot be printed. */
bool hl_zydis_print(struct hl_zydis *zydis, const struct hl_x86 *x, struct hl_text *ret);

#endif
