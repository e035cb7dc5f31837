// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "insn/text.h"
#include "insn/x86_text.h"

/*
 * From the Intel text of either decoder to the spelling of `objdump -d -M intel`, less thoroughly than
 * x86_att.c does it for AT&T: numbers, addresses, sizes, string instructions, prefixes.
 */

/* An address between brackets, in parts. */
struct address {
	char base[8], index[8];
	unsigned int scale;
	uint64_t displacement;
	bool is_displaced;
};

static bool is_name(char c)
{
	return isalpha((unsigned char)c);
}

/* Reads one term, "rax", "rbx*4", "4*rbx" or a number, of an address. NULL if it is none of them. */
static const char *take_term(const char *at, struct address *address)
{
	bool negative = *at == '-';
	char name[8] = "";
	size_t len = 0;
	uint64_t value;

	at += *at == '+' || *at == '-';
	if (isdigit((unsigned char)*at)) {
		at = hl_text_number(at, &value, &(bool){ false });
		address->displacement += negative ? -value : value;
		address->is_displaced = true;
		return at;
	}
	if (!is_name(*at))
		return NULL;
	for (; len < sizeof(name) - 1 && isalnum((unsigned char)at[len]); len++)
		name[len] = at[len];
	at += len;
	if (*at == '*' && isdigit((unsigned char)at[1])) {
		address->scale = (unsigned int)(at[1] - '0');
		memcpy(address->index, name, sizeof(name));
		return at + 2;
	}
	memcpy(address->base[0] ? address->index : address->base, name, sizeof(name));
	return at;
}

/* Writes [base+index*scale+displacement] in objdump's order, or, without registers, ds:displacement. */
static void write_address(const struct hl_x86 *x, const struct address *address, const char *segment,
			  char *buf, size_t size)
{
	bool is_rip = strcmp(address->base, "rip") == 0;
	bool is_negative = (int64_t)address->displacement < 0 && !is_rip;
	uint64_t magnitude = is_negative ? -address->displacement : address->displacement;
	const char *pseudo = hl_x86_pseudo_index(x, address->base[0]);
	char displacement[24] = "", index[24] = "";

	if (!address->base[0] && !address->index[0] && !pseudo) {
		(void)snprintf(buf, size, "%s0x%" PRIx64,
			       segment[0] ? segment : "ds:", address->displacement);
		return;
	}
	if (pseudo)
		(void)snprintf(index, sizeof(index), "%s%s*%u", address->base[0] ? "+" : "", pseudo,
			       1U << (x->sib >> 6));
	if (address->is_displaced || x->has_displacement)
		(void)snprintf(displacement, sizeof(displacement), "%s0x%" PRIx64, is_negative ? "-" : "+",
			       magnitude);
	if (address->index[0])
		(void)snprintf(index, sizeof(index), "%s%s*%u", address->base[0] ? "+" : "", address->index,
			       address->scale ? address->scale : 1);
	(void)snprintf(buf, size, "%s[%s%s%s]", segment, address->base, index, displacement);
}

/* mov between the accumulator and an address that is all in the instruction */
static bool is_absolute_move(const struct hl_x86 *x)
{
	return x->map == HL_X86_ONE_BYTE && (x->opcode & 0xfc) == 0xa0;
}

/* Absolute moves, and what reads or writes more than an operand, have no size. */
static bool has_size(const struct hl_x86 *x)
{
	if (x->map == HL_X86_ONE_BYTE)
		return !is_absolute_move(x) &&
		       !(x->opcode == 0xdd &&
			 (hl_x86_reg(x) == 4 || hl_x86_reg(x) == 6)); /* frstor, fnsave */
	return x->map != HL_X86_0F || x->opcode != 0xf0;              /* lddqu */
}

/* "QWORD PTR " for "qword ptr", or "QWORD BCST " if it is broadcast. */
static void write_size(const struct hl_x86 *x, char *buf, size_t size, const char *old, const char *broadcast)
{
	bool compares_scalars = x->map == HL_X86_0F && (x->opcode & 0xfe) == 0x2e;

	if (compares_scalars) /* capstone takes comisd and comiss to read a whole vector */
		old = x->data16 ? "qword" : "dword";
	else if (hl_starts_with(old, "xword"))
		old = "tbyte";
	(void)snprintf(buf, size, "%.*s %s ", (int)strcspn(old, " "), old, broadcast ? "BCST" : "PTR");
	for (char *p = buf; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

/* [size ptr ][segment:][address][{mask}] */
static void rewrite_memory(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	char old[sizeof(t->operand[0])], written[64], size[20] = "", segment[8] = "";
	struct address address = { 0 };
	const char *open, *at, *colon, *ptr;

	memcpy(old, t->operand[i], sizeof(old));
	open = strchr(old, '[');
	if (!open)
		return;
	ptr = strstr(old, "ptr");
	if (ptr && ptr > old && ptr < open && has_size(x))
		write_size(x, size, sizeof(size), old, strstr(open, "{1to"));
	colon = strchr(old, ':');
	if (colon && colon < open && colon >= old + 2)
		(void)snprintf(segment, sizeof(segment), "%.3s", colon - 2);
	for (at = open + 1; at && *at != ']';)
		at = take_term(at, &address);
	if (!at)
		return;
	/* capstone shows an address of 32 bits as such, the CPU extends its sign. */
	if (!is_absolute_move(x) && !address.base[0] && !address.index[0] && x->mode == HL_INSN_MODE_64 &&
	    x->has_displacement && !x->addr32)
		address.displacement = (uint64_t)(int32_t)address.displacement;
	write_address(x, &address, segment, written, sizeof(written));
	hl_text_set_operand(t, i, "%s%s%s", size, written, strncmp(at + 1, "{1to", 4) == 0 ? "" : at + 1);
}

static void rewrite_number(const struct hl_x86 *x, struct hl_text *t, unsigned int i)
{
	unsigned int bits = hl_x86_extended_bits(x, i > 0);
	uint64_t value;
	bool negative;
	const char *rest = hl_text_number(t->operand[i], &value, &negative);

	if (!rest || *rest)
		return;
	value = negative ? -value : value;
	if (bits < 64)
		value &= (1ULL << bits) - 1;
	hl_text_set_operand(t, i, "0x%" PRIx64, value);
}

static void rewrite_operands(const struct hl_x86 *x, struct hl_text *t)
{
	bool is_shift_by_one = x->map == HL_X86_ONE_BYTE && (x->opcode & 0xfe) == 0xd0;

	if (x->has_target && t->n == 1) {
		hl_text_set_operand(t, 0, "%" PRIx64, x->target);
		return;
	}
	for (unsigned int i = 0; i < t->n; i++) {
		if (strchr(t->operand[i], '['))
			rewrite_memory(x, t, i);
		else if (!is_shift_by_one)
			rewrite_number(x, t, i);
	}
}

/* x87 arithmetic between registers has both of them. */
static void x87_registers(const struct hl_x86 *x, struct hl_text *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (strcmp(t->operand[i], "st(0)") == 0 && t->n > 1)
			hl_text_set_operand(t, i, "st");
	if (t->n != 1 || !hl_x86_is_register_form(x) || !hl_starts_with(t->operand[0], "st") ||
	    x->opcode == 0xd9 || x->opcode == 0xdd || hl_text_is(t, "fcom") || hl_text_is(t, "fcomp") ||
	    hl_text_is(t, "fcompp") || hl_text_is(t, "ffreep"))
		return;
	hl_text_insert_operand(t, x->opcode == 0xdc || x->opcode == 0xde, "st");
}

/* The accumulator stands last in its short exchanges, and a nop with a size prefix is one of them. */
static void exchange(const struct hl_x86 *x, struct hl_text *t)
{
	if (hl_text_is(t, "nop") && x->data16) {
		hl_text_set_mnemonic(t, "xchg");
		hl_text_set_operand(t, 0, "ax");
		hl_text_set_operand(t, 1, "ax");
	} else if (t->n == 2 && hl_ends_with(t->operand[0], "ax")) {
		hl_text_swap_operands(t, 0, 1);
	}
}

static void rename_mnemonic(struct hl_text *t)
{
	static const char *const rows[][2] = {
		{ "iretd", "iret" },           { "popf", "popfw" },
		{ "popfd", "popf" },           { "popfq", "popf" },
		{ "pushf", "pushfw" },         { "pushfd", "pushf" },
		{ "pushfq", "pushf" },         { "vcvtpd2dqx", "vcvtpd2dq" },
		{ "vcvtpd2psx", "vcvtpd2ps" }, { "vcvttpd2dqx", "vcvttpd2dq" },
		{ "wait", "fwait" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (hl_text_is(t, rows[i][0])) {
			hl_text_set_mnemonic(t, rows[i][1]);
			return;
		}
}

void hl_x86_intel(const struct hl_x86 *x, struct hl_text *t)
{
	rewrite_operands(x, t);
	rename_mnemonic(t);
	if ((hl_text_is(t, "movd") || hl_text_is(t, "vmovd")) && x->is_w)
		t->mnemonic[strlen(t->mnemonic) - 1] = 'q';
	if (hl_x86_has_implicit_xmm0(t))
		hl_text_set_operand(t, 2, "xmm0");
	if (hl_x86_hides_operands(x, t))
		t->n = 0;
	if (hl_text_is(t, "nop"))
		hl_text_remove_operand(t, 1);
	if (x->map == HL_X86_EVEX && t->n)
		hl_x86_mask_compare(t, t->n - 1);
	if (t->n)
		hl_x86_carryless_multiply(t, t->n - 1);
	if (hl_x86_is_string(x))
		hl_x86_string(x, HL_INSN_INTEL, t);
	else if (x->map == HL_X86_ONE_BYTE && x->opcode >= 0xd8 && x->opcode <= 0xdf)
		x87_registers(x, t);
	else if (x->map == HL_X86_ONE_BYTE && x->opcode >= 0x90 && x->opcode <= 0x97)
		exchange(x, t);
	hl_x86_prefix_words(x, t);
}
