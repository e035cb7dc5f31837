// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/paths.h"

#include <errno.h>

#include "insn/flow.h"
#include "unwind/code.h"
#include "unwind/paths_internal.h"

/*
 * A function is followed from its first instruction, where the CFA is at rsp + 8. Jumps and branches lead on
 * for certain (strong edges). Whether a call or a system call returns is not known, so what stands behind it
 * follows from it only perhaps (weak edges): the function may have ended there, and the next one begun.
 *
 * Code has one stack depth at each place. Where two paths bring different ones, or where a return would not
 * find the return address, something was assumed wrongly: that is the weak edge over which the path came. It
 * is cut, and the function followed again. Without such an edge the function is given up. So a frame that is
 * kept has been seen to fit with how the function returns.
 *
 * A computed jump may be a switch. It changes no registers, so what it leads to runs in the frame that it
 * was itself in: code of the function that nothing else has led to, if all its computed jumps agree.
 */

static bool carry_proof(struct hl_paths *p, uint32_t from, uint32_t to)
{
	if (to == NO_ORIGIN || !(p->flags[from] & FLAG_PROVEN) || (p->flags[to] & FLAG_PROVEN))
		return false;
	p->flags[to] |= FLAG_PROVEN;
	return true;
}

/* Proven is also the weak edge that leads to another one that is, or to where that has led. */
static void carry_proofs(struct hl_paths *p)
{
	bool has_changed = true;
	size_t i;

	for (unsigned int pass = 0; pass < MAX_PASSES && has_changed; pass++) {
		has_changed = false;
		for (i = p->n_weak; i > 0; i--)
			has_changed |= carry_proof(p, p->weak[i - 1].to, p->weak[i - 1].parent);
		for (i = p->n_joins; i > 0; i--)
			has_changed |= carry_proof(p, p->joins[i - 1].to, p->joins[i - 1].from);
	}
}

/*
 * Cuts the weak edges behind which nothing shows that the function goes on there, but something that it does
 * not. Of a function that never returns only the latter are.
 */
static void cut_unproven(struct hl_paths *p)
{
	bool is_without_end = !p->leaves;
	uint32_t to;
	size_t i;

	carry_proofs(p);
	for (i = p->n_weak; i > 0; i--) {
		to = p->weak[i - 1].to;
		if ((p->flags[to] & (FLAG_PROVEN | FLAG_CUT)) || hl_paths_is_beginning(p, to) ||
		    (is_without_end && (!(p->flags[to] & FLAG_UNCLEAN) || (p->flags[to] & FLAG_FITS))))
			continue;
		p->flags[to] |= FLAG_CUT;
		p->is_again |= p->marks[to] >= HL_MARK_FRAMES;
		hl_paths_spoil(p, p->weak[i - 1].parent);
	}
}

/* Follows what computed jumps may lead to: code of the function that nothing has led to. */
static int follow_tables(struct hl_paths *p)
{
	uint32_t at, skipped;
	int r = 0;

	if (!p->table_frame)
		return 0;
	for (at = p->begin + 1; at < p->end && r == 0 && !p->is_wrong && !p->is_again; at++) {
		if (p->has_two_tables || hl_paths_is_beginning(p, at))
			break;
		if (p->marks[at] != HL_MARK_UNSEEN) {
			if (p->budget == 0)
				return -E2BIG;
			p->budget -= p->marks[at] >= HL_MARK_FRAMES;
			continue;
		}
		skipped = hl_code_filling(p->code, at, p->end - at < MAX_FILLING ? p->end : at + MAX_FILLING);
		if (skipped > at) {
			at = skipped - 1;
			continue;
		}
		if (p->flags[at] & FLAG_CUT) {
			if (!p->is_sized)
				break;
			at = hl_paths_linear_end(p, at) - 1;
			continue;
		}
		r = hl_paths_add_edge(p, (struct hl_paths_edge){ .to = at,
								 .origin = at,
								 .parent = NO_ORIGIN,
								 .frame = p->table_frame,
								 .is_weak = true,
								 .parity = p->parity });
		if (r == 0)
			r = hl_paths_follow_edges(p);
		/* Without a symbol's size, the next function may have begun. */
		if (r == 0 && !p->is_sized && !p->is_again) {
			carry_proofs(p);
			if (!(p->flags[at] & FLAG_PROVEN))
				hl_paths_contradict(p, at, NO_ORIGIN);
		}
	}
	return r;
}

static int try_function(struct hl_paths *p)
{
	static const struct hl_frame first = { .is_first = 1 };
	int mark = hl_paths_mark(p, p->certainty == HL_FIRST ? &first : &hl_frame_entry), r;
	size_t i;

	if (mark < 0)
		return mark;
	for (i = 0; i < p->n_weak; i++)
		p->flags[p->weak[i].to] &= (uint16_t) ~(FLAG_PROVEN | FLAG_UNCLEAN | FLAG_FITS);
	p->n_pointers = p->n_calls = p->n_weak = p->next_weak = p->n_joins = 0;
	p->table_frame = 0;
	p->parity = NO_PARITY;
	p->has_two_tables = p->is_wrong = p->is_again = p->returns = false;
	p->is_misaligned = p->is_misaligned_within = p->is_lost = false;
	p->has_call = p->leaves = p->is_foreign = false;
	r = hl_paths_add_edge(p, (struct hl_paths_edge){ .to = p->begin,
							 .origin = NO_ORIGIN,
							 .parent = NO_ORIGIN,
							 .frame = (uint16_t)mark,
							 .parity = NO_PARITY });
	if (r == 0)
		r = hl_paths_follow_edges(p);
	if (r == 0)
		r = follow_tables(p);
	if (r == 0 && !p->is_again && !p->is_wrong)
		cut_unproven(p);
	return r;
}

/* A function may do nothing but go on in another, by a pointer that it was given. */
static bool is_thunk(const struct hl_paths *p)
{
	const struct hl_stretch *s = hl_paths_stretch(p, p->begin);
	struct hl_flow flow;

	hl_insn_flow(HL_INSN_MODE_64, p->code + p->begin, s->at + s->size - p->begin, 0, &flow);
	return flow.next == HL_NEXT_JUMP && !flow.has_target &&
	       (s->address + (p->begin - s->at)) % FUNCTION_ALIGNMENT == 0;
}

static bool is_believed(const struct hl_paths *p)
{
	if (p->is_wrong || p->is_again)
		return false;
	if (p->certainty == HL_GUESSED)
		return p->returns && !p->is_lost && !p->is_misaligned && !p->is_misaligned_within;
	if (p->certainty == HL_POINTED)
		return !p->is_lost && !p->is_misaligned &&
		       (p->returns || (p->has_call && !p->is_misaligned_within) || is_thunk(p));
	return true;
}

/* Remembers what the function calls: functions begin there. */
static int note_calls(struct hl_paths *p)
{
	uint16_t mark;
	uint32_t at;
	size_t i;
	int r;

	for (i = 0; i < p->n_calls; i++) {
		at = p->calls[i];
		if (hl_paths_stretch(p, at)->is_foreign)
			continue;
		mark = p->marks[at];
		p->is_restless |= mark >= HL_MARK_FRAMES &&
				  !hl_frame_is_bare(&p->frames[mark - HL_MARK_FRAMES]) &&
				  !(p->flags[at] & FLAG_FIRST);
		if (p->flags[at] & (FLAG_QUEUED | FLAG_FIRST))
			continue;
		r = hl_grow(&p->queue, &p->cap_queue, p->n_queue + 1, sizeof(at), MAX_EDGES);
		if (r < 0)
			return r;
		p->queue[p->n_queue++] = at;
		p->flags[at] |= FLAG_CALLED | FLAG_QUEUED;
	}
	for (i = 0; i < p->n_pointers; i++) {
		at = p->pointers[i];
		if (p->marks[at] == HL_MARK_INSIDE || p->marks[at] >= HL_MARK_FRAMES)
			continue;
		r = hl_grow(&p->pointed, &p->cap_pointed, p->n_pointed + 1, sizeof(at), MAX_EDGES);
		if (r < 0)
			return r;
		p->pointed[p->n_pointed++] = at;
	}
	return 0;
}

/* What was reached first by the function that was followed is its. */
static void own(struct hl_paths *p)
{
	for (size_t i = 0; i < p->n_journal; i++)
		if (p->journal[i].length)
			p->owners[p->journal[i].at] = p->begin;
}

int hl_paths_follow(struct hl_paths *p, uint32_t position, uint32_t size, enum hl_certainty certainty)
{
	const struct hl_stretch *s = hl_paths_stretch(p, position);
	uint32_t room = s->at + s->size - position;
	int tries, most, r = 0;

	if (s->is_foreign || p->marks[position] >= HL_MARK_FRAMES ||
	    (p->marks[position] == HL_MARK_REFUSED && certainty == HL_GUESSED))
		return 0;
	p->begin = position;
	p->is_sized = size > 0;
	p->end = position + (size && size < room ? size : room);
	p->certainty = certainty;
	p->is_again = true;
	most = certainty == HL_GUESSED ? MAX_GUESS_TRIES : MAX_TRIES;
	for (tries = 0; tries < most && p->is_again && r == 0; tries++) {
		r = try_function(p);
		if (r < 0 || p->is_again)
			hl_paths_roll_back(p, HL_MARK_UNSEEN);
	}
	if (r == -E2BIG || r == -ENOMEM) {
		hl_paths_roll_back(p, HL_MARK_UNSEEN);
		return r;
	}
	if (!is_believed(p)) {
		own(p);
		hl_paths_roll_back(p, certainty == HL_GUESSED ? HL_MARK_UNSEEN : HL_MARK_REFUSED);
		p->marks[position] = HL_MARK_REFUSED;
		p->owners[position] = position;
		return 0;
	}
	own(p);
	p->n_journal = 0;
	if (p->is_foreign) {
		hl_paths_refuse(p, s);
		return 0;
	}
	if (!p->leaves && !(p->flags[position] & FLAG_NO_RETURN)) {
		p->flags[position] |= FLAG_NO_RETURN;
		p->is_restless |= (p->flags[position] & FLAG_CALLED) != 0;
	}
	return note_calls(p);
}
