// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/frame.h"

#include "insn/flow.h"

/*
 * A function that needs its stack aligned to more than 16 bytes, and allocates from it too, rounds rsp down. How far
 * is not known, so that nothing tells its CFA but a register, set to it before, and later a slot of its frame:
 *
 *	lea    8(%rsp),%r10        the CFA
 *	and    $-64,%rsp
 *	push   -8(%r10)            the return address once more, for whoever follows frame pointers
 *	push   %rbp
 *	mov    %rsp,%rbp
 *	push   %r10                … at rbp - 8 from here on
 *	…
 *	mov    -8(%rbp),%r10
 *	leave
 *	lea    -8(%r10),%rsp       at the return address again
 *	ret
 *
 * All is in terms of rbp; a register that may change in a call counts up to the next one only.
 */

enum { WORD = 8, MAX_GAP = 1 << 24, SAVED_ON_STACK = 1, SAVED_IN_FRAME = 2 };

#define CALLEE_SAVED (1u << HL_REG_BX | 0xfu << 12)

static bool is_small(int32_t value)
{
	return value > -MAX_GAP && value < MAX_GAP;
}

/* rsp is at the CFA + @offset: an ordinary frame again. */
static enum hl_frame_step leave_realigned(struct hl_frame *f, int32_t offset)
{
	if (offset > -WORD || !is_small(offset))
		return HL_STEP_LOST;
	f->realigned = (struct hl_realigned){ 0 };
	f->depth = -offset;
	f->has_depth = 1;
	return HL_STEP_ON;
}

/* rbp is the caller's again, and so no longer tells where anything is. */
static void restore_rbp(struct hl_frame *f)
{
	struct hl_realigned *r = &f->realigned;

	f->is_intact = 1;
	r->has_gap = r->has_slot = r->saved = 0;
	r->gap = r->slot = r->saved_at = 0;
}

static bool step_rsp(struct hl_frame *f, const struct hl_flow *flow)
{
	struct hl_realigned *r = &f->realigned;

	switch (flow->stack) {
	case HL_STACK_SAME:
		return true;
	case HL_STACK_ADD:
		r->gap -= r->has_gap ? flow->grows : 0;
		r->saved_at -= r->saved == SAVED_ON_STACK ? flow->grows : 0;
		return is_small(flow->grows) && is_small(r->gap) && is_small(r->saved_at);
	case HL_STACK_LEAVE:
		if (r->saved != SAVED_IN_FRAME || r->saved_at != 0)
			return false;
		restore_rbp(f);
		return true;
	case HL_STACK_COPY:
		r->has_gap = flow->base == HL_REG_BP && r->saved == SAVED_IN_FRAME;
		r->gap = r->has_gap ? -flow->offset : 0;
		return r->has_gap && is_small(flow->offset);
	default:
		r->has_gap = 0;
		r->gap = 0;
		return r->saved != SAVED_ON_STACK;
	}
}

/* Something else than the CFA was stored at rbp + @at. False: that was in its place, or in that of rbp. */
static bool is_harmless(const struct hl_realigned *r, int32_t at)
{
	bool hits_slot = r->has_slot && at > r->slot - WORD && at < r->slot + WORD;
	bool hits_saved = at > r->saved_at - WORD && at < r->saved_at + WORD;

	return r->saved != SAVED_IN_FRAME || (!hits_slot && !hits_saved);
}

/* Register @reg was loaded from rbp + @at. False: rbp, and from elsewhere than where the caller's is. */
static bool load(struct hl_frame *f, uint8_t reg, bool is_known, int32_t at)
{
	struct hl_realigned *r = &f->realigned;

	if (reg == HL_REG_BP) {
		if (r->saved != SAVED_IN_FRAME || !is_known || at != r->saved_at)
			return false;
		restore_rbp(f);
	} else if (is_known && r->has_slot && at == r->slot) {
		r->cfa_plus_1 = (uint8_t)(reg + 1);
	}
	return true;
}

static bool store(struct hl_frame *f, uint8_t reg, bool is_known, int32_t at)
{
	struct hl_realigned *r = &f->realigned;

	if (is_known && !is_harmless(r, at))
		return false;
	if (is_known && r->cfa_plus_1 && reg == r->cfa_plus_1 - 1 && !r->has_slot && at % WORD == 0) {
		r->has_slot = 1;
		r->slot = at;
	}
	return true;
}

/* rbp becomes rsp + @offset: this function's frame. */
static bool begin_frame(struct hl_frame *f, int32_t offset)
{
	struct hl_realigned *r = &f->realigned;

	if (r->saved != SAVED_ON_STACK || !is_small(offset))
		return false;
	f->is_intact = 0;
	r->saved = SAVED_IN_FRAME;
	r->saved_at -= offset;
	r->has_gap = 1;
	r->gap = offset;
	return true;
}

static bool step_move(struct hl_frame *f, const struct hl_realigned *before, const struct hl_flow *flow)
{
	struct hl_realigned *r = &f->realigned;
	bool is_in_frame = flow->base == HL_REG_BP && r->saved == SAVED_IN_FRAME;

	switch (flow->move) {
	case HL_MOVE_PUSH:
		if (flow->reg == HL_REG_BP && f->is_intact && !r->saved) {
			r->saved = SAVED_ON_STACK;
			r->saved_at = 0;
			return true;
		}
		return store(f, flow->reg, r->has_gap, -r->gap);
	case HL_MOVE_POP:
		return load(f, flow->reg, before->has_gap, -before->gap);
	case HL_MOVE_STORE:
		return store(f, flow->reg, is_in_frame, flow->offset);
	case HL_MOVE_LOAD:
		return load(f, flow->reg, is_in_frame, flow->offset);
	case HL_MOVE_COPY:
		return flow->reg != HL_REG_BP || (flow->base == HL_REG_SP && begin_frame(f, flow->offset));
	default:
		return flow->stack == HL_STACK_LEAVE || !(flow->writes & 1u << HL_REG_BP);
	}
}

enum hl_frame_step hl_realigned_step(struct hl_frame *frame, const struct hl_flow *flow)
{
	struct hl_realigned before = frame->realigned, *r = &frame->realigned;

	if (flow->stack == HL_STACK_COPY && r->cfa_plus_1 && flow->base == r->cfa_plus_1 - 1)
		return frame->is_intact ? leave_realigned(frame, flow->offset) : HL_STEP_LOST;
	if (!step_rsp(frame, flow))
		return HL_STEP_LOST;
	if (r->cfa_plus_1) {
		uint32_t lost = flow->next == HL_NEXT_CALL || flow->next == HL_NEXT_SYSCALL
					? flow->writes | ~CALLEE_SAVED
					: flow->writes;

		r->cfa_plus_1 = lost & 1u << (r->cfa_plus_1 - 1) ? 0 : r->cfa_plus_1;
	}
	if (!step_move(frame, &before, flow))
		return HL_STEP_LOST;
	return r->cfa_plus_1 || r->has_slot ? HL_STEP_ON : HL_STEP_LOST;
}

bool hl_realigned_meet(struct hl_frame *frame, const struct hl_frame *other)
{
	struct hl_frame f = *frame;
	struct hl_realigned *r = &f.realigned;
	const struct hl_realigned *o = &other->realigned;

	if (r->is_on != o->is_on || r->saved != o->saved || r->saved_at != o->saved_at ||
	    f.is_intact != other->is_intact)
		return false;
	r->cfa_plus_1 = r->cfa_plus_1 == o->cfa_plus_1 ? r->cfa_plus_1 : 0;
	r->has_gap = r->has_gap && o->has_gap && r->gap == o->gap;
	r->gap = r->has_gap ? r->gap : 0;
	r->has_slot = r->has_slot && o->has_slot && r->slot == o->slot;
	r->slot = r->has_slot ? r->slot : 0;
	if (!r->cfa_plus_1 && !r->has_slot)
		return false;
	*frame = f;
	return true;
}

struct hl_unwind_rule hl_realigned_rule(const struct hl_frame *frame)
{
	const struct hl_realigned *r = &frame->realigned;
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_UNSUPPORTED };
	bool is_in_frame = r->saved == SAVED_IN_FRAME;

	if (r->has_slot && is_in_frame && r->slot >= INT16_MIN && r->slot <= INT16_MAX) {
		rule.cfa_kind = HL_CFA_DEREF_RBP;
		rule.cfa_off = (uint16_t)r->slot;
	} else if (r->cfa_plus_1) {
		rule.cfa_kind = HL_CFA_REG;
		rule.cfa_off = (__s32)hl_frame_dwarf_number(r->cfa_plus_1 - 1u);
	} else {
		return rule;
	}
	if (frame->is_intact) {
		rule.fp_kind = HL_FP_SAME;
	} else if (is_in_frame && r->saved_at >= INT16_MIN && r->saved_at <= INT16_MAX) {
		rule.fp_kind = HL_FP_DEREF_RBP;
		rule.fp_off = (__s16)r->saved_at;
	} else {
		rule.fp_kind = HL_FP_UNDEFINED;
	}
	return rule;
}
