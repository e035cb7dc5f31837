// SPDX-License-Identifier: BSD-2-Clause
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/tree.h"

enum { MAX_ITEMS = 1 << 30 };

const char *const hl_insn_class_names[HL_N_INSN_CLASSES] = { "other",  "load",   "store", "branch",
							     "divide", "vector", "locked" };

HL_DEFINE_CLEANUP(struct hl_profile, hl_profile_free)

bool hl_frame_is_function(const struct hl_frame *frame)
{
	return frame->kind >= HL_FRAME_USER && frame->kind <= HL_FRAME_KERNEL;
}

struct hl_profile *hl_profile_new(void)
{
	static const struct hl_frame all = { .kind = HL_FRAME_ROOT, .name = "all", .name_len = 3 };
	_cleanup_(hl_profile_freep) struct hl_profile *profile = calloc(1, sizeof(*profile));
	uint32_t frame;

	if (!profile || hl_profile_frame(profile, &all, &frame) ||
	    hl_grow(&profile->stack_nodes, &profile->cap_stack_nodes, 1, sizeof(*profile->stack_nodes),
		    MAX_ITEMS))
		return NULL;
	profile->stack_nodes[profile->n_stack_nodes++] = (struct stack_node){ .frame = frame };
	return TAKE_PTR(profile);
}

void hl_profile_free(struct hl_profile *profile)
{
	if (!profile)
		return;
	hl_strings_done(&profile->strings);
	hl_index_done(&profile->frame_index);
	hl_index_done(&profile->node_index);
	hl_index_done(&profile->binary_index);
	hl_arena_done(&profile->arena);
	free(profile->binaries);
	free(profile->frames);
	free(profile->frame_ids);
	free(profile->stack_nodes);
	free(profile->nodes);
	free(profile);
}

/* ---- frames -------------------------------------------------------------------------------------------- */

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
	const struct hl_profile *profile;
	const struct hl_frame *frame;
	struct hl_id id;
};

/*
 * A stranger's copy of a file may have the same code and call its functions otherwise: that must not rename
 * them in the file that it was copied from. Such frames stay apart; finishing tells their ids apart too.
 */
static int is_wanted_frame(const void *ctx, uint32_t position)
{
	const struct wanted_frame *w = ctx;
	const struct hl_frame *kept = &w->profile->frames[position];

	return hl_id_equal(w->profile->frame_ids[position], w->id) &&
	       (kept->kind == HL_FRAME_INSN ||
		compare_bytes(kept->name, kept->name_len, w->frame->name, w->frame->name_len) == 0);
}

/* How little the text of an instruction says: it may have been sampled while its bytes could not be read. */
static unsigned int poverty(const struct hl_frame *frame)
{
	static const char bytes[] = ".byte";

	if (frame->kind != HL_FRAME_INSN)
		return 0;
	if (frame->name_len == 0 || frame->name[0] == '(')
		return 2;
	return frame->name_len > strlen(bytes) && memcmp(frame->name, bytes, strlen(bytes)) == 0;
}

/* An order over what is shown of two frames with one identity. */
static int compare_shown(const struct hl_frame *a, const struct hl_frame *b)
{
	int order = compare_u64(poverty(a), poverty(b));

	if (!order)
		order = compare_bytes(a->name, a->name_len, b->name, b->name_len);
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
	kept.file = hl_strings_keep(&profile->strings, frame->file, frame->file_len);
	if (!kept.name || !kept.module || !kept.file)
		return -ENOMEM;
	*ret = kept;
	return 0;
}

static int add_frame(struct hl_profile *profile, const struct hl_frame *frame, struct hl_id id, uint32_t *ret)
{
	size_t n = profile->n_frames;
	int err;

	err = hl_grow(&profile->frames, &profile->cap_frames, n + 1, sizeof(*profile->frames), MAX_ITEMS);
	if (!err)
		err = hl_grow(&profile->frame_ids, &profile->cap_frame_ids, n + 1,
			      sizeof(*profile->frame_ids), MAX_ITEMS);
	if (!err)
		err = keep_frame(profile, frame, &profile->frames[n]);
	if (!err)
		err = hl_index_add(&profile->frame_index, id.lo, (uint32_t)n);
	if (err)
		return err;
	profile->frame_ids[n] = id;
	profile->n_frames++;
	*ret = (uint32_t)n;
	return 0;
}

int hl_profile_frame(struct hl_profile *profile, const struct hl_frame *frame, uint32_t *ret)
{
	struct hl_frame given = *frame;
	struct wanted_frame wanted = { .profile = profile, .frame = &given };
	struct hl_frame *kept;
	uint32_t position;
	int err = 0;

	if (given.name_len == 0)
		given.name = "";
	if (given.module_len == 0)
		given.module = "";
	if (given.file_len == 0)
		given.file = "";
	wanted.id = frame_id(&given);
	position = hl_index_find(&profile->frame_index, wanted.id.lo, is_wanted_frame, &wanted);
	if (position == HL_INDEX_NONE)
		return add_frame(profile, &given, wanted.id, ret);
	/* One file under two paths, one instruction with two texts: one is shown, whichever came first. */
	kept = &profile->frames[position];
	if (compare_shown(&given, kept) < 0)
		err = keep_frame(profile, &given, kept);
	if (!err)
		*ret = position;
	return err;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static int is_same_key(const void *ctx, uint32_t position)
{
	return 1;
}

int hl_profile_child(struct hl_profile *profile, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t hash = hl_mix((uint64_t)parent << 32 | frame);
	uint32_t position = hl_index_find(&profile->node_index, hash, is_same_key, /* ctx= */ NULL);
	size_t n = profile->n_stack_nodes;
	int err;

	if (position != HL_INDEX_NONE) {
		*ret = position;
		return 0;
	}
	err = hl_grow(&profile->stack_nodes, &profile->cap_stack_nodes, n + 1, sizeof(*profile->stack_nodes),
		      MAX_ITEMS);
	if (!err)
		err = hl_index_add(&profile->node_index, hash, (uint32_t)n);
	if (err)
		return err;
	profile->stack_nodes[n] = (struct stack_node){ .frame = frame, .parent = parent };
	profile->n_stack_nodes++;
	*ret = (uint32_t)n;
	return 0;
}

int hl_profile_stack(struct hl_profile *profile, const uint32_t *frames, size_t n, uint32_t *ret)
{
	uint32_t node = 0;
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		err = hl_profile_child(profile, node, frames[i], &node);
		if (err)
			return err; /* the nodes made so far have no samples: finishing drops them */
	}
	*ret = node;
	return 0;
}

uint32_t hl_profile_stack_frame(const struct hl_profile *profile, uint32_t node, uint32_t *ret_parent)
{
	*ret_parent = profile->stack_nodes[node].parent;
	return profile->stack_nodes[node].frame;
}

void hl_profile_count(struct hl_profile *profile, uint32_t node, uint64_t count, uint64_t weight)
{
	profile->stack_nodes[node].self += count;
	profile->stack_nodes[node].self_weight += weight;
}

int hl_profile_add(struct hl_profile *profile, const uint32_t *frames, size_t n, uint64_t count,
		   uint64_t weight)
{
	uint32_t node = 0;
	int err = hl_profile_stack(profile, frames, n, &node);

	if (!err)
		hl_profile_count(profile, node, count, weight);
	return err;
}

/* ---- what is there ------------------------------------------------------------------------------------- */

const struct hl_node *hl_profile_nodes(const struct hl_profile *profile, uint32_t *ret_n)
{
	*ret_n = profile->n_nodes;
	return profile->nodes;
}

const struct hl_frame *hl_profile_get_frame(const struct hl_profile *profile, uint32_t index)
{
	return &profile->frames[index];
}

uint32_t hl_profile_n_frames(const struct hl_profile *profile)
{
	return (uint32_t)profile->n_frames;
}

uint32_t hl_profile_function(const struct hl_profile *profile, uint32_t node)
{
	uint32_t at = profile->nodes[node].parent;

	while (at && profile->frames[profile->nodes[at].frame].kind == HL_FRAME_PART)
		at = profile->nodes[at].parent;
	return at;
}

uint32_t hl_profile_holder(const struct hl_profile *profile, uint32_t node)
{
	uint32_t at = hl_profile_function(profile, node);

	while (at && profile->frames[profile->nodes[at].frame].kind == HL_FRAME_INLINED)
		at = profile->nodes[at].parent;
	return at;
}

struct hl_id hl_profile_frame_id(const struct hl_profile *profile, uint32_t index)
{
	return profile->frame_ids[index];
}

struct hl_id *hl_profile_node_ids(const struct hl_profile *profile)
{
	struct hl_id *ids = calloc((size_t)profile->n_nodes + 1, sizeof(*ids));

	for (uint32_t i = 1; ids && i < profile->n_nodes; i++) {
		const struct hl_node *node = &profile->nodes[i];
		struct hl_id record[2] = { ids[node->parent], profile->frame_ids[node->frame] };

		ids[i] = hl_id_of(record, sizeof(record));
	}
	return ids;
}

const char *hl_profile_keep(struct hl_profile *profile, const char *text, size_t len)
{
	return hl_arena_copy(&profile->arena, text, len);
}

void hl_profile_set_meta(struct hl_profile *profile, const struct hl_profile_meta *meta)
{
	profile->meta = *meta;
}

const struct hl_profile_meta *hl_profile_meta(const struct hl_profile *profile)
{
	return &profile->meta;
}
