// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <stdio.h>
#include <string.h>

#include "insn/text.h"
#include "insn/x86_text.h"

#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Shifts by one that have no count in the encoding are written without one. */
static void shift_by_one(const struct hl_x86 *x, struct hl_text *t)
{
	if ((x->opcode == 0xd0 || x->opcode == 0xd1) && t->n == 2)
		hl_text_remove_operand(t, 0);
}

/* The accumulator stands first in its short exchanges, and a nop with a size prefix is one of them. */
static void exchange(const struct hl_x86 *x, struct hl_text *t)
{
	static const char *const accumulators[] = { "%ax", "%eax", "%rax" };

	if (hl_text_is(t, "nop") && x->data16) {
		hl_text_set_mnemonic(t, "xchg");
		hl_text_set_operand(t, 0, "%%ax");
		hl_text_set_operand(t, 1, "%%ax");
	}
	for (size_t i = 0; i < N_OF(accumulators); i++)
		if (t->n == 2 && strcmp(t->operand[1], accumulators[i]) == 0)
			hl_text_swap_operands(t, 0, 1);
}

/* x87 arithmetic between registers has both of them; fcompp and fucompp none, ffreep one. */
static void x87_registers(const struct hl_x86 *x, struct hl_text *t)
{
	unsigned int i = x->modrm & 7;

	if (!hl_x86_is_register_form(x) || !t->n || strncmp(t->operand[0], "%st", 3) != 0 ||
	    x->opcode == 0xd9 || x->opcode == 0xdd)
		return;
	if (hl_text_is(t, "fcom") || hl_text_is(t, "fcomp"))
		return;
	if (hl_text_is(t, "fcompp") || hl_text_is(t, "fucompp")) {
		t->n = 0;
	} else if (hl_text_is(t, "ffreep")) {
		t->n = 1;
	} else if (x->opcode == 0xdc || x->opcode == 0xde) {
		hl_text_set_operand(t, 0, "%%st");
		hl_text_set_operand(t, 1, "%%st(%u)", i);
	} else {
		hl_text_set_operand(t, 0, "%%st(%u)", i);
		hl_text_set_operand(t, 1, "%%st");
	}
}

/* mov to and from segment registers has no size letter. */
static void segment_register(struct hl_text *t)
{
	if (hl_text_is(t, "movw") || hl_text_is(t, "movl") || hl_text_is(t, "movq"))
		hl_text_cut_mnemonic(t);
}

/* "$0x33:$0x1000" are two operands. */
static void far_pointer(struct hl_text *t)
{
	char *colon = t->n == 1 ? strchr(t->operand[0], ':') : NULL;

	if (!colon)
		return;
	*colon = '\0';
	hl_text_insert_operand(t, 1, colon + 1);
}

/* A port in %dx is written as if it were an address. */
static void port(struct hl_text *t)
{
	for (unsigned int i = 0; i < t->n; i++)
		if (strcmp(t->operand[i], "%dx") == 0)
			hl_text_set_operand(t, i, "(%%dx)");
}

/* Names that differ, or end in a size letter where objdump has none. */
static void rename_mnemonic(struct hl_text *t)
{
	static const char *const rows[][2] = {
		{ "iretl", "iret" },   { "popal", "popa" },   { "pushal", "pusha" },
		{ "lretl", "lret" },   { "popfq", "popf" },   { "popfl", "popf" },
		{ "pushfq", "pushf" }, { "pushfl", "pushf" }, { "wait", "fwait" },
	};

	for (size_t i = 0; i < N_OF(rows); i++)
		if (hl_text_is(t, rows[i][0])) {
			hl_text_set_mnemonic(t, rows[i][1]);
			return;
		}
}

static void one_byte_form(const struct hl_x86 *x, struct hl_text *t)
{
	uint8_t opcode = x->opcode;

	if (opcode >= 0xd8 && opcode <= 0xdf)
		x87_registers(x, t);
	else if ((opcode & 0xfe) == 0xd0)
		shift_by_one(x, t);
	else if (opcode == 0x9a || opcode == 0xea)
		far_pointer(t);
	else if (opcode == 0x62) /* bound has Intel's order in AT&T syntax, too */
		hl_text_swap_operands(t, 0, 1);
	else if (opcode >= 0xec && opcode <= 0xef)
		port(t);
	else if (opcode >= 0x90 && opcode <= 0x97)
		exchange(x, t);
	else if ((opcode & 0xfe) == 0x60 || (opcode >= 0x9b && opcode <= 0x9d) || (opcode & 0xf8) == 0xc8)
		rename_mnemonic(t);
	else if (opcode == 0x8c || opcode == 0x8e)
		segment_register(t);
	else if ((opcode == 0x68 || opcode == 0x6a) && x->data16)
		hl_text_set_mnemonic(t, "pushw");
}

/* movd of 64 bits is movq. */
static void move_doubleword(const struct hl_x86 *x, struct hl_text *t)
{
	if ((hl_text_is(t, "movd") || hl_text_is(t, "vmovd")) && (x->is_w || hl_x86_register_bits(t) == 64))
		t->mnemonic[strlen(t->mnemonic) - 1] = 'q';
}

void hl_x86_set_wide_register(struct hl_text *t, unsigned int i, unsigned int number)
{
	static const char *const names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi" };

	if (number < N_OF(names))
		hl_text_set_operand(t, i, "%%%s", names[number]);
	else
		hl_text_set_operand(t, i, "%%r%u", number);
}

/* The sign mask of a vector goes into a 64-bit register if REX.W says so. */
static void move_mask(const struct hl_x86 *x, struct hl_text *t)
{
	if (x->map == HL_X86_0F && x->opcode == 0x50 && x->is_w && t->n == 2)
		hl_x86_set_wide_register(t, 1, hl_x86_reg(x) + (x->rex & 4 ? 8 : 0));
}

bool hl_x86_has_implicit_xmm0(const struct hl_text *t)
{
	static const char *const list[] = { "blendvpd", "blendvps", "pblendvb", "sha256rnds2" };

	return t->n == 2 && hl_text_is_one_of(t, list, N_OF(list));
}

/* Narrowing conversions have a size letter only where the source is memory. */
static void narrowing(struct hl_text *t)
{
	static const char *const list[] = { "vcvtpd2dqx", "vcvtpd2dqy",  "vcvtpd2psx",
					    "vcvtpd2psy", "vcvttpd2dqx", "vcvttpd2dqy" };

	if (t->n && t->operand[0][0] == '%' && hl_text_is_one_of(t, list, N_OF(list)))
		hl_text_cut_mnemonic(t);
}

void hl_x86_carryless_multiply(struct hl_text *t, unsigned int i)
{
	static const struct {
		uint8_t immediate;
		char halves[5];
	} rows[] = { { 0x00, "lqlq" }, { 0x01, "hqlq" }, { 0x10, "lqhq" }, { 0x11, "hqhq" } };
	bool is_vex = t->mnemonic[0] == 'v', negative;
	uint64_t value;

	if (!hl_text_is(t, "pclmulqdq") && !hl_text_is(t, "vpclmulqdq"))
		return;
	if (i >= t->n || !hl_text_number(t->operand[i] + (t->operand[i][0] == '$'), &value, &negative))
		return;
	for (size_t row = 0; row < N_OF(rows); row++)
		if (value == rows[row].immediate) {
			(void)snprintf(t->mnemonic, sizeof(t->mnemonic), "%spclmul%sdq", is_vex ? "v" : "",
				       rows[row].halves);
			hl_text_remove_operand(t, i);
			return;
		}
}

/* Reserved nops have one operand; some decoders see ModRM's other register. */
void hl_x86_long_nop(const struct hl_x86 *x, struct hl_text *t)
{
	if (x->map != HL_X86_0F || strncmp(t->mnemonic, "nop", 3) != 0)
		return;
	while (t->n > 1)
		hl_text_remove_operand(t, 0);
	if (t->n && t->operand[0][0] != '%')
		hl_text_set_mnemonic(t, x->is_w ? "nopq" : x->data16 ? "nopw" : "nopl");
}

/* Debug registers have another name. */
static void debug_register(const struct hl_x86 *x, struct hl_text *t)
{
	if (x->map != HL_X86_0F || (x->opcode & 0xfd) != 0x21)
		return;
	for (unsigned int i = 0; i < t->n; i++)
		if (strncmp(t->operand[i], "%dr", 3) == 0)
			t->operand[i][2] = 'b';
}

bool hl_x86_hides_operands(const struct hl_x86 *x, const struct hl_text *t)
{
	static const char *const list[] = { "clzero",    "invlpga",   "invlpgb",   "psmash",
					    "pvalidate", "rmpadjust", "rmpupdate", "skinit",
					    "vmload",    "vmrun",     "vmsave" };

	return x->map == HL_X86_0F && x->opcode == 0x01 && hl_text_is_one_of(t, list, N_OF(list));
}

void hl_x86_implicit_operands(const struct hl_x86 *x, struct hl_text *t)
{
	bool is_64 = x->mode == HL_INSN_MODE_64 && !x->addr32;
	bool is_monitor = strncmp(t->mnemonic, "monitor", 7) == 0;

	if (hl_x86_hides_operands(x, t))
		t->n = 0;
	if (!is_monitor && strncmp(t->mnemonic, "mwait", 5) != 0)
		return;
	hl_text_set_operand(t, 0, "%s", is_monitor && is_64 ? "%rax" : "%eax");
	hl_text_set_operand(t, 1, "%%ecx");
	if (is_monitor)
		hl_text_set_operand(t, 2, "%%edx");
	else if (hl_text_is(t, "mwaitx"))
		hl_text_set_operand(t, 2, "%%ebx");
}

static void later_form(const struct hl_x86 *x, struct hl_text *t)
{
	move_doubleword(x, t);
	move_mask(x, t);
	hl_x86_long_nop(x, t);
	hl_x86_implicit_operands(x, t);
	debug_register(x, t);
	if (hl_x86_has_implicit_xmm0(t))
		hl_text_insert_operand(t, 0, "%xmm0");
	narrowing(t);
	hl_x86_carryless_multiply(t, 0);
}

void hl_x86_att_forms(const struct hl_x86 *x, struct hl_text *t)
{
	if (hl_x86_is_string(x))
		hl_x86_string(x, HL_INSN_ATT, t);
	else if (x->map == HL_X86_ONE_BYTE)
		one_byte_form(x, t);
	else
		later_form(x, t);
}
