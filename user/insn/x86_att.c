// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <inttypes.h>
#include <string.h>

#include "insn/text.h"
#include "insn/x86_text.h"

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
	struct hl_operand operand = { .text = "$", .len = 1 };
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
	hl_operand_add_hex(&operand, value);
	hl_text_put_operand(t, i, &operand);
}

/* (base,index,scale): a scale of 1 is written, too. @inner is what is between the parentheses. */
static void add_inner(const struct hl_x86 *x, struct hl_operand *o, const char *inner, size_t len)
{
	const char *comma = memchr(inner, ',', len);
	const char *index = comma ? NULL : hl_x86_pseudo_index(x, len > 0);
	bool has_scale = x->mode == HL_INSN_MODE_64 || !x->addr32; /* 16-bit addresses have none */
	const char scale[] = { (char)('0' + (1 << (x->sib >> 6))), '\0' };

	hl_operand_add(o, "(", 1);
	hl_operand_add(o, inner, len);
	if (index) {
		hl_operand_add(o, ",%", 2);
		hl_operand_adds(o, index);
		hl_operand_add(o, ",", 1);
		hl_operand_adds(o, scale);
	} else if (comma && has_scale && !memchr(comma + 1, ',', (size_t)(inner + len - comma - 1))) {
		hl_operand_add(o, ",1", 2);
	}
	hl_operand_add(o, ")", 1);
}

/* Added to a register a displacement has a sign, by itself it is an address. */
static void add_displacement(struct hl_operand *o, uint64_t value, bool is_signed)
{
	bool is_negative = is_signed && (int64_t)value < 0;

	if (is_negative)
		hl_operand_add(o, "-", 1);
	hl_operand_add_hex(o, is_negative ? -value : value);
}

/*
 * A memory operand: [*][%seg:][displacement][(base,index,scale)][{mask}]. The displacement is written in
 * hexadecimal, and even if it is zero when it is encoded.
 */
static void rewrite_memory(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	const char *old = t->operand[i], *at = old, *rest, *close;
	struct hl_operand operand = { 0 };
	bool negative = false;
	uint64_t value;

	at += *at == '*';
	if (*at == '%' && strchr(at, ':'))
		at = strchr(at, ':') + 1;
	hl_operand_add(&operand, old, (size_t)(at - old));
	rest = hl_text_number(at, &value, &negative);
	if (rest)
		add_displacement(&operand, negative ? -value : value,
				 *rest == '(' || hl_x86_pseudo_index(x, false));
	else if (*at == '(' && x->has_displacement)
		hl_operand_add_hex(&operand, 0);
	if (!rest)
		rest = at;
	if (*rest == '(' && (close = strchr(rest, ')'))) {
		add_inner(x, &operand, rest + 1, (size_t)(close - rest - 1));
		rest = close + 1;
	} else if (at != rest && hl_x86_pseudo_index(x, false)) {
		add_inner(x, &operand, "", 0);
	}
	if (*rest && *rest != '{')
		return;
	hl_operand_adds(&operand, rest);
	hl_text_put_operand(t, i, &operand);
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

/* Which instructions have a size letter when; sorted by name. */
enum { IF_NO_REGISTER, IF_WORD, NEVER };

static const struct suffix_row {
	char name[11];
	uint8_t when;
} suffix_rows[] = {
	/* clang-format off */
	{ "adc", IF_NO_REGISTER }, { "adcx", IF_NO_REGISTER }, { "add", IF_NO_REGISTER },
	{ "adox", IF_NO_REGISTER }, { "and", IF_NO_REGISTER }, { "andn", IF_NO_REGISTER },
	{ "bextr", IF_NO_REGISTER }, { "blsi", IF_NO_REGISTER }, { "blsmsk", IF_NO_REGISTER },
	{ "blsr", IF_NO_REGISTER }, { "bsf", IF_NO_REGISTER }, { "bsr", IF_NO_REGISTER },
	{ "bswap", IF_NO_REGISTER }, { "bt", IF_NO_REGISTER }, { "btc", IF_NO_REGISTER },
	{ "btr", IF_NO_REGISTER }, { "bts", IF_NO_REGISTER }, { "bzhi", IF_NO_REGISTER },
	{ "call", IF_WORD }, { "cmp", IF_NO_REGISTER }, { "cmpxchg", IF_NO_REGISTER },
	{ "cvtsd2si", IF_NO_REGISTER }, { "cvtsi2sd", IF_NO_REGISTER }, { "cvtsi2ss", IF_NO_REGISTER },
	{ "cvtss2si", IF_NO_REGISTER }, { "cvttsd2si", IF_NO_REGISTER }, { "cvttss2si", IF_NO_REGISTER },
	{ "dec", IF_NO_REGISTER }, { "div", IF_NO_REGISTER }, { "enter", IF_NO_REGISTER },
	{ "idiv", IF_NO_REGISTER }, { "imul", IF_NO_REGISTER }, { "in", IF_NO_REGISTER },
	{ "inc", IF_NO_REGISTER }, { "iret", IF_NO_REGISTER }, { "jmp", IF_WORD }, { "lar", NEVER },
	{ "lcall", IF_WORD }, { "lds", NEVER }, { "lea", IF_NO_REGISTER }, { "leave", IF_WORD },
	{ "les", NEVER }, { "lfs", NEVER }, { "lgdt", NEVER }, { "lgs", NEVER }, { "lidt", NEVER },
	{ "ljmp", IF_WORD }, { "lldt", NEVER }, { "lmsw", NEVER }, { "lret", IF_NO_REGISTER },
	{ "lsl", NEVER }, { "lss", NEVER }, { "ltr", NEVER }, { "lzcnt", IF_NO_REGISTER },
	{ "mov", IF_NO_REGISTER }, { "movabs", IF_NO_REGISTER }, { "movbe", IF_NO_REGISTER },
	{ "movnti", IF_NO_REGISTER }, { "mul", IF_NO_REGISTER }, { "mulx", IF_NO_REGISTER },
	{ "neg", IF_NO_REGISTER }, { "nop", IF_NO_REGISTER }, { "not", IF_NO_REGISTER },
	{ "or", IF_NO_REGISTER }, { "out", IF_NO_REGISTER }, { "pdep", IF_NO_REGISTER },
	{ "pext", IF_NO_REGISTER }, { "pop", IF_WORD }, { "popcnt", IF_NO_REGISTER }, { "push", IF_WORD },
	{ "rcl", IF_NO_REGISTER }, { "rcr", IF_NO_REGISTER }, { "rdfsbase", IF_NO_REGISTER },
	{ "rdgsbase", IF_NO_REGISTER }, { "rdrand", IF_NO_REGISTER }, { "rdseed", IF_NO_REGISTER },
	{ "ret", IF_WORD }, { "rol", IF_NO_REGISTER }, { "ror", IF_NO_REGISTER },
	{ "rorx", IF_NO_REGISTER }, { "sar", IF_NO_REGISTER }, { "sarx", IF_NO_REGISTER },
	{ "sbb", IF_NO_REGISTER }, { "sgdt", NEVER }, { "shl", IF_NO_REGISTER },
	{ "shld", IF_NO_REGISTER }, { "shlx", IF_NO_REGISTER }, { "shr", IF_NO_REGISTER },
	{ "shrd", IF_NO_REGISTER }, { "shrx", IF_NO_REGISTER }, { "sidt", NEVER }, { "sldt", NEVER },
	{ "smsw", NEVER }, { "str", NEVER }, { "sub", IF_NO_REGISTER }, { "sysexit", IF_NO_REGISTER },
	{ "sysret", IF_NO_REGISTER }, { "test", IF_NO_REGISTER }, { "tzcnt", IF_NO_REGISTER },
	{ "vcvtsd2si", IF_NO_REGISTER }, { "vcvtsi2sd", IF_NO_REGISTER }, { "vcvtsi2ss", IF_NO_REGISTER },
	{ "vcvtss2si", IF_NO_REGISTER }, { "vcvttsd2si", IF_NO_REGISTER },
	{ "vcvttss2si", IF_NO_REGISTER }, { "vmread", NEVER }, { "vmwrite", NEVER },
	{ "wrfsbase", IF_NO_REGISTER }, { "wrgsbase", IF_NO_REGISTER }, { "xadd", IF_NO_REGISTER },
	{ "xchg", IF_NO_REGISTER }, { "xor", IF_NO_REGISTER },
	/* clang-format on */
};

static bool is_shift(const struct hl_x86 *x)
{
	return x->map == HL_X86_ONE_BYTE && (x->opcode & 0xfc) == 0xd0;
}

/* A general register is an operand; %cl as the count of a shift is none that says a size. */
static bool has_size_register(const struct hl_x86 *x, const struct hl_text *t)
{
	for (unsigned int i = is_shift(x) && t->n > 1; i < t->n; i++)
		if (gpr_bits(t->operand[i]))
			return true;
	return false;
}

static const struct suffix_row *find_suffix_row(const char *stem, size_t len)
{
	size_t low = 0, high = N_OF(suffix_rows);

	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *name = suffix_rows[middle].name;
		int order = strncmp(stem, name, len);

		if (order == 0 && !name[len])
			return &suffix_rows[middle];
		if (order > 0)
			low = middle + 1;
		else
			high = middle; /* also where the stem is only the start of the name */
	}
	return NULL;
}

/* @t's mnemonic has a stem of @len and a size letter that objdump does not write. */
static bool has_needless_suffix(const struct hl_x86 *x, const struct hl_text *t, size_t len)
{
	const struct suffix_row *row;

	if (x->map == HL_X86_0F && (x->opcode & 0xf0) == 0x40) /* cmovCC */
		return true;
	if (strncmp(t->mnemonic, "crc32", len) == 0) /* the source has the size, the destination another */
		return gpr_bits(t->operand[0]) != 0;
	row = find_suffix_row(t->mnemonic, len);
	if (!row)
		return false;
	if (row->when == NEVER || has_size_register(x, t))
		return true;
	if (row->when == IF_WORD)
		return t->mnemonic[len] != 'w';
	/* In 32-bit code there is only one size of integer to convert. */
	return x->mode == HL_INSN_MODE_32 && strstr(row->name, "cvtsi2s");
}

/* The size letter goes when a register says the size. */
static void drop_suffix(const struct hl_x86 *x, struct hl_text *t)
{
	size_t len = strlen(t->mnemonic);

	if (len > 2 && strchr("bwlq", t->mnemonic[len - 1]) && has_needless_suffix(x, t, len - 1))
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
