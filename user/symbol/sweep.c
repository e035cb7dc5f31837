// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

/*
 * From symbols, one an address, that may overlap, to ranges that do not.
 *
 * Symbols are taken by address. Those that have begun and not ended lie on a stack; the code up to the next
 * boundary belongs to the top one, which began last. So a function inside another cuts it in two, and the
 * outer one goes on behind it. A symbol without a size ends at the next symbol, at the end of its FDE or of
 * its section, and does not cut a function that has a size.
 */

struct open_symbol {
	const struct hl_cand *cand;
	uint64_t end;
};

struct sweep {
	struct hl_builder *b;
	struct open_symbol *stack;
	size_t depth, cap;
	uint64_t at; /* everything below is done */
};

/* The code from where the sweep stands to @end is the top symbol's. */
static int emit(struct sweep *w, uint64_t end)
{
	const struct open_symbol *top = &w->stack[w->depth - 1];
	struct hl_draft *out = &w->b->draft;
	uint32_t name = top->cand->name;
	int r;

	if (end <= w->at)
		return 0;
	if (w->at != top->cand->address || end != top->end) {
		r = hl_grow(&out->pieces, &out->cap_pieces, out->n_pieces + 1, sizeof(*out->pieces),
			    (size_t)2 * HL_SYMBOLS_MAX);
		if (r < 0)
			return r;
		out->pieces[out->n_pieces] =
			(struct hl_piece){ top->cand->address, (uint32_t)(top->end - top->cand->address),
					   name };
		name = HL_NAME(HL_NAME_PIECE, out->n_pieces++);
	}
	r = hl_grow(&out->ranges, &out->cap_ranges, out->n_ranges + 1, sizeof(*out->ranges),
		    (size_t)2 * HL_SYMBOLS_MAX);
	if (r < 0)
		return r;
	out->ranges[out->n_ranges++] = (struct hl_range){ w->at, (uint32_t)(end - w->at), name };
	w->at = end;
	return 0;
}

/* Ends all symbols that end at or before @address. */
static int close_until(struct sweep *w, uint64_t address)
{
	int r = 0;

	while (r == 0 && w->depth && w->stack[w->depth - 1].end <= address) {
		r = emit(w, w->stack[w->depth - 1].end);
		w->depth--;
	}
	return r;
}

static uint64_t end_of(const struct hl_builder *b, size_t i)
{
	const struct hl_cand *cand = &b->cands[i];
	const struct hl_area *area;
	uint64_t end, start, fde_end;

	if (cand->size)
		return cand->address + cand->size;
	if (cand->exact)
		return cand->address + 1;
	area = hl_area_find(b->areas, b->n_areas, cand->address);
	end = area ? area->end : cand->address + 1;
	if (i + 1 < b->n && b->cands[i + 1].address < end)
		end = b->cands[i + 1].address;
	if (hl_draft_find_fde(&b->draft, cand->address, &start, &fde_end) && fde_end < end)
		end = fde_end;
	return end - cand->address > UINT32_MAX ? cand->address + UINT32_MAX : end;
}

static int open_symbol(struct sweep *w, size_t i)
{
	const struct hl_cand *cand = &w->b->cands[i];
	int r = close_until(w, cand->address);

	if (r < 0 || (w->depth && cand->size == 0))
		return r;
	if (w->depth) {
		r = emit(w, cand->address);
		if (r < 0)
			return r;
	}
	r = hl_grow(&w->stack, &w->cap, w->depth + 1, sizeof(*w->stack), HL_SYMBOLS_MAX);
	if (r < 0)
		return r;
	w->stack[w->depth++] = (struct open_symbol){ cand, end_of(w->b, i) };
	w->at = cand->address;
	return 0;
}

int hl_builder_sweep(struct hl_builder *b)
{
	struct sweep w = { .b = b };
	size_t i;
	int r = 0;

	for (i = 0; i < b->n && r == 0; i++)
		r = open_symbol(&w, i);
	if (r == 0)
		r = close_until(&w, UINT64_MAX);
	free(w.stack);
	return r;
}
