// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/frame.h"

#include "insn/flow.h"

enum { WORD = 8, MAX_DEPTH = 1 << 28 };

const struct hl_frame hl_frame_entry = { .depth = WORD, .has_depth = 1, .is_intact = 1 };

static void forget_rbp(struct hl_frame *f)
{
	f->is_intact = f->has_below = f->is_cleared = 0;
}

/* How far below the CFA @base + @offset is. False: not known. */
static bool distance(const struct hl_frame *f, uint8_t base, int32_t offset, int64_t *ret)
{
	if (base == HL_REG_SP && f->has_depth)
		*ret = (int64_t)f->depth - offset;
	else if (base == HL_REG_BP && f->has_below)
		*ret = (int64_t)f->below - offset;
	else
		return false;
	return *ret > -MAX_DEPTH && *ret < MAX_DEPTH;
}

/* Something was stored at CFA - @at. False: it was the return address's place. */
static bool store(struct hl_frame *f, uint8_t reg, int64_t at)
{
	bool is_callers = reg == HL_REG_BP && f->is_intact;

	if (at > 0 && at < 2 * WORD)
		return false;
	if (is_callers && !f->saved && at % WORD == 0 && at > 0)
		f->saved = (int32_t)at;
	else if (!is_callers && f->saved && at > f->saved - WORD && at < f->saved + WORD)
		f->saved = 0;
	return true;
}

/* rbp was loaded from CFA - @at. */
static void restore(struct hl_frame *f, int64_t at)
{
	bool is_callers = f->saved && at == f->saved;

	forget_rbp(f);
	f->is_intact = is_callers;
}

static void copy_to_rbp(struct hl_frame *f, const struct hl_flow *flow)
{
	int64_t at;
	bool is_known = distance(f, flow->base, flow->offset, &at);

	forget_rbp(f);
	f->has_below = is_known;
	f->below = is_known ? (int32_t)at : 0;
}

/* The stack pointer first: what is pushed lies where it then is, what is popped lay where it was. */
static void step_rsp(struct hl_frame *f, const struct hl_flow *flow)
{
	int64_t depth = 0;
	bool is_known;

	switch (flow->stack) {
	case HL_STACK_SAME:
		return;
	case HL_STACK_ADD:
		is_known = distance(f, HL_REG_SP, flow->grows, &depth);
		break;
	case HL_STACK_COPY:
		is_known = distance(f, flow->base, flow->offset, &depth);
		break;
	case HL_STACK_LEAVE:
		is_known = distance(f, HL_REG_BP, WORD, &depth);
		break;
	default:
		is_known = false;
	}
	f->has_depth = is_known;
	f->depth = is_known ? (int32_t)depth : 0;
}

/* The one write of a whole register that matters here. False: the return address is overwritten. */
static bool step_move(struct hl_frame *f, const struct hl_frame *before, const struct hl_flow *flow)
{
	bool is_rbp = flow->reg == HL_REG_BP;
	int64_t at;

	switch (flow->move) {
	case HL_MOVE_PUSH:
		if (f->has_depth && f->depth >= 2 * WORD)
			return store(f, flow->reg, f->depth);
		return true;
	case HL_MOVE_POP:
		if (is_rbp)
			restore(f, before->has_depth ? before->depth : 0);
		return true;
	case HL_MOVE_STORE:
		return !distance(before, flow->base, flow->offset, &at) || store(f, flow->reg, at);
	case HL_MOVE_LOAD:
		if (is_rbp)
			restore(f, distance(before, flow->base, flow->offset, &at) ? at : 0);
		return true;
	case HL_MOVE_COPY:
		if (is_rbp)
			copy_to_rbp(f, flow);
		return true;
	case HL_MOVE_CLEAR:
		if (is_rbp) {
			bool is_unsaved = f->is_intact && !f->saved;

			forget_rbp(f);
			f->is_cleared = is_unsaved;
		}
		return true;
	default:
		if (flow->stack == HL_STACK_LEAVE)
			restore(f, before->below);
		else if (flow->writes & 1u << HL_REG_BP)
			forget_rbp(f);
		return true;
	}
}

/* vfork and its like keep the return address in a register while the stack may change. */
static enum hl_frame_step step_return_address(struct hl_frame *f, const struct hl_frame *before,
					      const struct hl_flow *flow)
{
	unsigned int reg = before->ra_plus_1 ? before->ra_plus_1 - 1u : 0;

	if (before->ra_plus_1) {
		if (flow->next != HL_NEXT_STRAIGHT && flow->next != HL_NEXT_SYSCALL)
			return HL_STEP_LOST;
		if (flow->move == HL_MOVE_PUSH && flow->reg == reg && f->depth == WORD)
			f->ra_plus_1 = 0;
		else if (flow->writes & (1u << reg | 1u << HL_REG_SP))
			return HL_STEP_LOST;
		return HL_STEP_ON;
	}
	if (!f->has_depth || f->depth >= WORD)
		return HL_STEP_ON;
	if (f->is_cleared) {
		*f = (struct hl_frame){ .is_first = 1 };
		return HL_STEP_ON;
	}
	if (f->depth == 0 && flow->move == HL_MOVE_POP && flow->reg != HL_REG_BP) {
		f->ra_plus_1 = (uint8_t)(flow->reg + 1);
		return HL_STEP_ON;
	}
	return HL_STEP_LOST;
}

/* Before the stack is realigned, a register is set to the CFA; see user/unwind/realigned.c. */
static void step_realigned(struct hl_frame *f, const struct hl_frame *before, const struct hl_flow *flow)
{
	struct hl_realigned *r = &f->realigned;
	int64_t at;

	if (r->cfa_plus_1 && (flow->writes & 1u << (r->cfa_plus_1 - 1) || flow->next != HL_NEXT_STRAIGHT))
		r->cfa_plus_1 = 0;
	if (flow->move == HL_MOVE_COPY && flow->reg != HL_REG_SP && flow->reg != HL_REG_BP &&
	    distance(before, flow->base, flow->offset, &at) && at == 0)
		r->cfa_plus_1 = (uint8_t)(flow->reg + 1);
	r->is_on = r->cfa_plus_1 && !f->has_depth && !f->has_below && f->is_intact;
	if (r->is_on)
		f->saved = 0;
}

enum hl_frame_step hl_frame_step(struct hl_frame *frame, const struct hl_flow *flow)
{
	struct hl_frame before = *frame;
	enum hl_frame_step step;

	if (flow->next == HL_NEXT_RETURN)
		return hl_frame_is_bare(frame) && flow->stack == HL_STACK_ADD ? HL_STEP_RETURNED
									      : HL_STEP_WRONG;
	if (frame->is_first)
		return HL_STEP_ON;
	if (frame->realigned.is_on)
		return hl_realigned_step(frame, flow);
	if (flow->writes & (1u << HL_REG_AX | 1u << HL_REG_SI | 1u << HL_REG_SP))
		frame->is_cloned = 0;
	step_rsp(frame, flow);
	if (!step_move(frame, &before, flow))
		return HL_STEP_LOST;
	step = step_return_address(frame, &before, flow);
	if (step != HL_STEP_ON || frame->is_first)
		return step;
	/* What lies above the stack pointer may be overwritten. */
	if (frame->has_depth && frame->saved > frame->depth)
		frame->saved = 0;
	step_realigned(frame, &before, flow);
	return frame->has_depth || frame->has_below || frame->realigned.is_on ? HL_STEP_ON : HL_STEP_LOST;
}

bool hl_frame_is_bare(const struct hl_frame *frame)
{
	return frame->has_depth && frame->depth == WORD && !frame->ra_plus_1 && !frame->is_first;
}

bool hl_frame_meet(struct hl_frame *frame, const struct hl_frame *other)
{
	struct hl_frame f = *frame;

	if (f.is_first != other->is_first || f.ra_plus_1 != other->ra_plus_1)
		return false;
	if (f.is_first)
		return true;
	if (f.realigned.is_on || other->realigned.is_on)
		return hl_realigned_meet(frame, other);
	if (f.realigned.cfa_plus_1 != other->realigned.cfa_plus_1)
		f.realigned.cfa_plus_1 = 0;
	/* Behind alloca, and where the stack was realigned, rbp alone says it. */
	if (f.has_below && other->has_below && f.below != other->below)
		return false;
	f.has_below = f.has_below && other->has_below;
	f.below = f.has_below ? f.below : 0;
	if (!f.has_below && f.has_depth && other->has_depth && f.depth != other->depth)
		return false;
	f.has_depth = f.has_depth && other->has_depth && f.depth == other->depth;
	f.depth = f.has_depth ? f.depth : 0;
	f.saved = f.saved == other->saved ? f.saved : 0;
	f.is_intact = f.is_intact && other->is_intact;
	f.is_cleared = f.is_cleared && other->is_cleared;
	f.is_cloned = f.is_cloned && other->is_cloned;
	f.is_ending = f.is_ending && other->is_ending;
	if (!f.has_depth && !f.has_below)
		return false;
	*frame = f;
	return true;
}

/* System V psABI for AMD64, figure 3.36. */
unsigned int hl_frame_dwarf_number(unsigned int reg)
{
	static const uint8_t numbers[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	return reg < 8 ? numbers[reg] : reg;
}

struct hl_unwind_rule hl_frame_rule(const struct hl_frame *frame)
{
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_NONE };

	if (frame->is_first)
		return (struct hl_unwind_rule){ .cfa_kind = HL_CFA_STOP };
	if (frame->realigned.is_on)
		return hl_realigned_rule(frame);
	if (frame->ra_plus_1) {
		rule.cfa_kind = HL_CFA_RA_IN_REG;
		rule.cfa_off =
			(__s32)((uint32_t)frame->depth << 8 | hl_frame_dwarf_number(frame->ra_plus_1 - 1u));
	} else if (frame->has_below) {
		rule.cfa_kind = HL_CFA_RBP;
		rule.cfa_off = frame->below;
	} else if (frame->has_depth) {
		rule.cfa_kind = frame->is_cloned || frame->is_ending ? HL_CFA_THREAD : HL_CFA_RSP;
		rule.cfa_off = frame->depth;
	} else {
		return rule;
	}
	if (frame->saved > 0 && frame->saved <= -INT16_MIN) {
		rule.fp_kind = HL_FP_CFA;
		rule.fp_off = (__s16)-frame->saved;
	} else {
		rule.fp_kind = frame->is_intact ? HL_FP_SAME : HL_FP_UNDEFINED;
	}
	return rule;
}
