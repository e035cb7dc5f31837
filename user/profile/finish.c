// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "profile/tree.h"

/*
 * While stacks are added, nodes stand in the order in which they were first seen, a parent always before its
 * children. Finishing makes the result independent of that order: it sorts the frames once, hangs the nodes
 * under their parents in the order of their frames, and walks the tree. Nothing here recurses: a stack may be
 * as deep as memory allows.
 */

/* What finishing needs to know of a stack node. */
struct link {
	uint32_t first,
		next; /* child and sibling in the order of frames; 0: none, since no list holds the root */
	bool live;    /* it or a node below it has samples */
};

static void mark_live(const struct hl_profile *profile, struct link *links)
{
	const struct stack_node *nodes = profile->stack_nodes;
	size_t i;

	for (i = profile->n_stack_nodes; i-- > 0;) { /* a child stands after its parent */
		links[i].live |= i == 0 || nodes[i].self || nodes[i].self_weight;
		links[nodes[i].parent].live |= links[i].live;
	}
}

/* A frame with what decides most comparisons. */
struct sort_key {
	uint64_t first; /* of an instruction the address, else the first eight bytes of the name */
	uint32_t frame;
	bool insn;
};

static struct sort_key sort_key(const struct hl_frame *frame, uint32_t index)
{
	struct sort_key key = { .frame = index,
				.insn = frame->kind == HL_FRAME_INSN,
				.first = frame->address };
	size_t i;

	if (!key.insn)
		for (key.first = 0, i = 0; i < 8; i++)
			key.first =
				key.first << 8 | (i < frame->name_len ? (unsigned char)frame->name[i] : 0);
	return key;
}

/* Functions before instructions; those by name, these by address; then whatever else tells them apart. */
static int compare_siblings(const void *a, const void *b, void *ctx)
{
	const struct hl_profile *profile = ctx;
	const struct sort_key *x = a, *y = b;
	const struct hl_frame *f = &profile->frames[x->frame], *g = &profile->frames[y->frame];
	const struct hl_id *f_id = &profile->frame_ids[x->frame], *g_id = &profile->frame_ids[y->frame];
	int order = x->insn - y->insn;

	if (!order)
		order = compare_u64(x->first, y->first);
	if (!order && !x->insn && f->name != g->name)
		order = compare_bytes(f->name, f->name_len, g->name, g->name_len);
	if (!order)
		order = compare_u64(f->address, g->address);
	if (!order)
		order = compare_u64(f_id->hi, g_id->hi);
	return order ? order : compare_u64(f_id->lo, g_id->lo);
}

/* Puts the frames into the order of @keys and renumbers them in the nodes; @number is room for it. */
static int apply_order(struct hl_profile *profile, const struct sort_key *keys, size_t n, uint32_t *number)
{
	_cleanup_free_ struct hl_frame *frames = malloc(n * sizeof(*frames));
	_cleanup_free_ struct hl_id *ids = malloc(n * sizeof(*ids));
	size_t i;

	if (!frames || !ids)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		frames[i] = profile->frames[keys[i].frame];
		ids[i] = profile->frame_ids[keys[i].frame];
		number[keys[i].frame] = (uint32_t)i;
	}
	for (i = 0; i < profile->n_stack_nodes; i++)
		profile->stack_nodes[i].frame = number[profile->stack_nodes[i].frame];
	free(profile->frames);
	free(profile->frame_ids);
	profile->frames = TAKE_PTR(frames);
	profile->frame_ids = TAKE_PTR(ids);
	profile->n_frames = profile->cap_frames = profile->cap_frame_ids = n;
	return 0;
}

/* Renumbers the frames in the order of siblings and drops those that no sample uses. */
static int sort_frames(struct hl_profile *profile, const struct link *links)
{
	_cleanup_free_ struct sort_key *keys = malloc(profile->n_frames * sizeof(*keys));
	_cleanup_free_ uint32_t *number = calloc(profile->n_frames, sizeof(*number));
	size_t i, n = 0;

	if (!keys || !number)
		return -ENOMEM;
	for (i = 0; i < profile->n_stack_nodes; i++) {
		uint32_t frame = profile->stack_nodes[i].frame;

		if (links[i].live && !number[frame]) {
			number[frame] = 1;
			keys[n++] = sort_key(&profile->frames[frame], frame);
		}
	}
	qsort_r(keys, n, sizeof(*keys), compare_siblings, profile);
	return apply_order(profile, keys, n, number);
}

struct wanted_id {
	const struct hl_id *ids;
	struct hl_id id;
};

static int is_same_id(const void *ctx, uint32_t position)
{
	const struct wanted_id *w = ctx;

	return hl_id_equal(w->ids[position], w->id);
}

/* Of several names of one function, the first in the order of frames keeps its id; the others get their own. */
static int part_ids(struct hl_profile *profile)
{
	struct hl_index index = { 0 };
	struct wanted_id wanted = { .ids = profile->frame_ids };
	int err = 0;

	for (uint32_t i = 0; i < profile->n_frames && !err; i++) {
		const struct hl_frame *frame = &profile->frames[i];

		wanted.id = profile->frame_ids[i];
		if (hl_index_find(&index, wanted.id.lo, is_same_id, &wanted) == HL_INDEX_NONE) {
			err = hl_index_add(&index, wanted.id.lo, i);
		} else {
			struct hl_id record[2] = { wanted.id, hl_id_of(frame->name, frame->name_len) };

			profile->frame_ids[i] = hl_id_of(record, sizeof(record));
		}
	}
	hl_index_done(&index);
	return err;
}

static int link_children(const struct hl_profile *profile, struct link *links)
{
	_cleanup_free_ uint32_t *bucket = calloc(profile->n_frames, sizeof(*bucket));
	_cleanup_free_ uint32_t *chain = malloc(profile->n_stack_nodes * sizeof(*chain));
	const struct stack_node *nodes = profile->stack_nodes;
	uint32_t i;
	size_t f;

	if (!bucket || !chain)
		return -ENOMEM;
	for (i = 1; i < profile->n_stack_nodes; i++) {
		if (!links[i].live)
			continue;
		chain[i] = bucket[nodes[i].frame];
		bucket[nodes[i].frame] = i;
	}
	for (f = profile->n_frames; f-- > 0;) /* the last frame first, since each child is put in front */
		for (i = bucket[f]; i; i = chain[i]) {
			links[i].next = links[nodes[i].parent].first;
			links[nodes[i].parent].first = i;
		}
	return 0;
}

/* Writes the linked nodes to @ret in preorder, with totals yet to be summed; returns how many. */
static uint32_t walk(const struct stack_node *nodes, const struct link *links, struct hl_node *ret)
{
	uint32_t at = 0, parent = 0, n = 0; /* parent: where @at's parent stands in @ret */

	for (;;) {
		ret[n] = (struct hl_node){ .frame = nodes[at].frame,
					   .parent = parent,
					   .end = n + 1,
					   .depth = n ? ret[parent].depth + 1 : 0,
					   .self = nodes[at].self,
					   .total = nodes[at].self,
					   .self_weight = nodes[at].self_weight,
					   .total_weight = nodes[at].self_weight };
		if (links[at].first) {
			parent = n++;
			at = links[at].first;
			continue;
		}
		n++;
		while (at && !links[at].next) {
			at = nodes[at].parent;
			ret[parent].end = n;
			parent = ret[parent].parent;
		}
		if (!at)
			return n;
		at = links[at].next;
	}
}

static void sum_totals(struct hl_node *nodes, uint32_t n)
{
	for (uint32_t i = n; i-- > 1;) {
		nodes[nodes[i].parent].total += nodes[i].total;
		nodes[nodes[i].parent].total_weight += nodes[i].total_weight;
	}
}

int hl_profile_finish(struct hl_profile *profile)
{
	size_t n = profile->n_stack_nodes;
	_cleanup_free_ struct link *links = calloc(n, sizeof(*links));
	_cleanup_free_ struct hl_node *nodes = malloc(n * sizeof(*nodes));
	int err;

	if (profile->nodes)
		return 0; /* finished before */
	if (!links || !nodes)
		return -ENOMEM;
	mark_live(profile, links);
	err = sort_frames(profile, links);
	if (!err)
		err = part_ids(profile);
	if (!err)
		err = link_children(profile, links);
	if (err)
		return err;
	profile->n_nodes = walk(profile->stack_nodes, links, nodes);
	profile->nodes = TAKE_PTR(nodes);
	sum_totals(profile->nodes, profile->n_nodes);
	free(profile->stack_nodes);
	profile->stack_nodes = NULL;
	profile->n_stack_nodes = profile->cap_stack_nodes = 0;
	hl_index_done(&profile->frame_index);
	hl_index_done(&profile->node_index);
	hl_strings_seal(&profile->strings);
	return 0;
}
