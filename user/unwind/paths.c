// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "insn/flow.h"
#include "unwind/code.h"
#include "unwind/paths_internal.h"

void hl_paths_done(struct hl_paths *p)
{
	free(p->stretches);
	free(p->code);
	free(p->marks);
	free(p->flags);
	free(p->frames);
	hl_index_done(&p->frame_index);
	free(p->queue);
	free(p->strong);
	free(p->weak);
	free(p->journal);
	free(p->calls);
	free(p->pointed);
	free(p->pointers);
	free(p->joins);
	free(p->entries);
	free(p->owners);
	free(p->flows);
	free(p->flow_numbers);
	*p = (struct hl_paths){ 0 };
}

uint32_t hl_paths_find(const struct hl_paths *p, uint64_t address)
{
	size_t low = 0, high = p->n_stretches, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (p->stretches[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || address - p->stretches[low - 1].address >= p->stretches[low - 1].size)
		return UINT32_MAX;
	return p->stretches[low - 1].at + (uint32_t)(address - p->stretches[low - 1].address);
}

const struct hl_stretch *hl_paths_stretch(const struct hl_paths *p, uint32_t position)
{
	size_t low = 0, high = p->n_stretches, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (p->stretches[mid].at <= position)
			low = mid + 1;
		else
			high = mid;
	}
	return &p->stretches[low - 1];
}

/* Decoding is most of the work, and most instructions are come to several times. */
void hl_paths_decode(struct hl_paths *p, const struct hl_stretch *s, uint32_t at, struct hl_flow *ret)
{
	bool is_kept = p->flow_numbers[at] > 0;

	p->budget -= p->budget > 0;
	if (is_kept) {
		*ret = p->flows[p->flow_numbers[at] - 1];
		return;
	}
	hl_insn_flow(HL_INSN_MODE_64, p->code + at, s->at + s->size - at, s->address + (at - s->at), ret);
	if (hl_grow(&p->flows, &p->cap_flows, p->n_flows + 1, sizeof(*ret), MAX_FLOWS) < 0)
		return;
	p->flows[p->n_flows++] = *ret;
	p->flow_numbers[at] = (uint32_t)p->n_flows;
}

/* ---- frames by number ---- */

struct wanted {
	const struct hl_paths *paths;
	const struct hl_frame *frame;
};

static int is_same(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->paths->frames[position], w->frame, sizeof(*w->frame)) == 0;
}

/* The mark of @frame. -E2BIG: there are too many. */
int hl_paths_mark(struct hl_paths *p, const struct hl_frame *frame)
{
	struct wanted wanted = { p, frame };
	uint64_t hash = hl_hash(frame, sizeof(*frame), 0);
	uint32_t i = hl_index_find(&p->frame_index, hash, is_same, &wanted);
	int r;

	if (i != HL_INDEX_NONE)
		return (int)i + HL_MARK_FRAMES;
	r = hl_grow(&p->frames, &p->cap_frames, p->n_frames + 1, sizeof(*frame), MAX_FRAMES);
	if (r == 0)
		r = hl_index_add(&p->frame_index, hash, (uint32_t)p->n_frames);
	if (r < 0)
		return r;
	p->frames[p->n_frames] = *frame;
	return (int)p->n_frames++ + HL_MARK_FRAMES;
}

/* ---- contradictions ---- */

/* The weak edge over which the function that is being followed came to @at; NO_ENTRY: it was another one. */
uint32_t hl_paths_origin(const struct hl_paths *p, uint32_t at)
{
	uint32_t i = p->entries[at];

	return i < p->n_journal && p->journal[i].at == at ? p->journal[i].origin : NO_ENTRY;
}

void hl_paths_contradict(struct hl_paths *p, uint32_t origin, uint32_t other_origin)
{
	if (origin == NO_ORIGIN && other_origin == NO_ORIGIN) {
		p->is_wrong = true;
		return;
	}
	if (origin != NO_ORIGIN)
		p->flags[origin] |= FLAG_CUT;
	if (other_origin != NO_ORIGIN)
		p->flags[other_origin] |= FLAG_CUT;
	p->is_again = true;
}

/* The path over the weak edge @origin ends as the path of a function may. */
void hl_paths_prove(struct hl_paths *p, uint32_t origin)
{
	if (origin != NO_ORIGIN)
		p->flags[origin] |= FLAG_PROVEN;
}

void hl_paths_spoil(struct hl_paths *p, uint32_t origin)
{
	if (origin != NO_ORIGIN)
		p->flags[origin] |= FLAG_UNCLEAN;
}

void hl_paths_roll_back(struct hl_paths *p, uint16_t mark)
{
	while (p->n_journal > 0) {
		const struct hl_paths_entry *e = &p->journal[--p->n_journal];
		uint32_t i;

		p->marks[e->at] = e->length && mark != HL_MARK_UNSEEN ? mark : e->before;
		for (i = 1; i < e->length && mark == HL_MARK_UNSEEN; i++)
			if (p->marks[e->at + i] == HL_MARK_INSIDE)
				p->marks[e->at + i] = HL_MARK_UNSEEN;
	}
}

void hl_paths_refuse(struct hl_paths *p, const struct hl_stretch *stretch)
{
	p->stretches[stretch - p->stretches].is_foreign = true;
}

uint32_t hl_paths_next_called(struct hl_paths *p)
{
	return p->n_queue > 0 ? p->queue[--p->n_queue] : UINT32_MAX;
}

uint32_t hl_paths_next_pointed(struct hl_paths *p)
{
	return p->n_pointed > 0 ? p->pointed[--p->n_pointed] : UINT32_MAX;
}

void hl_paths_begin(struct hl_paths *p, uint32_t position, enum hl_certainty certainty)
{
	p->flags[position] |= certainty == HL_FIRST ? FLAG_FIRST : FLAG_NAMED;
}

void hl_paths_restart(struct hl_paths *p)
{
	uint32_t i;

	memset(p->marks, 0, p->size * sizeof(*p->marks));
	for (i = 0; i < p->size; i++)
		p->flags[i] &= (uint16_t)~FLAG_QUEUED;
	p->n_queue = p->n_pointed = p->n_journal = 0;
	p->is_restless = false;
}

bool hl_paths_is_doubtful(const struct hl_paths *p, uint32_t position)
{
	return !hl_paths_is_beginning(p, position);
}

uint32_t hl_paths_linear_end(struct hl_paths *p, uint32_t position)
{
	const struct hl_stretch *s = hl_paths_stretch(p, position);
	uint32_t at = position, end = s->at + s->size;
	struct hl_flow flow;

	do {
		hl_paths_decode(p, s, at, &flow);
		at += flow.length ? flow.length : 1;
		/* Behind a call that does not return is filling, and then another function. */
		if (flow.next == HL_NEXT_CALL && hl_code_filling(p->code, at, end) > at)
			break;
	} while (flow.length && at < end && p->budget > 0 && p->marks[at] == HL_MARK_UNSEEN &&
		 (flow.next == HL_NEXT_STRAIGHT || flow.next == HL_NEXT_BRANCH || flow.next == HL_NEXT_CALL ||
		  flow.next == HL_NEXT_SYSCALL));
	return at < end ? at : end;
}
