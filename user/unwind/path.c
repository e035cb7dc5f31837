// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/paths_internal.h"

#include <errno.h>

#include "insn/flow.h"
#include "unwind/code.h"
#include "unwind/paths.h"

/* One path, from instruction to instruction, until it ends or comes to where another has been. */

int hl_paths_add_edge(struct hl_paths *p, struct hl_paths_edge edge)
{
	int r;

	if (edge.is_weak) {
		r = hl_grow(&p->weak, &p->cap_weak, p->n_weak + 1, sizeof(edge), MAX_EDGES);
		if (r == 0)
			p->weak[p->n_weak++] = edge;
	} else {
		r = hl_grow(&p->strong, &p->cap_strong, p->n_strong + 1, sizeof(edge), MAX_EDGES);
		if (r == 0)
			p->strong[p->n_strong++] = edge;
	}
	return r;
}

bool hl_paths_is_beginning(const struct hl_paths *p, uint32_t at)
{
	return (p->flags[at] & (FLAG_CALLED | FLAG_FIRST)) ||
	       (p->flags[at] & (FLAG_NAMED | FLAG_DOUBT)) == FLAG_NAMED;
}

/* A path comes to where another function begins. */
static void arrive_at_beginning(struct hl_paths *p, const struct hl_paths_edge *e,
				const struct hl_frame *frame)
{
	if (hl_frame_is_bare(frame)) {
		p->returns = p->leaves = true;
		hl_paths_prove(p, e->origin);
	} else if (e->is_weak || frame->is_first) {
		return;
	} else if (e->origin != NO_ORIGIN || (p->flags[e->to] & FLAG_CALLED)) {
		hl_paths_contradict(p, e->origin, NO_ORIGIN);
	} else {
		p->flags[e->to] |= FLAG_DOUBT;
		p->is_restless = true;
		p->is_wrong = true;
	}
}

/* The path @e and an earlier one bring different frames. */
static void clash(struct hl_paths *p, const struct hl_paths_edge *e)
{
	uint32_t other = hl_paths_origin(p, e->to);

	if (other == NO_ENTRY && p->certainty != HL_GUESSED) {
		p->is_restless |= !(p->flags[e->to] & FLAG_CLASH);
		p->flags[e->to] |= FLAG_CLASH;
	}
	other = other == NO_ENTRY ? NO_ORIGIN : other;
	hl_paths_contradict(p, e->origin, other);
}

/* A path comes to where another has been before, with the same frame. */
static int join(struct hl_paths *p, uint32_t origin, uint32_t other)
{
	int r;

	p->leaves |= other == NO_ENTRY;
	if (origin == NO_ORIGIN || origin == other)
		return 0;
	if (other == NO_ORIGIN || other == NO_ENTRY) {
		hl_paths_prove(p, origin);
		return 0;
	}
	r = hl_grow(&p->joins, &p->cap_joins, p->n_joins + 1, sizeof(*p->joins), MAX_EDGES);
	if (r == 0)
		p->joins[p->n_joins++] = (struct hl_paths_join){ origin, other };
	return r;
}

/* ---- where threads begin and end ---- */

/* Numbers of system calls: arch/x86/entry/syscalls/syscall_64.tbl of Linux. */
enum { CALL_MUNMAP = 11, CALL_CLONE = 56, CALL_EXIT = 60, MAX_TO_EXIT = 8 };

/* Keeps the number in rax up to date over the instruction @flow. */
static void follow_number(uint16_t *ax_plus_1, const struct hl_flow *flow)
{
	uint32_t ax = flow->ax;

	if (flow->ax_bytes == 1 && *ax_plus_1 > 0)
		ax = ((*ax_plus_1 - 1u) & ~0xffu) | (ax & 0xff);
	else if (flow->ax_bytes != 8)
		ax = UINT32_MAX;
	if (flow->ax_bytes || (flow->writes & 1u << HL_REG_AX))
		*ax_plus_1 = ax < UINT16_MAX ? (uint16_t)(ax + 1) : 0;
}

/* Whether the instruction at @at is `syscall`: `int $0x80` has other numbers. */
static bool is_syscall(const struct hl_paths *p, uint32_t at)
{
	return p->code[at] == 0x0f && p->code[at + 1] == 0x05;
}

/* True if nothing but the thread's exit follows at @at: it needs its stack no more. */
static bool is_exit(struct hl_paths *p, const struct hl_stretch *s, uint32_t at)
{
	uint16_t number = 0;
	struct hl_flow flow;

	for (unsigned int i = 0; i < MAX_TO_EXIT && at < s->at + s->size; i++) {
		hl_paths_decode(p, s, at, &flow);
		if (flow.next == HL_NEXT_SYSCALL)
			return is_syscall(p, at) && number == CALL_EXIT + 1;
		if (flow.next != HL_NEXT_STRAIGHT || flow.stack != HL_STACK_SAME)
			return false;
		follow_number(&number, &flow);
		at += flow.length;
	}
	return false;
}

/* What the system call at @at with the number in @e changes about the thread's stack. */
static void pass_syscall(struct hl_paths *p, const struct hl_paths_edge *e, uint32_t at, uint32_t length,
			 struct hl_frame *frame)
{
	if (!is_syscall(p, at) || frame->is_first)
		return;
	if (e->ax_plus_1 == CALL_CLONE + 1)
		frame->is_cloned = 1;
	else if (e->ax_plus_1 == CALL_MUNMAP + 1)
		frame->is_ending = is_exit(p, hl_paths_stretch(p, at), at + length);
}

/* Marks the instruction at @e->to; > 0: and goes on from there; 0: the path ends; -errno. */
static int visit(struct hl_paths *p, const struct hl_paths_edge *e, struct hl_frame *frame, uint8_t length)
{
	struct hl_paths_entry entry = { .at = e->to, .origin = e->origin, .before = p->marks[e->to] };
	bool is_new = entry.before < HL_MARK_FRAMES;
	int mark, r;

	/* What a guess has come to nothing at may be something after all. */
	if (entry.before == HL_MARK_REFUSED && p->certainty == HL_GUESSED) {
		p->is_lost = true;
		return 0;
	}
	if (!is_new && !hl_frame_meet(frame, &p->frames[entry.before - HL_MARK_FRAMES])) {
		if (!e->is_weak)
			clash(p, e);
		return 0;
	}
	if (is_new && e->origin != NO_ORIGIN && (p->flags[e->to] & FLAG_CLASH)) {
		hl_paths_contradict(p, e->origin, NO_ORIGIN);
		return 0;
	}
	mark = hl_paths_mark(p, frame);
	if (mark < 0)
		return mark;
	if (mark == entry.before)
		return join(p, e->origin, hl_paths_origin(p, e->to));
	entry.length = is_new ? length : 0;
	r = hl_grow(&p->journal, &p->cap_journal, p->n_journal + 1, sizeof(entry), p->size * (size_t)8);
	if (r < 0)
		return r;
	p->entries[e->to] = (uint32_t)p->n_journal;
	p->journal[p->n_journal++] = entry;
	p->marks[e->to] = (uint16_t)mark;
	for (uint32_t i = 1; is_new && i < length; i++)
		if (p->marks[e->to + i] == HL_MARK_UNSEEN)
			p->marks[e->to + i] = HL_MARK_INSIDE;
	return 1;
}

/* Notes that the address of code is taken, or handed on. */
static int note_pointer(struct hl_paths *p, uint32_t to)
{
	int r;

	if (to == UINT32_MAX || p->marks[to] == HL_MARK_INSIDE || p->marks[to] >= HL_MARK_FRAMES)
		return 0;
	r = hl_grow(&p->pointers, &p->cap_pointers, p->n_pointers + 1, sizeof(to), MAX_EDGES);
	if (r == 0)
		p->pointers[p->n_pointers++] = to;
	return r;
}

/*
 * The call of another function as the last thing that one does. Code within a function, too, may have the return
 * address on top of the stack, but it is not that far, nor before the beginning.
 */
static bool is_tail_call(const struct hl_paths *p, uint32_t to, const struct hl_frame *frame,
			 const struct hl_flow *flow)
{
	return flow->next == HL_NEXT_JUMP && hl_frame_is_bare(frame) &&
	       (to < p->begin || (p->is_sized ? to >= p->end : to - p->begin > MAX_NEAR));
}

static int jump(struct hl_paths *p, struct hl_paths_edge *e, const struct hl_frame *frame,
		const struct hl_flow *flow)
{
	uint32_t to = flow->has_target ? hl_paths_find(p, flow->target) : UINT32_MAX;
	bool is_ours = to != UINT32_MAX && !hl_paths_stretch(p, to)->is_foreign;
	int mark = hl_paths_mark(p, frame), r = 0;

	if (mark < 0)
		return mark;
	if (is_ours && is_tail_call(p, to, frame, flow)) {
		r = note_pointer(p, to);
		is_ours = false;
	}
	if (is_ours)
		return hl_paths_add_edge(p, (struct hl_paths_edge){ .to = to,
								    .origin = e->origin,
								    .parent = e->parent,
								    .frame = (uint16_t)mark,
								    .parity = e->parity });
	if (!flow->has_target) {
		p->has_two_tables |= p->table_frame && p->table_frame != mark;
		p->table_frame = (uint16_t)mark;
	}
	p->leaves = true;
	if (hl_frame_is_bare(frame))
		hl_paths_prove(p, e->origin);
	else
		hl_paths_spoil(p, e->origin);
	return r;
}

/*
 * The ABI has the stack aligned to 16 bytes at every call, so where a function begins it is not. Code that
 * was taken for the rest of the one that called last gives itself away by its own first call. Compilers leave
 * the stack as it is before a function of the same file that needs no alignment.
 */
static int call(struct hl_paths *p, struct hl_paths_edge *e, const struct hl_frame *frame,
		const struct hl_flow *flow)
{
	uint32_t to = flow->has_target ? hl_paths_find(p, flow->target) : UINT32_MAX;
	uint8_t parity = frame->has_depth ? frame->depth & 15 : NO_PARITY;
	int r;

	p->has_call = true;
	if (frame->has_depth && parity != 0 && to != UINT32_MAX && !hl_paths_stretch(p, to)->is_foreign)
		p->is_misaligned_within = true;
	else if (frame->has_depth && parity != 0)
		p->is_misaligned = true;
	if (parity != NO_PARITY && e->parity != NO_PARITY && parity != e->parity && e->origin != NO_ORIGIN)
		hl_paths_contradict(p, e->origin, NO_ORIGIN);
	if (parity != NO_PARITY && parity == e->parity && e->origin != NO_ORIGIN)
		p->flags[e->origin] |= FLAG_FITS;
	if (parity != NO_PARITY)
		e->parity = p->parity = parity;
	if (to == UINT32_MAX)
		return 0;
	r = hl_grow(&p->calls, &p->cap_calls, p->n_calls + 1, sizeof(to), MAX_EDGES);
	if (r == 0)
		p->calls[p->n_calls++] = to;
	return r;
}

static bool calls_no_return(const struct hl_paths *p, const struct hl_flow *flow)
{
	uint32_t to = flow->has_target ? hl_paths_find(p, flow->target) : UINT32_MAX;

	return to != UINT32_MAX && (p->flags[to] & FLAG_NO_RETURN);
}

/* A call of the next instruction pushes its address. */
static bool is_push_of_ip(const struct hl_flow *flow, uint64_t next)
{
	return flow->next == HL_NEXT_CALL && flow->has_target && flow->target == next;
}

/*
 * Leaves the instruction @flow with @frame, which holds what was before it. > 0: for the one behind it, to
 * which @e then leads; 0: the path ends here.
 */
static int leave(struct hl_paths *p, struct hl_paths_edge *e, struct hl_frame *frame, struct hl_flow *flow,
		 uint64_t next, uint32_t end)
{
	bool has_popped = frame->ra_plus_1 > 0;
	bool is_first_call;
	enum hl_frame_step step;
	int r = 0, mark;

	if (is_push_of_ip(flow, next))
		*flow = (struct hl_flow){ .next = HL_NEXT_STRAIGHT,
					  .stack = HL_STACK_ADD,
					  .grows = -8,
					  .move = HL_MOVE_PUSH,
					  .reg = HL_REG_NONE };
	if (flow->next == HL_NEXT_CALL)
		r = call(p, e, frame, flow);
	else if (flow->has_reference && (flow->is_lea || flow->is_immediate))
		r = note_pointer(p, hl_paths_find(p, flow->reference));
	/* Behind the call of a program's first function is its end, if anything. */
	if (e->limit &&
	    (flow->next == HL_NEXT_JUMP || flow->next == HL_NEXT_BRANCH || flow->next == HL_NEXT_CALL))
		hl_paths_contradict(p, e->origin, NO_ORIGIN);
	step = hl_frame_step(frame, flow);
	p->is_foreign |= (has_popped && step == HL_STEP_LOST && (flow->writes & 1u << HL_REG_SP)) ||
			 (flow->next == HL_NEXT_RETURN && flow->stack == HL_STACK_UNKNOWN);
	if (step == HL_STEP_WRONG)
		hl_paths_contradict(p, e->origin, NO_ORIGIN);
	if (step == HL_STEP_LOST) {
		p->is_lost = p->leaves = true;
		if (e->origin != NO_ORIGIN)
			hl_paths_contradict(p, e->origin, NO_ORIGIN);
	}
	if (step == HL_STEP_RETURNED) {
		p->returns = p->leaves = true;
		hl_paths_prove(p, e->origin);
	}
	if (r < 0 || step != HL_STEP_ON || flow->next == HL_NEXT_NEVER)
		return r;
	if (flow->next == HL_NEXT_SYSCALL)
		pass_syscall(p, e, e->to, flow->length, frame);
	follow_number(&e->ax_plus_1, flow);
	if (flow->next == HL_NEXT_CALL && calls_no_return(p, flow)) {
		hl_paths_prove(p, e->origin);
		return 0;
	}
	if (flow->next == HL_NEXT_JUMP || flow->next == HL_NEXT_BRANCH)
		r = jump(p, e, frame, flow);
	if (r < 0 || flow->next == HL_NEXT_JUMP)
		return r;
	e->to += flow->length;
	e->is_weak = false;
	if (flow->next != HL_NEXT_CALL && flow->next != HL_NEXT_SYSCALL)
		return 1;
	is_first_call = frame->is_first && flow->next == HL_NEXT_CALL;
	mark = hl_paths_mark(p, frame);
	if (mark < 0)
		return mark;
	e->to = hl_code_filling(p->code, e->to, end - e->to < MAX_FILLING ? end : e->to + MAX_FILLING);
	if (e->to == end)
		return 0;
	*e = (struct hl_paths_edge){ .to = e->to,
				     .origin = e->to,
				     .parent = e->origin,
				     .frame = (uint16_t)mark,
				     .is_weak = true,
				     .limit = is_first_call ? MAX_AFTER_FIRST : 0,
				     .parity = e->parity };
	return hl_paths_add_edge(p, *e);
}

/* Follows one path until it ends, or comes to where another has been. */
static int follow_path(struct hl_paths *p, struct hl_paths_edge e)
{
	const struct hl_stretch *s = hl_paths_stretch(p, e.to);
	struct hl_frame frame = p->frames[e.frame - HL_MARK_FRAMES];
	struct hl_flow flow;
	uint32_t length;
	int r = 1;

	while (r > 0 && e.to < s->at + s->size && !p->is_wrong && !p->is_again) {
		if (e.is_weak && (p->flags[e.to] & FLAG_CUT)) {
			hl_paths_spoil(p, e.parent);
			return 0;
		}
		if (e.to != p->begin && hl_paths_is_beginning(p, e.to)) {
			arrive_at_beginning(p, &e, &frame);
			return 0;
		}
		if (p->budget == 0)
			return -E2BIG;
		hl_paths_decode(p, s, e.to, &flow);
		if (flow.length == 0) {
			p->is_lost = true;
			hl_paths_spoil(p, e.origin);
			return 0;
		}
		r = visit(p, &e, &frame, flow.length);
		if (r <= 0)
			return r;
		if (e.limit && --e.limit == 0)
			hl_paths_contradict(p, e.origin, NO_ORIGIN);
		length = flow.length;
		r = leave(p, &e, &frame, &flow, s->address + (e.to - s->at) + length, s->at + s->size);
		if (r > 0 && flow.length == 0)
			e.to += length;
	}
	return r < 0 ? r : 0;
}

int hl_paths_follow_edges(struct hl_paths *p)
{
	int r = 0;

	while (r == 0 && !p->is_wrong && !p->is_again) {
		if (p->n_strong > 0)
			r = follow_path(p, p->strong[--p->n_strong]);
		else if (p->next_weak < p->n_weak)
			r = follow_path(p, p->weak[p->next_weak++]);
		else
			break;
	}
	p->n_strong = 0;
	return r;
}
