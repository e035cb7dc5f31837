/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_WALK_H
#define HL_BPF_WALK_H

/*
 * The user stack, walked from the registers of the sample towards the thread's start.
 *
 * A step leaves the frame that scratch.ip/sp/bp describe: a rule computes the caller's registers, then the
 * new address is tested, and only then a frame is appended. Nothing is invented: an address that lies in no
 * executable mapping, or that was found by frame pointer and follows no call, ends the walk with a reason.
 *
 * The rule comes from the unwind table of the file that the frame lies in (table.bpf.h). Where there can be
 * none, in JIT code, in files without a table and in functions that it does not know, it is the frame
 * pointer's; where it is only missing, the walk ends. A signal handler returns to a trampoline, which is known
 * by its rule or by its code.
 */

#include "caller.bpf.h"
#include "rule.bpf.h"

/* Appends the frame at scratch.ip, which lies in the mapping just found. False: the limit is reached. */
static __always_inline bool append_frame(struct scratch *s)
{
	__u32 n = s->stack.head.n;
	__u64 frame = s->found.base + s->ip;

	if (n >= max_user_frames || n >= HL_MAX_FRAMES)
		return false;
	s->stack.frames[n & (HL_MAX_FRAMES - 1)] = frame;
	s->stack.head.n = n + 1;
	s->hash = (s->hash ^ frame) * 0x9e3779b97f4a7c15ULL;
	s->hash ^= s->hash >> 32;
	return true;
}

/* Finds the rule for the frame at scratch.ip, whose mapping has been found. */
static __always_inline void find_frame_rule(struct scratch *s)
{
	s->has_rule = s->word == 8 && find_rule(s, s->found.base + s->ip);
}

/* The rule is not the table's, but follows from the code. */
static __always_inline void set_rule(struct scratch *s, enum hl_cfa_kind kind)
{
	s->rule.cfa_kind = kind;
	s->has_rule = 1;
}

/* The same where scratch.ip is no return address, but that of scratch.leaf. */
static __always_inline void find_exact_rule(struct scratch *s)
{
	find_frame_rule(s);
	if (s->word != 8)
		return;
	if (calls_sigreturn(s) || (!s->has_rule && placed_code(s->ip, 0) == PLACED_SIGNAL))
		set_rule(s, HL_CFA_SIGNAL);
}

/*
 * Tests a return address that follows no call, but byte @before, and finds its rule. True: the walk has ended. What
 * a table has led to is believed, what came by frame pointer is not.
 */
static __always_inline bool test_placed(struct scratch *s, bool by_table, __u32 before)
{
	int kind;

	if (find_mapping(s->caller) == MAPPING_NONE)
		return stop_walk(s, HL_WALK_NO_MAPPING);
	s->ip = s->caller;
	find_frame_rule(s);
	kind = s->word == 8 ? placed_code(s->caller, before) : PLACED_UNKNOWN;
	if (kind == PLACED_SIGNAL)
		set_rule(s, HL_CFA_SIGNAL);
	else if (kind == PLACED_START && (by_table || s->bp == 0))
		set_rule(s, HL_CFA_STOP);
	else if (!by_table && !(s->has_rule && s->rule.cfa_kind == HL_CFA_SIGNAL))
		return stop_walk(s, HL_WALK_NO_CALL);
	return false;
}

/* Does so with one whose code cannot be read. As long as this process runs, it need not be tried again. */
static __always_inline bool test_unreadable(struct scratch *s, bool by_table)
{
	if (!by_table)
		return stop_walk(s, HL_WALK_FAULT);
	find_frame_rule(s);
	if (s->has_rule && s->rule.cfa_kind == HL_CFA_SIGNAL)
		s->ip = s->caller;
	else if (s->has_rule)
		remember_caller(s, s->owner_stamp);
	return false;
}

/*
 * Tests the return address that a rule has found, and finds the rule for the next step; what was remembered of it
 * does not help. 1: the walk has ended.
 */
__noinline int test_caller(struct scratch *s, __u32 by_table)
{
	__u64 before;

	if (!s)
		return 1;
	if (s->found.kind == MAPPING_NONE)
		return test_placed(s, by_table, 0);
	/* A forked child has not touched all of its parent's code pages yet. */
	if (!read_before(s->caller, &before))
		return test_unreadable(s, by_table);
	if (!follows_call(before))
		return test_placed(s, by_table, before >> 48);
	find_frame_rule(s);
	remember_caller(s, s->found.stamp);
	return 0;
}

/* Goes to the caller that a rule has found. True: the walk has ended. */
static __always_inline bool go_to_caller(struct scratch *s, bool by_table)
{
	if (s->caller == 0)
		return stop_walk(s, may_be_first(s, s->has_rule) ? HL_WALK_COMPLETE : HL_WALK_NO_MAPPING);
	s->ip = s->caller - 1;
	if (mapping_at(s, s->ip) != MAPPING_NONE && recall_caller(s))
		return false;
	return test_caller(s, by_table);
}

/* From the trampoline to the code that the signal interrupted. 1: the walk has ended. */
__noinline int step_over_signal(struct scratch *s)
{
	if (!s)
		return 1;
	if (!rule_signal_frame(s))
		return stop_walk(s, HL_WALK_FAULT);
	if (find_mapping(s->ip) == MAPPING_NONE)
		return stop_walk(s, HL_WALK_NO_MAPPING);
	find_exact_rule(s);
	return 0;
}

/* One step towards the thread's start. 1: the walk has ended, the reason is in the stack's head. */
__noinline int walk_step(struct scratch *s)
{
	bool by_table, end;

	if (!s)
		return 1;
	by_table = s->has_rule;
	if (by_table && s->rule.cfa_kind == HL_CFA_SIGNAL) {
		end = step_over_signal(s);
		s->leaf_valid = 1;
	} else {
		s->is_switched = 0;
		end = by_table ? rule_table(s) : rule_frame_pointer(s);
		s->leaf_valid = 0;
		end = end || go_to_caller(s, by_table && !s->is_switched);
	}
	if (end)
		return 1;
	if (!append_frame(s))
		return stop_walk(s, HL_WALK_DEPTH);
	return 0;
}

/* Begins at the registers in scratch.leaf. */
static __always_inline void walk_begin(struct scratch *s)
{
	s->ip = s->leaf.rip;
	s->sp = s->leaf.rsp;
	s->bp = s->leaf.rbp;
	s->bp_is_any = 1;
	s->leaf_valid = 1;
	s->rbx = s->leaf.rbx;
	s->rbx_valid = 1;
	s->word = (s->leaf.cs & 0xffff) == USER_CS_32 ? 4 : 8;
	s->chunk_address = NO_CHUNK;
	s->hash = stack_seed;
	s->stack.head = (struct hl_stack_head){ .end = HL_WALK_DEPTH };
}

/* Walks on from the frame in the scratch, which is the leaf or has been appended. Returns how it ended. */
__noinline int walk_on(struct scratch *s)
{
	__u32 i;

	if (!s)
		return HL_WALK_FAULT;
	find_exact_rule(s);
	/* One step more than there can be frames: the last may find the start. */
	for (i = 0; i <= HL_MAX_FRAMES; i++)
		if (walk_step(s))
			break;
	return s->stack.head.end;
}

#endif
