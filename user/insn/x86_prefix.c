// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <string.h>

#include "insn/text.h"
#include "insn/x86_text.h"

const char *hl_x86_segment_name(uint8_t prefix)
{
	switch (prefix) {
	case 0x26:
		return "es";
	case 0x2e:
		return "cs";
	case 0x36:
		return "ss";
	case 0x64:
		return "fs";
	case 0x65:
		return "gs";
	default:
		return "ds";
	}
}

static bool is_one_byte(const struct hl_x86 *x, uint8_t mask, uint8_t opcode)
{
	return x->map == HL_X86_ONE_BYTE && (x->opcode & mask) == opcode;
}

static bool is_conditional_jump(const struct hl_x86 *x)
{
	return is_one_byte(x, 0xf0, 0x70) || (x->map == HL_X86_0F && (x->opcode & 0xf0) == 0x80);
}

/* Takes %cs: or, in Intel syntax, cs: out of memory operands. */
static void remove_segments(struct hl_text *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		char *operand = t->operand[i], *colon = strchr(operand, ':'), *start;

		if (!colon || colon < operand + 2)
			continue;
		start = colon - 2;
		start -= start > operand && start[-1] == '%';
		memmove(start, colon + 1, strlen(colon + 1) + 1);
	}
}

/* movs, cmps, outs and lods read through a segment that can be chosen; xlat does, too. */
static bool is_string_source(const struct hl_x86 *x)
{
	return is_one_byte(x, 0xfc, 0xa4) || is_one_byte(x, 0xfe, 0x6e) || is_one_byte(x, 0xfe, 0xac) ||
	       is_one_byte(x, 0xff, 0xd7);
}

/* A segment prefix: a word where it changes nothing or means something else, else part of the operand. */
static void segment_word(const struct hl_x86 *x, struct hl_text *t, uint8_t prefix, bool superfluous)
{
	if (is_string_source(x) && prefix == x->segment)
		return;
	if (superfluous) {
		hl_text_add_prefix(t, hl_x86_segment_name(prefix));
		if (prefix == x->segment && !hl_x86_is_string(x))
			remove_segments(t);
	} else if (is_conditional_jump(x)) {
		hl_text_append_mnemonic(t, prefix == 0x2e ? ",pn" : ",pt");
	} else if (prefix == 0x3e && is_one_byte(x, 0xff, 0xff) && x->is_branch) {
		hl_text_add_prefix(t, "notrack");
		remove_segments(t);
	}
}

/* f2 and f3: a repetition, a branch that keeps its bounds, a hint for lock elision, or part of the opcode. */
static const char *rep_word(const struct hl_x86 *x, uint8_t prefix, bool superfluous, bool mandatory)
{
	if (prefix == 0xf2 && (is_one_byte(x, 0xfe, 0xc2) || (x->has_target && !is_one_byte(x, 0xfc, 0xe0))))
		return "bnd";
	if (superfluous)
		return prefix == 0xf2 ? "repnz" : "repz";
	if (hl_x86_is_string(x) && x->opcode != 0xd7) {
		bool compares = (x->opcode & 0xf6) == 0xa6;

		return prefix == 0xf2 ? "repnz" : compares ? "repz" : "rep";
	}
	if (mandatory)
		return NULL;
	if (x->is_branch)
		return prefix == 0xf2 ? "bnd" : NULL;
	return prefix == 0xf2 ? "xacquire" : "xrelease";
}

static const char *const rex_words[16] = {
	"rex",   "rex.B",  "rex.X",  "rex.XB",  "rex.R",  "rex.RB",  "rex.RX",  "rex.RXB",
	"rex.W", "rex.WB", "rex.WX", "rex.WXB", "rex.WR", "rex.WRB", "rex.WRX", "rex.WRXB",
};

static void add_word(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	bool superfluous = x->superfluous >> i & 1, mandatory = x->mandatory >> i & 1;
	uint8_t prefix = x->code[i];
	const char *word = NULL;

	switch (prefix) {
	case 0xf0:
		word = "lock";
		break;
	case 0xf2:
	case 0xf3:
		word = rep_word(x, prefix, superfluous, mandatory);
		break;
	case 0x66:
		word = superfluous ? "data16" : NULL;
		break;
	case 0x67:
		word = !superfluous ? NULL : x->mode == HL_INSN_MODE_64 ? "addr32" : "addr16";
		break;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		segment_word(x, t, prefix, superfluous);
		break;
	default:
		word = superfluous ? rex_words[prefix & 15] : NULL;
		break;
	}
	if (word)
		hl_text_add_prefix(t, word);
}

/*
 * Of the two ways to encode an instruction the later one is named: VEX for what came with EVEX, EVEX for
 * the rest.
 */
static const char *encoding_word(const struct hl_x86 *x, const struct hl_text *t)
{
	static const char *const evex_first[] = { "vpdpbusd", "vpdpbusds", "vpdpwssd", "vpdpwssds" };
	bool is_evex_first;

	if (x->map != HL_X86_VEX && !x->has_vex_twin)
		return NULL;
	is_evex_first = hl_text_is_one_of(t, evex_first, sizeof(evex_first) / sizeof(evex_first[0]));
	if (x->map == HL_X86_VEX)
		return is_evex_first ? "{vex}" : NULL;
	return !is_evex_first ? "{evex}" : NULL;
}

void hl_x86_prefix_words(const struct hl_x86 *x, struct hl_text *t)
{
	const char *word;

	if (!x->known)
		return;
	t->prefix[0] = '\0';
	for (unsigned int i = 0; i < x->n_prefixes; i++)
		add_word(x, t, i);
	word = encoding_word(x, t);
	if (word)
		hl_text_add_prefix(t, word);
}
