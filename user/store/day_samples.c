// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/day_owners.h"
#include "store/day_reader.h"
#include "store/reading.h"

/*
 * From the rows of a day to stacks of a profile. Most rows repeat an owner and a stack that came before, in
 * another window: they are summed first, by the number of the owner's root and of the node, and each sum then
 * becomes one stack. Every number is checked before it is used: a day may be damaged in ways that SQLite does
 * not see.
 */

/* Far deeper than any stack that we write. */
enum { MAX_DEPTH = 4096, MAX_SEGMENTS = 256, MAX_ITEMS = 1 << 28 };

struct node {
	uint32_t parent, frame, depth;
};

struct sum {
	uint32_t root, node;
	uint64_t count, weight;
};

struct tables {
	struct day_owners *owners;
	uint32_t *frames;   /* frames of the profile, by number */
	struct node *nodes; /* by number */
	struct sum *sums;
	size_t n_frames, n_nodes, n_sums;
	size_t cap_frames, cap_nodes, cap_sums;
	struct hl_index sum_index;
	struct day_left_out left_out;
};

static void tables_done(struct tables *t)
{
	day_owners_free(t->owners);
	free(t->frames);
	free(t->nodes);
	free(t->sums);
	hl_index_done(&t->sum_index);
}

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the samples of a day");
}

/* Numbers are given in order from 1: a row that is not at its place is damage. */
static int check_number(const struct hl_query *query, size_t n, const char *what, struct hl_err *err)
{
	if (hl_query_int(query, 0) == (int64_t)n)
		return 0;
	return hl_err_set(err, -EBADMSG, "its %s are not numbered in order: %lld where %zu should be", what,
			  (long long)hl_query_int(query, 0), n);
}

/* ---- binaries, frames and nodes ---------------------------------------------------------------------------------- */

/* What outputs need to know of files beyond frames: none is lacking where one is damaged. */
static int read_binaries(struct hl_db *db, struct hl_profile *profile, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(db, "SELECT hash, build_id, segments FROM binaries ORDER BY id", &query, err);

	while (!code && (code = hl_query_step(query, err)) == 1) {
		struct hl_segment segments[MAX_SEGMENTS];
		struct hl_binary binary = { .segments = segments };
		const void *bytes;
		size_t len;

		code = 0;
		bytes = hl_query_bytes(query, 0, &len);
		if (len != sizeof(binary.id))
			continue;
		memcpy(&binary.id, bytes, len);
		bytes = hl_query_bytes(query, 2, &len);
		binary.n_segments = len / sizeof(segments[0]);
		if (binary.n_segments > MAX_SEGMENTS)
			continue;
		memcpy(segments, bytes, binary.n_segments * sizeof(segments[0]));
		binary.build_id = (const uint8_t *)hl_query_bytes(query, 1, &binary.build_id_len);
		if (hl_profile_add_binary(profile, &binary))
			return no_memory(err);
	}
	return code;
}

static int read_frame(const struct hl_query *q, struct hl_profile *profile, uint32_t *ret, struct hl_err *err)
{
	struct hl_frame f = {
		.kind = (uint8_t)hl_query_int(q, 1),
		.insn_class = (uint8_t)hl_query_int(q, 2),
		.kernel = hl_query_int(q, 3) != 0,
		.address = (uint64_t)hl_query_int(q, 4),
		.offset = (uint64_t)hl_query_int(q, 5),
	};
	size_t len;
	const void *binary = hl_query_bytes(q, 8, &len);

	if (len == sizeof(f.binary))
		memcpy(&f.binary, binary, len);
	f.name = hl_query_bytes(q, 6, &f.name_len);
	f.module = hl_query_bytes(q, 7, &f.module_len);
	return hl_profile_frame(profile, &f, ret) ? no_memory(err) : 0;
}

static int read_frames(struct tables *t, struct hl_db *db, struct hl_profile *profile, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(
		db,
		"SELECT f.id, f.kind, f.class, f.kernel, f.address, f.offset, f.name, m.path, b.hash"
		" FROM frames f LEFT JOIN modules m ON m.id = f.module"
		" LEFT JOIN binaries b ON b.id = f.binary ORDER BY f.id",
		&query, err);

	t->n_frames = 1;
	while (!code && (code = hl_query_step(query, err)) == 1) {
		code = check_number(query, t->n_frames, "frames", err);
		if (code)
			return code;
		if (hl_grow(&t->frames, &t->cap_frames, t->n_frames + 1, sizeof(*t->frames), MAX_ITEMS))
			return no_memory(err);
		code = read_frame(query, profile, &t->frames[t->n_frames++], err);
	}
	return code;
}

static int read_nodes(struct tables *t, struct hl_db *db, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(db, "SELECT id, parent, frame FROM nodes ORDER BY id", &query, err);

	t->n_nodes = 1;
	while (!code && (code = hl_query_step(query, err)) == 1) {
		uint64_t parent = (uint64_t)hl_query_int(query, 1), frame = (uint64_t)hl_query_int(query, 2);

		code = check_number(query, t->n_nodes, "stacks", err);
		if (!code && (parent >= t->n_nodes || frame < 1 || frame >= t->n_frames))
			code = hl_err_set(err, -EBADMSG, "its stack %zu is damaged", t->n_nodes);
		if (code)
			return code;
		if (hl_grow(&t->nodes, &t->cap_nodes, t->n_nodes + 1, sizeof(*t->nodes), MAX_ITEMS))
			return no_memory(err);
		t->nodes[t->n_nodes] = (struct node){ (uint32_t)parent, (uint32_t)frame,
						      parent ? t->nodes[parent].depth + 1 : 1 };
		if (t->nodes[t->n_nodes++].depth > MAX_DEPTH)
			return hl_err_set(err, -EBADMSG, "its stack %zu is too deep", t->n_nodes - 1);
	}
	return code;
}

/* ---- samples ------------------------------------------------------------------------------------------- */

static int is_same_key(const void *ctx, uint32_t position)
{
	return 1; /* equal hashes are equal keys */
}

static int add_sum(struct tables *t, uint32_t root, uint32_t node, uint64_t count, uint64_t weight)
{
	uint64_t hash = hl_mix((uint64_t)root << 32 | node);
	uint32_t at = hl_index_find(&t->sum_index, hash, is_same_key, /* ctx= */ NULL);

	if (at == HL_INDEX_NONE) {
		if (hl_grow(&t->sums, &t->cap_sums, t->n_sums + 1, sizeof(*t->sums), MAX_ITEMS) ||
		    hl_index_add(&t->sum_index, hash, (uint32_t)t->n_sums))
			return -ENOMEM;
		at = (uint32_t)t->n_sums++;
		t->sums[at] = (struct sum){ .root = root, .node = node };
	}
	t->sums[at].count += count;
	t->sums[at].weight += weight;
	return 0;
}

/* A row of a window: whose it is decides where it counts. */
static int add_row(struct tables *t, const struct day_window *w, uint32_t thread, uint32_t node,
		   uint64_t count, uint64_t weight, struct hl_err *err)
{
	uint32_t root;
	int code = day_owners_root(t->owners, w->source, thread, &root, err);

	if (code)
		return code;
	t->left_out.not_asked += root == DAY_ROOT_NOT_ASKED ? count : 0;
	t->left_out.excluded += root == DAY_ROOT_EXCLUDED ? count : 0;
	if (root >= DAY_ROOT_FIRST && add_sum(t, root, node, count, weight))
		return no_memory(err);
	return 0;
}

/* Reads the samples of one window; they must be as many as it says. */
static int read_window(struct tables *t, struct hl_query *query, const struct day_window *w,
		       struct hl_err *err)
{
	uint64_t samples = 0;
	int code;

	hl_query_give(query, hl_int(w->id));
	while ((code = hl_query_step(query, err)) == 1) {
		uint64_t thread = (uint64_t)hl_query_int(query, 0), node = (uint64_t)hl_query_int(query, 1);
		uint64_t count = (uint64_t)hl_query_int(query, 2);
		struct hl_value weight = hl_query_value(query, 3);

		if (thread > UINT32_MAX || node >= t->n_nodes)
			return hl_err_set(err, -EBADMSG, "its window %u has a damaged sample", w->id);
		samples += count;
		code = add_row(t, w, (uint32_t)thread, (uint32_t)node, count,
			       weight.type == HL_VALUE_INT ? (uint64_t)weight.number : count * w->period,
			       err);
		if (code)
			return code;
	}
	if (!code && samples != w->samples)
		return hl_err_set(err, -EBADMSG, "its window %u has %llu samples and should have %llu", w->id,
				  (unsigned long long)samples, (unsigned long long)w->samples);
	return code;
}

/*
 * Whether the windows that @sum is of are all wanted and not read yet, and have as many samples as it: one may
 * have come later, as the clock was set back. If @take, they are marked as read.
 */
static bool stands_for(struct day_reader *day, const struct day_window *sum, bool take)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < day->n_windows; i++) {
		struct day_window *w = &day->windows[i];

		if (w->source != sum->source || w->start_ns < sum->start_ns ||
		    w->start_ns - sum->start_ns >= sum->length_ns)
			continue;
		if (!w->wanted || w->summed)
			return false;
		w->summed = take;
		samples += w->samples;
	}
	return samples == sum->samples && samples > 0;
}

/* Reads the sums of @level where they stand for what is wanted. */
static int read_sums(struct tables *t, struct day_reader *day, int level, struct hl_query *samples,
		     struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *sums = NULL;
	struct day_window sum;
	int code;

	if (!day->n_windows)
		return 0;
	code = day_reader_query(day, &sums, err);
	if (!code)
		hl_query_give(sums, hl_int(level), hl_int(day->windows[0].start_ns), hl_int(INT64_MAX));
	while (!code && (code = hl_query_step(sums, err)) == 1) {
		code = day_reader_window_of(day, sums, &sum, err);
		if (code || !stands_for(day, &sum, /* take= */ false))
			continue;
		code = read_window(t, samples, &sum, err);
		(void)stands_for(day, &sum, /* take= */ true);
	}
	return code;
}

/* Hours and minutes first: they have fewer rows. */
static int read_samples(struct tables *t, struct day_reader *day, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *query = NULL;
	int code = hl_query_new(day->db, "SELECT thread, node, count, weight FROM samples WHERE window = ?",
				&query, err);

	for (int level = 2; level > 0 && !code; level--)
		code = read_sums(t, day, level, query, err);
	for (size_t i = 0; i < day->n_windows && !code; i++)
		if (day->windows[i].wanted && !day->windows[i].summed)
			code = read_window(t, query, &day->windows[i], err);
	return code;
}

static bool is_below_function(const struct hl_profile *profile, uint32_t frame)
{
	uint8_t kind = hl_profile_get_frame(profile, frame)->kind;

	return kind == HL_FRAME_INSN || kind == HL_FRAME_PART;
}

/* Adds one sum as a stack of the profile: its nodes lead from the leaf to the start. */
static int add_stack(const struct tables *t, struct hl_profile *profile, const struct sum *sum,
		     bool functions)
{
	uint32_t frames[DAY_ROOT_MAX + MAX_DEPTH], n_roots, leaf = sum->node;
	const uint32_t *roots = day_owners_frames(t->owners, sum->root, &n_roots);
	size_t end = DAY_ROOT_MAX + MAX_DEPTH, at = end;

	while (leaf && functions && is_below_function(profile, t->frames[t->nodes[leaf].frame]))
		leaf = t->nodes[leaf].parent;
	for (uint32_t node = leaf; node; node = t->nodes[node].parent)
		frames[--at] = t->frames[t->nodes[node].frame];
	at -= n_roots;
	memcpy(frames + at, roots, n_roots * sizeof(frames[0]));
	return hl_profile_add(profile, frames + at, end - at, sum->count, sum->weight);
}

int day_reader_samples(struct day_reader *day, const struct hl_store_query *query, const char *event,
		       struct hl_profile *profile, struct day_left_out *left_out, struct hl_err *err)
{
	struct tables t = { 0 };
	int code = day_owners_new(day, query, event, profile, &t.owners, err);

	if (!code)
		code = read_binaries(day->db, profile, err);
	if (!code)
		code = read_frames(&t, day->db, profile, err);
	if (!code)
		code = read_nodes(&t, day->db, err);
	if (!code)
		code = read_samples(&t, day, err);
	/* All was read and is sound: now it counts. */
	for (size_t i = 0; i < t.n_sums && !code; i++)
		if (add_stack(&t, profile, &t.sums[i], query->functions))
			code = no_memory(err);
	if (!code) {
		left_out->not_asked += t.left_out.not_asked;
		left_out->excluded += t.left_out.excluded;
	}
	tables_done(&t);
	return code;
}
