// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/x86.h"

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "unwind/program.h"

/* DWARF 5, table 7.9. */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

enum { MAX_REGISTER = 15 };

static const struct hl_unwind_rule unsupported = { .cfa_kind = HL_CFA_UNSUPPORTED };

static bool fits(int64_t value, int bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

/* A small register number in the low byte, an offset above. */
static struct hl_unwind_rule with_register(enum hl_cfa_kind kind, uint8_t reg, int64_t offset)
{
	if (reg > MAX_REGISTER || !fits(offset, 24))
		return unsupported;
	return (struct hl_unwind_rule){ .cfa_kind = (__u8)kind,
					.cfa_off = (__s32)((uint32_t)offset << 8 | reg) };
}

/* The CFA of a linkage table's entries: the second push of an entry is at byte N of sixteen. */
static bool is_plt(struct hl_cursor c, int32_t *ret_at)
{
	static const uint8_t head[] = { OP_BREG0 + HL_X86_RSP, 8,     OP_BREG0 + HL_X86_RETURN, 0,
					OP_LIT0 + 15,          OP_AND };
	static const uint8_t tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };
	const uint8_t *bytes = hl_cursor_bytes(&c, sizeof(head) + 1 + sizeof(tail));
	uint8_t at;

	if (!bytes || hl_cursor_left(&c) || memcmp(bytes, head, sizeof(head)) != 0 ||
	    memcmp(bytes + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	at = bytes[sizeof(head)];
	if (at < OP_LIT0 || at > OP_LIT0 + 15)
		return false;
	*ret_at = at - OP_LIT0;
	return true;
}

/* The CFA of realigned stacks: saved in a slot, *(rbp + a) + b or *(rsp + a) + b. */
static struct hl_unwind_rule deref_rule(struct hl_cursor c)
{
	uint8_t base = hl_cursor_u8(&c), op;
	int64_t a = hl_cursor_sleb(&c), b = 0;
	struct hl_unwind_rule rule = { 0 };

	if (base == OP_BREG0 + HL_X86_RBP)
		rule.cfa_kind = HL_CFA_DEREF_RBP;
	else if (base == OP_BREG0 + HL_X86_RSP)
		rule.cfa_kind = HL_CFA_DEREF_RSP;
	else
		return unsupported;
	op = hl_cursor_u8(&c);
	if (hl_cursor_left(&c)) {
		if (hl_cursor_u8(&c) != OP_PLUS_UCONST)
			return unsupported;
		b = (int64_t)hl_cursor_uleb(&c);
	}
	if (c.failed || op != OP_DEREF || hl_cursor_left(&c) || !fits(a, 16) || !fits(b, 16))
		return unsupported;
	rule.cfa_off = (__s32)((uint32_t)b << 16 | (uint16_t)a);
	return rule;
}

static struct hl_unwind_rule expression_rule(const struct hl_how_to *cfa)
{
	struct hl_cursor c = hl_cursor_of(cfa->expression, cfa->len, "a CFA expression");
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_PLT };

	return is_plt(c, &rule.cfa_off) ? rule : deref_rule(c);
}

static struct hl_unwind_rule cfa_rule(const struct hl_how_to *cfa, bool is_resolver)
{
	struct hl_unwind_rule rule = { 0 };

	if (cfa->how == HL_HOW_EXPRESSION)
		return expression_rule(cfa);
	if (cfa->how != HL_HOW_OFFSET || !fits(cfa->offset, 32))
		return unsupported;
	if (cfa->reg == HL_X86_RSP)
		rule.cfa_kind = HL_CFA_RSP;
	else if (cfa->reg == HL_X86_RBP)
		rule.cfa_kind = HL_CFA_RBP;
	else if (cfa->reg == HL_X86_RBX && is_resolver)
		rule.cfa_kind = HL_CFA_RBX;
	else
		return with_register(HL_CFA_REG, cfa->reg, cfa->offset);
	rule.cfa_off = (__s32)cfa->offset;
	return rule;
}

/* True for an expression that is "rbp + offset". */
static bool is_from_rbp(const struct hl_how_to *value, int64_t *ret_offset)
{
	struct hl_cursor c = hl_cursor_of(value->expression, value->len, "an expression");
	uint8_t op = hl_cursor_u8(&c);

	*ret_offset = hl_cursor_sleb(&c);
	return op == OP_BREG0 + HL_X86_RBP && !c.failed && !hl_cursor_left(&c);
}

/* What cannot be expressed is lost, which is no error as long as nothing needs it. */
static void set_frame_pointer(struct hl_unwind_rule *rule, const struct hl_how_to *value)
{
	int64_t offset;

	if (value->how == HL_HOW_UNSET || value->how == HL_HOW_SAME) {
		rule->fp_kind = HL_FP_SAME;
	} else if (value->how == HL_HOW_OFFSET && fits(value->offset, 16)) {
		rule->fp_kind = HL_FP_CFA;
		rule->fp_off = (__s16)value->offset;
	} else if (value->how == HL_HOW_EXPRESSION && is_from_rbp(value, &offset) && fits(offset, 16)) {
		rule->fp_kind = HL_FP_DEREF_RBP;
		rule->fp_off = (__s16)offset;
	} else {
		rule->fp_kind = HL_FP_UNDEFINED;
	}
}

static unsigned int rbx_slot(const struct hl_how_to *value)
{
	if (value->how == HL_HOW_UNSET || value->how == HL_HOW_SAME)
		return HL_RBX_SAME;
	if (value->how != HL_HOW_OFFSET || value->offset > -16 || value->offset % 8 != 0 ||
	    value->offset < -8 * (HL_RBX_MAX_SLOT + 1))
		return HL_RBX_LOST;
	return (unsigned int)(-value->offset / 8 - 1);
}

struct hl_unwind_rule hl_x86_rule(const struct hl_frame_state *state, bool is_resolver, bool follow_rbx)
{
	const struct hl_how_to *ra = &state->return_address;
	struct hl_unwind_rule rule;

	if (ra->how == HL_HOW_UNDEFINED)
		return (struct hl_unwind_rule){ .cfa_kind = HL_CFA_STOP };
	rule = cfa_rule(&state->cfa, is_resolver);
	if (ra->how == HL_HOW_REGISTER && rule.cfa_kind == HL_CFA_RSP)
		rule = with_register(HL_CFA_RA_IN_REG, ra->reg, rule.cfa_off);
	else if (ra->how != HL_HOW_OFFSET || ra->offset != -8)
		return unsupported;
	if (rule.cfa_kind != HL_CFA_UNSUPPORTED)
		set_frame_pointer(&rule, &state->frame_pointer);
	if (rule.cfa_kind != HL_CFA_UNSUPPORTED && follow_rbx)
		rule.rbx_slot = rbx_slot(&state->base) & 63;
	return rule;
}

bool hl_x86_is_resolver(const struct hl_frame_state *state)
{
	return state->cfa.how == HL_HOW_OFFSET && state->cfa.reg == HL_X86_RSP && state->cfa.offset == 24;
}
