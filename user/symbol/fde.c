// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "elf/cfi.h"
#include "symbol/symbol.h"

/* The bounds of functions, from the FDEs of .eh_frame, which nearly all code has, stripped or not. */

HL_DEFINE_CLEANUP(struct hl_cfi, hl_cfi_free)

enum { MAX_FDES = 4 << 20 };

struct bounds {
	uint64_t start; /* first: hl_radix_sort() goes by it */
	uint64_t end;
};

/* Reads the FDEs of code, each cut at the end of its area. */
static int read_bounds(struct hl_builder *b, struct hl_cfi *cfi, struct bounds **ret, size_t *ret_n)
{
	_cleanup_free_ struct bounds *bounds = NULL;
	const struct hl_area *area;
	struct hl_cfi_fde fde;
	size_t n = 0, cap = 0;
	int r;

	while ((r = hl_cfi_next(cfi, &fde)) > 0) {
		area = hl_area_find(b->areas, b->n_areas, fde.start);
		if (!area)
			continue;
		if (fde.start - b->areas[0].start > UINT32_MAX) {
			b->draft.refused |= HL_SYMBOLS_REFUSED_FAR;
			continue;
		}
		r = hl_grow(&bounds, &cap, n + 1, sizeof(*bounds), MAX_FDES);
		if (r < 0)
			break;
		if (fde.size > area->end - fde.start)
			fde.size = area->end - fde.start;
		if (fde.size > UINT32_MAX)
			fde.size = UINT32_MAX;
		bounds[n++] = (struct bounds){ fde.start, fde.start + fde.size };
	}
	if (r == -ENOMEM)
		return r;
	*ret = TAKE_PTR(bounds);
	*ret_n = n;
	return 0;
}

int hl_builder_read_fdes(struct hl_builder *b)
{
	_cleanup_(hl_cfi_freep) struct hl_cfi *cfi = NULL;
	_cleanup_free_ struct bounds *bounds = NULL;
	struct hl_draft *s = &b->draft;
	size_t n = 0, i;
	int r;

	if (b->n_areas == 0)
		return 0;
	r = hl_cfi_load(b->elf, HL_CFI_EH_FRAME, &cfi, NULL);
	if (r == 0)
		r = read_bounds(b, cfi, &bounds, &n);
	if (r == 0 && n)
		r = hl_radix_sort(bounds, n, sizeof(*bounds));
	if (r < 0 || n == 0)
		return r == -ENOMEM ? r : 0;
	s->fdes = malloc(n * sizeof(*s->fdes));
	if (!s->fdes)
		return -ENOMEM;
	s->fde_base = b->areas[0].start;
	for (i = 0; i < n; i++) {
		if (i + 1 < n && bounds[i + 1].start < bounds[i].end)
			bounds[i].end = bounds[i + 1].start;
		/* Of several that start at one place the last stays. */
		if (bounds[i].start < bounds[i].end)
			s->fdes[s->n_fdes++] = (struct hl_fde){ (uint32_t)(bounds[i].start - s->fde_base),
								(uint32_t)(bounds[i].end - bounds[i].start) };
	}
	return 0;
}

bool hl_draft_find_fde(const struct hl_draft *s, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t low = 0, high = s->n_fdes, mid;
	uint64_t at = address - s->fde_base;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->fdes[mid].start <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || address < s->fde_base || at - s->fdes[low - 1].start >= s->fdes[low - 1].size)
		return false;
	*ret_start = s->fde_base + s->fdes[low - 1].start;
	*ret_end = *ret_start + s->fdes[low - 1].size;
	return true;
}
