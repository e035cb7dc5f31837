// SPDX-License-Identifier: BSD-2-Clause
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "profile/strings.h"

/*
 * While stacks are added, nodes stand in the order in which they were first seen, a parent always before its
 * children, and are found by (parent, frame). hl_profile_finish() makes the result independent of that order:
 * it sorts the frames once, hangs the nodes under their parents in the order of their frames, and walks the
 * tree. Nothing here recurses: a stack may be as deep as memory allows.
 */

enum { MAX_ITEMS = 1 << 30 };

struct kept_frame {
	struct hl_frame frame;
	struct hl_id id;
};

struct hl_profile {
	struct hl_strings strings;
	struct kept_frame *frames;
	size_t n_frames, cap_frames;
	struct hl_index frame_index;

	struct hl_node *nodes;
	size_t n_nodes, cap_nodes;
	struct hl_index node_index;

	struct hl_id *node_ids; /* once finished */
	struct hl_profile_meta meta;
};

HL_DEFINE_CLEANUP(struct hl_profile, hl_profile_free)

struct hl_profile *hl_profile_new(void)
{
	static const struct hl_frame all = { .kind = HL_FRAME_ROOT, .name = "all", .name_len = 3 };
	_cleanup_(hl_profile_freep) struct hl_profile *profile = calloc(1, sizeof(*profile));
	uint32_t frame;

	if (!profile || hl_profile_frame(profile, &all, &frame) ||
	    hl_grow(&profile->nodes, &profile->cap_nodes, 1, sizeof(*profile->nodes), MAX_ITEMS))
		return NULL;
	profile->nodes[profile->n_nodes++] = (struct hl_node){ .frame = frame };
	return TAKE_PTR(profile);
}

void hl_profile_free(struct hl_profile *profile)
{
	if (!profile)
		return;
	hl_strings_done(&profile->strings);
	hl_index_done(&profile->frame_index);
	hl_index_done(&profile->node_index);
	free(profile->frames);
	free(profile->nodes);
	free(profile->node_ids);
	free(profile);
}

/* ---- frames --------------------------------------------------------------------------------------------- */

/* Functions inlined into each other may start at one address: those are told apart by name. */
static bool named_by_name(const struct hl_frame *frame)
{
	return frame->address == 0 || (frame->binary.lo | frame->binary.hi) == 0 ||
	       frame->kind == HL_FRAME_INLINED;
}

static struct hl_id frame_id(const struct hl_frame *frame)
{
	struct {
		uint32_t kind, named;
		struct hl_id binary;
		uint64_t address;
		struct hl_id name;
	} record = { .kind = frame->kind, .binary = frame->binary, .address = frame->address };

	if (named_by_name(frame)) {
		record.named = 1;
		record.name = hl_id_of(frame->name, frame->name_len);
	}
	return hl_id_of(&record, sizeof(record));
}

struct wanted_frame {
	const struct kept_frame *frames;
	struct hl_id id;
};

static int is_wanted_frame(const void *ctx, uint32_t position)
{
	const struct wanted_frame *w = ctx;

	return hl_id_equal(w->frames[position].id, w->id);
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* An order over what is shown of two frames with one identity. */
static int compare_shown(const struct hl_frame *a, const struct hl_frame *b)
{
	int order = compare_bytes(a->name, a->name_len, b->name, b->name_len);

	if (!order)
		order = compare_bytes(a->module, a->module_len, b->module, b->module_len);
	if (!order)
		order = compare_u64(a->offset, b->offset);
	if (!order)
		order = compare_u64(a->insn_class, b->insn_class);
	return order ? order : compare_u64(a->kernel, b->kernel);
}

/* Fills *@ret with @frame, its strings kept by the profile. */
static int keep_frame(struct hl_profile *profile, const struct hl_frame *frame, struct hl_frame *ret)
{
	struct hl_frame kept = *frame;

	kept.name = hl_strings_keep(&profile->strings, frame->name, frame->name_len);
	kept.module = hl_strings_keep(&profile->strings, frame->module, frame->module_len);
	if (!kept.name || !kept.module)
		return -ENOMEM;
	*ret = kept;
	return 0;
}

int hl_profile_frame(struct hl_profile *profile, const struct hl_frame *frame, uint32_t *ret)
{
	struct hl_frame given = *frame;
	struct wanted_frame wanted = { profile->frames, { 0, 0 } };
	struct kept_frame *kept;
	uint32_t position;
	int err;

	if (given.name_len == 0)
		given.name = "";
	if (given.module_len == 0)
		given.module = "";
	wanted.id = frame_id(&given);
	position = hl_index_find(&profile->frame_index, wanted.id.lo, is_wanted_frame, &wanted);
	if (position != HL_INDEX_NONE) {
		/* One file under two paths, one address with two texts: the least is shown, whichever came first. */
		kept = &profile->frames[position];
		err = compare_shown(&given, &kept->frame) < 0 ? keep_frame(profile, &given, &kept->frame) : 0;
		if (err)
			return err;
		*ret = position;
		return 0;
	}
	err = hl_grow(&profile->frames, &profile->cap_frames, profile->n_frames + 1, sizeof(*profile->frames),
		      MAX_ITEMS);
	if (err)
		return err;
	kept = &profile->frames[profile->n_frames];
	kept->id = wanted.id;
	err = keep_frame(profile, &given, &kept->frame);
	if (!err)
		err = hl_index_add(&profile->frame_index, wanted.id.lo, (uint32_t)profile->n_frames);
	if (err)
		return err;
	*ret = (uint32_t)profile->n_frames++;
	return 0;
}

/* ---- stacks --------------------------------------------------------------------------------------------- */

struct wanted_node {
	const struct hl_node *nodes;
	uint32_t parent, frame;
};

static int is_wanted_node(const void *ctx, uint32_t position)
{
	const struct wanted_node *w = ctx;

	return w->nodes[position].parent == w->parent && w->nodes[position].frame == w->frame;
}

/* The child of @parent for @frame, made if need be. */
static int step(struct hl_profile *profile, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct wanted_node wanted = { profile->nodes, parent, frame };
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t hash = hl_hash(&key, sizeof(key), 0);
	uint32_t position = hl_index_find(&profile->node_index, hash, is_wanted_node, &wanted);
	int err;

	if (position != HL_INDEX_NONE) {
		*ret = position;
		return 0;
	}
	err = hl_grow(&profile->nodes, &profile->cap_nodes, profile->n_nodes + 1, sizeof(*profile->nodes),
		      MAX_ITEMS);
	if (!err)
		err = hl_index_add(&profile->node_index, hash, (uint32_t)profile->n_nodes);
	if (err)
		return err;
	profile->nodes[profile->n_nodes] = (struct hl_node){ .frame = frame, .parent = parent };
	*ret = (uint32_t)profile->n_nodes++;
	return 0;
}

int hl_profile_add(struct hl_profile *profile, const uint32_t *frames, size_t n, uint64_t count,
		   uint64_t weight)
{
	uint32_t node = 0;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		err = step(profile, node, frames[i], &node);
		if (err)
			return err; /* the nodes made so far stay without samples: hl_profile_finish drops them */
	}
	profile->nodes[node].self += count;
	profile->nodes[node].self_weight += weight;
	return 0;
}

/* ---- finish --------------------------------------------------------------------------------------------- */

/* Functions before instructions; those by name, these by address; then whatever else tells them apart. */
static int compare_siblings(const void *a, const void *b, void *ctx)
{
	const struct kept_frame *frames = ctx;
	const struct kept_frame *x = &frames[*(const uint32_t *)a], *y = &frames[*(const uint32_t *)b];
	const struct hl_frame *f = &x->frame, *g = &y->frame;
	int order = (f->kind == HL_FRAME_INSN) - (g->kind == HL_FRAME_INSN);

	if (!order && f->kind != HL_FRAME_INSN && f->name != g->name)
		order = compare_bytes(f->name, f->name_len, g->name, g->name_len);
	if (!order)
		order = compare_u64(f->address, g->address);
	if (!order)
		order = compare_u64(x->id.hi, y->id.hi);
	return order ? order : compare_u64(x->id.lo, y->id.lo);
}

/* Sums totals from the leaves up: a child stands after its parent. */
static void sum_totals(struct hl_profile *profile)
{
	struct hl_node *nodes = profile->nodes;
	size_t i;

	for (i = 0; i < profile->n_nodes; i++) {
		nodes[i].total = nodes[i].self;
		nodes[i].total_weight = nodes[i].self_weight;
	}
	for (i = profile->n_nodes; i-- > 1;) {
		nodes[nodes[i].parent].total += nodes[i].total;
		nodes[nodes[i].parent].total_weight += nodes[i].total_weight;
	}
}

static bool has_samples(const struct hl_node *node)
{
	return node->total || node->total_weight;
}

/* Renumbers the frames in the order of siblings and drops those that no sample uses. */
static int sort_frames(struct hl_profile *profile)
{
	_cleanup_free_ uint32_t *order = malloc(profile->n_frames * sizeof(*order));
	_cleanup_free_ uint32_t *number = calloc(profile->n_frames, sizeof(*number));
	_cleanup_free_ struct kept_frame *sorted = NULL;
	size_t i, n = 0;

	if (!order || !number)
		return -ENOMEM;
	for (i = 0; i < profile->n_nodes; i++) {
		uint32_t frame = profile->nodes[i].frame;

		if (!number[frame] && (i == 0 || has_samples(&profile->nodes[i]))) {
			number[frame] = 1;
			order[n++] = frame;
		}
	}
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	qsort_r(order, n, sizeof(*order), compare_siblings, profile->frames);
	for (i = 0; i < n; i++) {
		sorted[i] = profile->frames[order[i]];
		number[order[i]] = (uint32_t)i;
	}
	for (i = 0; i < profile->n_nodes; i++)
		profile->nodes[i].frame = number[profile->nodes[i].frame];
	free(profile->frames);
	profile->frames = TAKE_PTR(sorted);
	profile->n_frames = profile->cap_frames = n;
	return 0;
}

/* Children of each node as a list, in the order of their frames; 0 ends it, since no list holds the root. */
struct links {
	uint32_t first, next;
};

static int link_children(const struct hl_profile *profile, struct links *links)
{
	_cleanup_free_ uint32_t *bucket = calloc(profile->n_frames, sizeof(*bucket));
	_cleanup_free_ uint32_t *chain = calloc(profile->n_nodes, sizeof(*chain));
	const struct hl_node *nodes = profile->nodes;
	uint32_t i;
	size_t f;

	if (!bucket || !chain)
		return -ENOMEM;
	for (i = 1; i < profile->n_nodes; i++) {
		if (!has_samples(&nodes[i]))
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

/* Copies the linked nodes into @ret in preorder; returns how many. */
static uint32_t walk(const struct hl_node *nodes, const struct links *links, struct hl_node *ret)
{
	uint32_t at = 0, parent = 0, n = 0; /* parent: where @at's parent stands in @ret */

	for (;;) {
		ret[n] = nodes[at];
		ret[n].parent = parent;
		ret[n].depth = n ? ret[parent].depth + 1 : 0;
		if (links[at].first) {
			parent = n++;
			at = links[at].first;
			continue;
		}
		ret[n].end = n + 1;
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

static void name_nodes(struct hl_profile *profile)
{
	size_t i;

	profile->node_ids[0] = (struct hl_id){ 0, 0 };
	for (i = 1; i < profile->n_nodes; i++) {
		const struct hl_node *node = &profile->nodes[i];
		struct hl_id record[2] = { profile->node_ids[node->parent], profile->frames[node->frame].id };

		profile->node_ids[i] = hl_id_of(record, sizeof(record));
	}
}

int hl_profile_finish(struct hl_profile *profile)
{
	_cleanup_free_ struct links *links = calloc(profile->n_nodes, sizeof(*links));
	_cleanup_free_ struct hl_node *nodes = malloc(profile->n_nodes * sizeof(*nodes));
	_cleanup_free_ struct hl_id *ids = malloc(profile->n_nodes * sizeof(*ids));
	int err;

	if (!links || !nodes || !ids)
		return -ENOMEM;
	sum_totals(profile);
	err = sort_frames(profile);
	if (!err)
		err = link_children(profile, links);
	if (err)
		return err;
	profile->n_nodes = profile->cap_nodes = walk(profile->nodes, links, nodes);
	free(profile->nodes);
	profile->nodes = TAKE_PTR(nodes);
	profile->node_ids = TAKE_PTR(ids);
	name_nodes(profile);
	hl_index_done(&profile->frame_index);
	hl_index_done(&profile->node_index);
	hl_strings_seal(&profile->strings);
	return 0;
}

/* ---- what is there -------------------------------------------------------------------------------------- */

const struct hl_node *hl_profile_nodes(const struct hl_profile *profile, uint32_t *ret_n)
{
	*ret_n = (uint32_t)profile->n_nodes;
	return profile->nodes;
}

const struct hl_frame *hl_profile_get_frame(const struct hl_profile *profile, uint32_t index)
{
	return &profile->frames[index].frame;
}

uint32_t hl_profile_n_frames(const struct hl_profile *profile)
{
	return (uint32_t)profile->n_frames;
}

struct hl_id hl_profile_frame_id(const struct hl_profile *profile, uint32_t index)
{
	return profile->frames[index].id;
}

struct hl_id hl_profile_node_id(const struct hl_profile *profile, uint32_t node)
{
	return profile->node_ids[node];
}

void hl_profile_set_meta(struct hl_profile *profile, const struct hl_profile_meta *meta)
{
	profile->meta = *meta;
}

const struct hl_profile_meta *hl_profile_meta(const struct hl_profile *profile)
{
	return &profile->meta;
}
