// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "insn/text.h"
#include "insn/x86_att.h"

/*
 * From capstone 4.0.2's AT&T text to the spelling of `objdump -d` (binutils 2.40). Each rule is a function;
 * each was checked against objdump's text of whole libraries, see tests/unit/insn_objdump.c.
 */

#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

/* ---- operands -------------------------------------------------------------- */

/* The width of the general register that @operand is, 0 if it is anything else. */
static unsigned int gpr_bits(const char *operand)
{
	static const char pairs[] = "ax bx cx dx si di bp sp ";
	const char *name = operand + 1;
	size_t len;

	if (operand[0] != '%')
		return 0;
	len = strlen(name);
	if (name[0] == 'r' && name[1] >= '0' && name[1] <= '9')
		return name[len - 1] == 'd' ? 32 : name[len - 1] == 'w' ? 16 : name[len - 1] == 'b' ? 8 : 64;
	if (len == 3 && (name[0] == 'r' || name[0] == 'e') && strstr(pairs, name + 1))
		return name[0] == 'r' ? 64 : 32;
	if (len == 3 && name[2] == 'l')
		return strchr("sdb", name[0]) && strchr("ip", name[1]) ? 8 : 0;
	if (len == 2 && strstr(pairs, name))
		return 16;
	return len == 2 && strchr("abcd", name[0]) && strchr("lh", name[1]) ? 8 : 0;
}

bool hl_x86_is_gpr(const char *operand)
{
	return gpr_bits(operand) != 0;
}

unsigned int hl_x86_register_bits(const struct hl_text *t)
{
	for (unsigned int i = t->n; i-- > 0;) {
		unsigned int bits = gpr_bits(t->operand[i]);

		if (bits)
			return bits;
	}
	return 0;
}

/* Immediates in hexadecimal, negative ones as two's complement. */
static void rewrite_immediate(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	uint64_t value;
	bool negative;
	const char *rest = hl_text_number(t->operand[i] + 1, &value, &negative);
	unsigned int bits;

	if (!rest || *rest)
		return;
	bits = hl_x86_extended_bits(x, i > 0);
	value = negative ? -value : value;
	if (bits < 64)
		value &= (1ULL << bits) - 1;
	hl_text_set_operand(t, i, "$0x%" PRIx64, value);
}

/* (base,index,scale): a scale of 1 is written, too. @inner is what is between the parentheses. */
static void rewrite_inner(const struct hl_x86 *x, char *buf, size_t size, const char *inner, int len)
{
	const char *first = memchr(inner, ',', (size_t)len);
	const char *index = hl_x86_pseudo_index(x, len > 0);

	/* 16-bit addresses have no scale. */
	bool has_scale = x->mode == HL_INSN_MODE_64 || !x->addr32;

	if (first && has_scale && !memchr(first + 1, ',', (size_t)(inner + len - first - 1)))
		(void)snprintf(buf, size, "(%.*s,1)", len, inner);
	else if (!first && index)
		(void)snprintf(buf, size, "(%.*s,%%%s,%d)", len, inner, index, 1 << (x->sib >> 6));
	else
		(void)snprintf(buf, size, "(%.*s)", len, inner);
}

/* Added to a register a displacement has a sign, by itself it is an address. */
static void write_displacement(char *buf, size_t size, uint64_t value, bool is_signed)
{
	if (is_signed && (int64_t)value < 0)
		(void)snprintf(buf, size, "-0x%" PRIx64, -value);
	else
		(void)snprintf(buf, size, "0x%" PRIx64, value);
}

/*
 * A memory operand: [*][%seg:][displacement][(base,index,scale)][{mask}]. The displacement is written in
 * hexadecimal, and even if it is zero when it is encoded.
 */
static void rewrite_memory(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	char old[sizeof(t->operand[0])], displacement[24] = "", inner[48] = "";
	const char *at = old, *rest, *close;
	bool negative = false;
	uint64_t value;

	memcpy(old, t->operand[i], sizeof(old));
	at += *at == '*';
	if (*at == '%' && strchr(at, ':'))
		at = strchr(at, ':') + 1;
	rest = hl_text_number(at, &value, &negative);
	if (rest)
		write_displacement(displacement, sizeof(displacement), negative ? -value : value,
				   *rest == '(' || hl_x86_pseudo_index(x, false));
	else if (*at == '(' && x->has_displacement)
		(void)snprintf(displacement, sizeof(displacement), "0x0");
	if (!rest)
		rest = at;
	if (*rest == '(' && (close = strchr(rest, ')'))) {
		rewrite_inner(x, inner, sizeof(inner), rest + 1, (int)(close - rest - 1));
		rest = close + 1;
	} else if (at != rest && hl_x86_pseudo_index(x, false)) {
		rewrite_inner(x, inner, sizeof(inner), "", 0);
	}
	if (*rest && *rest != '{')
		return;
	hl_text_set_operand(t, i, "%.*s%s%s%s", (int)(at - old), old, displacement, inner, rest);
}

/* Numbers, scales and displacements. */
static void rewrite_operands(const struct hl_x86 *x, struct hl_text *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const char *operand = t->operand[i];

		if (operand[0] == '$')
			rewrite_immediate(x, t, i);
		else if (operand[0] != '%' || strchr(operand, ':'))
			rewrite_memory(x, t, i);
	}
}

/* The target of a direct branch: bare hexadecimal. */
static void rewrite_target(const struct hl_x86 *x, struct hl_text *t)
{
	if (t->n == 1)
		hl_text_set_operand(t, 0, "%" PRIx64, x->target);
}

/* ---- mnemonics ------------------------------------------------------------- */

/* What loses its size letter when a general register says the size. */
static const char *const sized_by_register[] = {
	"adc",      "adcx",      "add",       "adox",      "and",       "andn",       "bextr",
	"blsi",     "blsmsk",    "blsr",      "bsf",       "bsr",       "bswap",      "bt",
	"btc",      "btr",       "bts",       "bzhi",      "cmp",       "cmpxchg",    "crc32",
	"cvtsd2si", "cvtsi2sd",  "cvtsi2ss",  "cvtss2si",  "cvttsd2si", "cvttss2si",  "dec",
	"div",      "enter",     "idiv",      "imul",      "in",        "inc",        "iret",
	"lea",      "lret",      "lzcnt",     "mov",       "movabs",    "movbe",      "movnti",
	"mul",      "mulx",      "neg",       "nop",       "not",       "or",         "out",
	"pdep",     "pext",      "popcnt",    "rcl",       "rcr",       "rdfsbase",   "rdgsbase",
	"rdrand",   "rdseed",    "rol",       "ror",       "rorx",      "sar",        "sarx",
	"sbb",      "shl",       "shld",      "shlx",      "shr",       "shrd",       "shrx",
	"sldt",     "smsw",      "str",       "sub",       "sysexit",   "sysret",     "test",
	"tzcnt",    "vcvtsd2si", "vcvtsi2sd", "vcvtsi2ss", "vcvtss2si", "vcvttsd2si", "vcvttss2si",
	"wrfsbase", "wrgsbase",  "xadd",      "xchg",      "xor",
};

/* What never has one, and what has one only to say that it is 16 bits wide. */
static const char *const never_sized[] = {
	"lar", "lds", "les",  "lfs",  "lgdt", "lgs",  "lidt", "lldt",   "lmsw",    "lsl",
	"lss", "ltr", "sgdt", "sidt", "sldt", "smsw", "str",  "vmread", "vmwrite",
};
static const char *const sized_if_word[] = { "call", "jmp", "lcall", "leave", "ljmp", "pop", "push", "ret" };

static const char *const conditional_moves[] = {
	"cmova",  "cmovae", "cmovb",  "cmovbe", "cmove",  "cmovg", "cmovge", "cmovl",
	"cmovle", "cmovne", "cmovno", "cmovnp", "cmovns", "cmovo", "cmovp",  "cmovs",
};

static bool is_shift(const struct hl_x86 *x)
{
	return x->map == HL_X86_ONE_BYTE && (x->opcode & 0xfc) == 0xd0;
}

/* A general register stands outside of the parentheses; %cl as the count of a shift is none that says a size. */
static bool has_size_register(const struct hl_x86 *x, const struct hl_text *t)
{
	for (unsigned int i = is_shift(x) && t->n > 1; i < t->n; i++)
		if (gpr_bits(t->operand[i]))
			return true;
	return false;
}

static bool has_needless_suffix(const struct hl_x86 *x, const struct hl_text *t)
{
	char letter = t->mnemonic[strlen(t->mnemonic) - 1];
	bool has_register = has_size_register(x, t);
	struct hl_text stem;

	memcpy(stem.mnemonic, t->mnemonic, sizeof(stem.mnemonic));
	hl_text_cut_mnemonic(&stem);
	if (hl_text_is(&stem, "crc32")) /* its source has the size, its destination another */
		return gpr_bits(t->operand[0]) != 0;
	if (x->mode == HL_INSN_MODE_32 &&
	    strstr(stem.mnemonic, "cvtsi2s")) /* from memory it can only be 32 bits */
		return true;
	return hl_text_is_one_of(&stem, conditional_moves, N_OF(conditional_moves)) ||
	       hl_text_is_one_of(&stem, never_sized, N_OF(never_sized)) ||
	       ((letter != 'w' || has_register) &&
		hl_text_is_one_of(&stem, sized_if_word, N_OF(sized_if_word))) ||
	       (has_register && hl_text_is_one_of(&stem, sized_by_register, N_OF(sized_by_register)));
}

/* The size letter goes when a register says the size. */
static void drop_suffix(const struct hl_x86 *x, struct hl_text *t)
{
	size_t len = strlen(t->mnemonic);

	if (len > 2 && strchr("bwlq", t->mnemonic[len - 1]) && has_needless_suffix(x, t))
		hl_text_cut_mnemonic(t);
}

void hl_x86_att_from_capstone(const struct hl_x86 *x, struct hl_text *t)
{
	if (x->has_target)
		rewrite_target(x, t);
	else
		rewrite_operands(x, t);
	if (strncmp(t->mnemonic, "sal", 3) == 0 && strlen(t->mnemonic) <= 4)
		memcpy(t->mnemonic, "shl", 3);
	drop_suffix(x, t);
	hl_x86_att_forms(x, t);
	hl_x86_prefix_words(x, t);
}

void hl_x86_att_from_zydis(const struct hl_x86 *x, struct hl_text *t)
{
	if (x->has_target)
		rewrite_target(x, t);
	else
		rewrite_operands(x, t);
	hl_x86_zydis_forms(x, t);
	hl_x86_prefix_words(x, t);
}
