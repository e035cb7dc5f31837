// SPDX-License-Identifier: BSD-2-Clause
#include "capture/extents.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int hl_extents_init(struct hl_extents *extents, uint32_t first, uint32_t end)
{
	*extents = (struct hl_extents){ 0 };
	if (hl_grow(&extents->free, &extents->cap, 2, sizeof(*extents->free), SIZE_MAX))
		return -ENOMEM;
	extents->free[0] = (struct hl_extent){ first, end - first };
	extents->n = end > first;
	extents->free_total = end - first;
	return 0;
}

void hl_extents_done(struct hl_extents *extents)
{
	free(extents->free);
	*extents = (struct hl_extents){ 0 };
}

/* Where @len numbers lie in the free part @at, if they fit. */
static bool fits(const struct hl_extent *at, uint32_t len, uint32_t boundary, uint32_t *ret_start)
{
	uint64_t start = ((uint64_t)at->start + 1) & ~UINT64_C(1), end = (uint64_t)at->start + at->len;

	if (boundary && start / boundary != (start + len - 1) / boundary)
		start = (start / boundary + 1) * boundary;
	if (start + len > end || (boundary && len > boundary))
		return false;
	*ret_start = (uint32_t)start;
	return true;
}

static void remove_free(struct hl_extents *extents, size_t at)
{
	extents->n--;
	memmove(&extents->free[at], &extents->free[at + 1], (extents->n - at) * sizeof(*extents->free));
}

/* The room for it is there: what is taken lies between what is free, so that there is one more at most. */
static void insert_free(struct hl_extents *extents, size_t at, uint32_t start, uint32_t len)
{
	memmove(&extents->free[at + 1], &extents->free[at], (extents->n - at) * sizeof(*extents->free));
	extents->free[at] = (struct hl_extent){ start, len };
	extents->n++;
}

int hl_extents_take(struct hl_extents *extents, uint32_t len, uint32_t boundary, uint32_t *ret_start)
{
	uint32_t start, behind;
	struct hl_extent *at;
	size_t i;

	if (hl_grow(&extents->free, &extents->cap, extents->n_taken + 3, sizeof(*extents->free), SIZE_MAX))
		return -ENOMEM;
	for (i = 0; i < extents->n; i++)
		if (fits(&extents->free[i], len, boundary, &start))
			break;
	if (i == extents->n)
		return -ENOSPC;
	at = &extents->free[i];
	behind = at->start + at->len - (start + len);
	at->len = start - at->start;
	if (behind)
		insert_free(extents, i + 1, start + len, behind);
	if (!extents->free[i].len)
		remove_free(extents, i);
	extents->n_taken++;
	extents->free_total -= len;
	*ret_start = start;
	return 0;
}

void hl_extents_give(struct hl_extents *extents, uint32_t start, uint32_t len)
{
	size_t low = 0, high = extents->n;
	struct hl_extent *before, *next;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (extents->free[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	extents->n_taken--;
	extents->free_total += len;
	before = low > 0 ? &extents->free[low - 1] : NULL;
	next = low < extents->n ? &extents->free[low] : NULL;
	if (before && before->start + before->len == start) {
		before->len += len;
		if (next && before->start + before->len == next->start) {
			before->len += next->len;
			remove_free(extents, low);
		}
	} else if (next && start + len == next->start) {
		next->start = start;
		next->len += len;
	} else {
		insert_free(extents, low, start, len);
	}
}
