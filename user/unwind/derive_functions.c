// SPDX-License-Identifier: BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/code.h"
#include "unwind/derive_internal.h"
#include "unwind/paths_internal.h"
#include "unwind/unwind.h"

/*
 * A function is code of one owner (the function that came there first, when all were followed) up to where another
 * begins, or up to code of another owner: what is jumped to from elsewhere is a function of its own. What nothing led
 * to may be a part of a function, such as the cases of a switch, and then more of the function follows; but where
 * there is filling up to an aligned place, another function may begin that was not found.
 */

enum { MAX_FUNCTIONS = 1 << 20 };

struct gathering {
	const struct hl_paths *p;
	const struct hl_stretch *s;
	struct hl_elf_span *functions;
	size_t n, cap;
	/* The open function: end of its last code so far, its owner, and one that was taken for another. */
	uint32_t start, end, owner, other;
	bool is_open, is_given_up;
};

static int end_function(struct gathering *g)
{
	int r;

	if (!g->is_open)
		return 0;
	g->is_open = false;
	if (hl_code_filling(g->p->code, g->start, g->end) == g->end)
		return 0;
	r = hl_grow(&g->functions, &g->cap, g->n + 1, sizeof(*g->functions), MAX_FUNCTIONS);
	if (r == 0)
		g->functions[g->n++] =
			(struct hl_elf_span){ g->s->address + (g->start - g->s->at), g->end - g->start };
	return r;
}

/* Where the filling behind the open function ends, if that is an aligned place at most @most; else UINT32_MAX. */
static uint32_t find_aligned(const struct gathering *g, uint32_t most)
{
	uint32_t at = hl_code_filling(g->p->code, g->end, most);

	return at > g->end && (g->s->address + (at - g->s->at)) % FUNCTION_ALIGNMENT == 0 ? at : UINT32_MAX;
}

/* `hlt` and `ud2`, behind which a compiler may go on in the same function. */
static bool is_behind_trap(const struct hl_paths *p, uint32_t at)
{
	return (at >= 1 && p->code[at - 1] == 0xf4) ||
	       (at >= 2 && p->code[at - 2] == 0x0f && p->code[at - 1] == 0x0b);
}

/* Nothing has been pushed there since the call. */
static bool is_entered(const struct hl_paths *p, uint32_t at)
{
	return p->marks[at] >= HL_MARK_FRAMES && memcmp(&p->frames[p->marks[at] - HL_MARK_FRAMES],
							&hl_frame_entry, sizeof(hl_frame_entry)) == 0;
}

/* A function was looked for there for want of anything better, and is none. */
static bool is_nothing(const struct hl_paths *p, uint32_t at)
{
	return p->owners[at] == at && p->marks[at] == HL_MARK_REFUSED && !hl_paths_is_beginning(p, at);
}

/* Whether the instruction at @at, to which something led, is of another function than the open one. */
static bool is_another(struct gathering *g, uint32_t at)
{
	const struct hl_paths *p = g->p;
	uint32_t owner = p->owners[at], aligned;

	if (!g->is_open || hl_paths_is_beginning(p, at))
		return true;
	aligned = g->end < at ? find_aligned(g, at) : UINT32_MAX;
	/* One that jumps to others owns them too. */
	if (owner == g->owner || owner == g->other)
		return aligned < at || (aligned == at && g->owner != g->start && is_entered(p, at));
	if (aligned != UINT32_MAX)
		return true;
	/* Of a function that was given up the rest looks like others; so does code of one to which nothing led. */
	if (!g->is_given_up && !(is_nothing(p, at) || (owner == at && is_behind_trap(p, at))))
		return true;
	g->other = owner;
	return false;
}

static int gather(struct gathering *g)
{
	const struct hl_paths *p = g->p;
	uint32_t limit = g->s->at + g->s->size;
	int r = 0;

	for (uint32_t at = g->s->at; at < limit && r == 0; at++) {
		if (p->marks[at] == HL_MARK_UNSEEN)
			continue;
		if (p->marks[at] != HL_MARK_INSIDE && is_another(g, at)) {
			r = end_function(g);
			if (is_nothing(p, at))
				continue;
			g->start = at;
			g->owner = g->other = p->owners[at];
			g->is_open = true;
			g->is_given_up = p->marks[at] == HL_MARK_REFUSED;
		}
		g->end = at + 1;
	}
	return r == 0 ? end_function(g) : r;
}

int hl_derived_functions(const struct hl_derived *d, struct hl_elf_span **ret, size_t *ret_n)
{
	const struct hl_paths *p = &d->paths;
	struct gathering g = { .p = p };
	int r = 0;

	for (size_t i = 0; i < p->n_stretches && p->marks && r == 0; i++) {
		g.s = &p->stretches[i];
		r = g.s->is_foreign ? 0 : gather(&g);
	}
	if (r < 0) {
		free(g.functions);
		return r;
	}
	*ret = g.functions;
	*ret_n = g.n;
	return 0;
}
