// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf.h"
#include "symbol/symbol.h"

/*
 * Functions of code for which there are neither names nor FDEs, as there are none in a stripped program with musl's
 * library. They join the FDEs: all that is known of both is where they begin and end.
 */

enum { WORTH = 16, MAX_UNCOVERED = 2 << 20 };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes of one area of which nothing is known. *@range and *@fde are the first ones that may lie in it. */
static uint64_t count_in_area(const struct hl_draft *s, const struct hl_area *area, size_t *range,
			      size_t *fde)
{
	uint64_t at = area->start, uncovered = 0, next;

	while (at < area->end) {
		const struct hl_range *r;
		uint64_t fde_start;

		while (*range < s->n_ranges && s->ranges[*range].start + s->ranges[*range].size <= at)
			++*range;
		while (*fde < s->n_fdes && s->fde_base + s->fdes[*fde].start + s->fdes[*fde].size <= at)
			++*fde;
		r = *range < s->n_ranges ? &s->ranges[*range] : NULL;
		fde_start = *fde < s->n_fdes ? s->fde_base + s->fdes[*fde].start : UINT64_MAX;
		if (r && r->start <= at) {
			at = r->start + r->size;
		} else if (fde_start <= at) {
			at = fde_start + s->fdes[*fde].size;
		} else {
			next = least(least(r ? r->start : UINT64_MAX, fde_start), area->end);
			uncovered += next - at;
			at = next;
		}
	}
	return uncovered;
}

static bool is_worth_it(const struct hl_builder *b)
{
	uint64_t total = 0, uncovered = 0;
	size_t range = 0, fde = 0;

	for (size_t i = 0; i < b->n_areas; i++) {
		total += b->areas[i].end - b->areas[i].start;
		uncovered += count_in_area(&b->draft, &b->areas[i], &range, &fde);
	}
	return uncovered && uncovered >= total / WORTH && uncovered <= MAX_UNCOVERED;
}

/* Appends @fde, of which none begins later; it ends the one before it. */
static void append(struct hl_fde *all, size_t *n, struct hl_fde fde)
{
	struct hl_fde *last = *n ? &all[*n - 1] : NULL;

	if (last && last->size > fde.start - last->start)
		last->size = fde.start - last->start;
	if (last && last->size == 0)
		--*n;
	all[(*n)++] = fde;
}

/* Both are in order, and so is what comes of them. */
static int merge(struct hl_draft *s, uint64_t base, const struct hl_elf_span *spans, size_t n)
{
	struct hl_fde *all = malloc((s->n_fdes + n) * sizeof(*all));
	size_t i = 0, k = 0, m = 0;

	if (!all)
		return -ENOMEM;
	while (k < n && spans[k].start < base)
		k++;
	while (i < s->n_fdes || k < n) {
		uint64_t at = k < n ? spans[k].start - base : UINT64_MAX;

		if (i < s->n_fdes && s->fdes[i].start <= at)
			append(all, &m, s->fdes[i++]);
		else if (at <= UINT32_MAX && spans[k].size && spans[k].size <= UINT32_MAX)
			append(all, &m, (struct hl_fde){ (uint32_t)at, (uint32_t)spans[k++].size });
		else
			k++;
	}
	free(s->fdes);
	s->fdes = all;
	s->n_fdes = m;
	s->fde_base = base;
	return 0;
}

int hl_builder_find_more(struct hl_builder *b)
{
	_cleanup_free_ struct hl_elf_span *spans = NULL;
	size_t n = 0;
	int r;

	if (!b->find || b->n_areas == 0 || !is_worth_it(b))
		return 0;
	r = b->find(b->elf, &spans, &n);
	/* What cannot be read has none. */
	if (r < 0 || n == 0)
		return r == -ENOMEM ? r : 0;
	return merge(&b->draft, b->areas[0].start, spans, n);
}

void hl_draft_drop_named_fdes(struct hl_draft *s)
{
	size_t i, k = 0, kept = 0;

	for (i = 0; i < s->n_fdes; i++) {
		uint64_t at = s->fde_base + s->fdes[i].start, end = at + s->fdes[i].size;

		while (k < s->n_ranges && s->ranges[k].start + s->ranges[k].size <= at)
			k++;
		/* Named ranges one behind the other may cover it together; the next FDE begins behind it. */
		while (k < s->n_ranges && s->ranges[k].start <= at && at < end) {
			at = s->ranges[k].start + s->ranges[k].size;
			if (at < end)
				k++;
		}
		if (at < end)
			s->fdes[kept++] = s->fdes[i];
	}
	s->n_fdes = kept;
}
