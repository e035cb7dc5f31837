// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <stdio.h>
#include <string.h>

#include "insn/text.h"
#include "insn/x86_text.h"

/* What Zydis spells otherwise than objdump: it prints what capstone cannot decode, EVEX above all. */

#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

/* The predicates of comparisons: Intel SDM volume 2, "CMPPS" and "VPCMPB". */
static const char *const float_predicates[32] = {
	"eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
	"eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
	"eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
	"eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us",
};
static const char *const integer_predicates[8] = { "eq", "lt", "le", NULL, "neq", "nlt", "nle", NULL };

void hl_x86_mask_compare(struct hl_text *t, unsigned int i)
{
	bool is_integer = strncmp(t->mnemonic, "vpcmp", 5) == 0;
	const char *element = t->mnemonic + (is_integer ? 5 : 4), *predicate;
	char name[sizeof(t->mnemonic)];
	uint64_t value;
	bool negative;

	if (i >= t->n || (!is_integer && strncmp(t->mnemonic, "vcmp", 4) != 0) || strlen(element) > 2 ||
	    !hl_text_number(t->operand[i] + (t->operand[i][0] == '$'), &value, &negative))
		return;
	if (value >= (is_integer ? N_OF(integer_predicates) : N_OF(float_predicates)))
		return;
	predicate = is_integer ? integer_predicates[value] : float_predicates[value];
	if (!predicate)
		return;
	(void)snprintf(name, sizeof(name), "%s%s%s", is_integer ? "vpcmp" : "vcmp", predicate, element);
	hl_text_set_mnemonic(t, name);
	hl_text_remove_operand(t, i);
}

/*
 * A rounding mode, or {sae}, is an operand of its own: in front of the register that it is attached to, but
 * behind a general one.
 */
static void rounding(struct hl_text *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		char *brace = strstr(t->operand[i], "-sae}");
		char word[12];

		brace = brace ? brace - 3 : strstr(t->operand[i], "{sae}");
		if (!brace || brace == t->operand[i])
			continue;
		(void)snprintf(word, sizeof(word), "%s", brace);
		*brace = '\0';
		hl_text_insert_operand(t, i + hl_x86_is_gpr(t->operand[i]), word);
		return;
	}
}

/* A size letter stands where only that says how much is read. */
static void source_size(const struct hl_x86 *x, struct hl_text *t)
{
	static const char *const integers[] = { "vcvtsi2sd", "vcvtsi2ss", "vcvtusi2sd", "vcvtusi2ss" };
	static const char *const narrow[] = { "vcvtpd2dq",  "vcvtpd2ps",   "vcvtpd2udq", "vcvtqq2ps",
					      "vcvttpd2dq", "vcvttpd2udq", "vcvtuqq2ps" };
	static const char *const classes[] = { "vfpclasspd", "vfpclassph", "vfpclassps" };
	const char *source = t->operand[t->n > 2 && t->operand[0][0] == '$'];
	unsigned int width = x->payload >> 5 & 3;

	if (x->map != HL_X86_EVEX || hl_x86_is_register_form(x))
		return;
	if (hl_text_is_one_of(t, integers, N_OF(integers)))
		hl_text_append_mnemonic(t, x->is_w ? "q" : "l");
	else if (width > 2 || strchr(source, '{'))
		return;
	else if ((width < 2 && hl_text_is_one_of(t, narrow, N_OF(narrow))) ||
		 hl_text_is_one_of(t, classes, N_OF(classes)))
		hl_text_append_mnemonic(t, width == 0 ? "x" : width == 1 ? "y" : "z");
}

/* Names that Zydis has from Intel's manual and objdump not. */
static void zydis_name(struct hl_text *t)
{
	static const char *const rows[][2] = {
		{ "jnb", "jae" }, { "jnbe", "ja" }, { "jnl", "jge" },
		{ "jnle", "jg" }, { "jnz", "jne" }, { "jz", "je" },
	};

	for (size_t i = 0; i < N_OF(rows); i++)
		if (hl_text_is(t, rows[i][0])) {
			hl_text_set_mnemonic(t, rows[i][1]);
			return;
		}
}

void hl_x86_zydis_forms(const struct hl_x86 *x, struct hl_text *t)
{
	zydis_name(t);
	if (hl_text_is(t, "senduipi")) /* Zydis 4.0 names the 32-bit register */
		hl_x86_set_wide_register(t, 0, (x->modrm & 7) + (x->rex & 1 ? 8 : 0));
	rounding(t);
	source_size(x, t);
	hl_x86_mask_compare(t, 0);
	hl_x86_carryless_multiply(t, 0);
	hl_x86_long_nop(x, t);
	hl_x86_implicit_operands(x, t);
}
