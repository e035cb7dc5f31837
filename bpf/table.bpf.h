/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_TABLE_H
#define HL_BPF_TABLE_H

/*
 * From a frame to its unwind rule: the page of the file offset, then a binary search among the page's rows.
 * All indexes are masked, so that a damaged table gives a wrong rule, never a bad access.
 */

#include "mapping.bpf.h"

#define PAGE_ROWS_LOG2 HL_UNWIND_PAGE_SHIFT /* a page has at most as many rows as bytes */

/* The last of the @n rows from word @first that stands at or before @offset in its page. */
__noinline __u32 find_row(__u32 first, __u32 n, __u32 offset)
{
	__u32 slab = first / HL_SLAB_WORDS, zero = 0, base = first, i;
	__u32 key = offset << HL_UNWIND_RULE_BITS | HL_UNWIND_RULE_MASK;
	void *map = bpf_map_lookup_elem(&slabs, &slab);
	__u32 *words = map ? bpf_map_lookup_elem(map, &zero) : NULL;

	if (!words)
		return 0;
	for (i = 0; i <= PAGE_ROWS_LOG2; i++) {
		__u32 half = n / 2;
		__u64 below;

		if (n <= 1)
			break;
		/* 1 if the key is smaller than the row. No branch: it would be mispredicted half of the time. */
		below = ((__u64)key - words[(base + half) & (HL_SLAB_WORDS - 1)]) >> 63;
		base += half & (__u32)(below - 1);
		n -= half;
	}
	return words[base & (HL_SLAB_WORDS - 1)];
}

/*
 * Puts the rule for @frame, which lies in scratch.found, into scratch.rule. False: no table covers it, or
 * the table knows no rule there.
 */
__noinline int find_rule(struct scratch *s, __u64 frame)
{
	__u64 offset = frame & HL_FRAME_OFFSET, pair, page;
	const struct hl_unwind_rule *rule;
	__u32 id;

	if (!s)
		return 0;
	page = (offset >> HL_UNWIND_PAGE_SHIFT) - s->found.head.first_page;
	if (page >= s->found.head.n_pages)
		return 0;
	pair = read_pair(s->found.table + (__u32)(sizeof(struct hl_table_head) / 4 + 2 * page));
	if (!(pair >> 32))
		return 0;
	id = find_row((__u32)pair, pair >> 32, offset & ((1 << HL_UNWIND_PAGE_SHIFT) - 1)) &
	     HL_UNWIND_RULE_MASK;
	rule = bpf_map_lookup_elem(&rules, &id);
	if (!rule || rule->cfa_kind == HL_CFA_NONE)
		return 0;
	s->rule = *rule;
	return 1;
}

#endif
