// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/day_owners.h"
#include "store/day_reader.h"
#include "store/day_stacks.h"
#include "store/reading.h"

/*
 * From the rows of a day to stacks of a profile. Most rows repeat an owner and a stack that came before, in
 * another window: they are summed first, by the number of the owner's root and of the node, and each sum then
 * becomes one stack.
 */

enum { MAX_ITEMS = 1 << 28 };

struct sum {
	uint32_t root, node; /* node: with pieces, the profile's frame of the function */
	uint64_t count, weight;
};

struct samples {
	struct day_reader *day;
	const struct hl_store_query *asked;
	struct day_owners *owners;
	struct day_stacks *stacks;
	uint32_t piece_root; /* of the window that is read, if there are pieces */
	struct hl_query *all, *next_thread, *of_thread;
	struct day_window **windows; /* the day's, by source and start */
	struct sum *sums;
	size_t n_sums, cap_sums;
	struct hl_index sum_index;
	struct day_left_out left_out;
};

static void samples_done(struct samples *s)
{
	day_owners_free(s->owners);
	day_stacks_free(s->stacks);
	hl_query_free(s->all);
	hl_query_free(s->next_thread);
	hl_query_free(s->of_thread);
	free(s->windows);
	free(s->sums);
	hl_index_done(&s->sum_index);
}

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the samples of a day");
}

static int is_same_key(const void *ctx, uint32_t position)
{
	return 1; /* equal hashes are equal keys */
}

static int add_sum(struct samples *s, uint32_t root, uint32_t node, uint64_t count, uint64_t weight)
{
	uint64_t hash = hl_mix((uint64_t)root << 32 | node);
	uint32_t at = hl_index_find(&s->sum_index, hash, is_same_key, /* ctx= */ NULL);

	if (at == HL_INDEX_NONE) {
		if (hl_grow(&s->sums, &s->cap_sums, s->n_sums + 1, sizeof(*s->sums), MAX_ITEMS) ||
		    hl_index_add(&s->sum_index, hash, (uint32_t)s->n_sums))
			return -ENOMEM;
		at = (uint32_t)s->n_sums++;
		s->sums[at] = (struct sum){ .root = root, .node = node };
	}
	s->sums[at].count += count;
	s->sums[at].weight += weight;
	return 0;
}

/* Where @count samples of a stack belong that is @node of the day, and stands under @root. */
static int take(struct samples *s, uint32_t root, uint32_t node, uint64_t count, uint64_t weight,
		struct hl_err *err)
{
	int code = 0;

	if (root < DAY_ROOT_FIRST) {
		s->left_out.not_asked += root == DAY_ROOT_NOT_ASKED ? count : 0;
		s->left_out.excluded += root == DAY_ROOT_EXCLUDED ? count : 0;
		return 0;
	}
	if (s->asked->piece_ns)
		code = day_stacks_function(s->stacks, node, &node, err);
	if (!code && add_sum(s, s->asked->piece_ns ? s->piece_root : root, node, count, weight))
		code = no_memory(err);
	return code;
}

/* ---- windows ------------------------------------------------------------------------------------------- */

static int damaged_sample(const struct day_window *w, struct hl_err *err)
{
	return hl_err_set(err, -EBADMSG, "its window %u has a damaged sample", w->id);
}

static uint64_t weight_of(const struct hl_query *q, int column, uint64_t count, const struct day_window *w)
{
	struct hl_value weight = hl_query_value(q, column);

	return weight.type == HL_VALUE_INT ? (uint64_t)weight.number : count * w->period;
}

static uint64_t piece_of(const struct samples *s, uint64_t ns)
{
	return (ns - s->asked->since_ns) / s->asked->piece_ns;
}

static int find_piece(struct samples *s, const struct day_window *w, struct hl_err *err)
{
	if (s->asked->piece_ns && day_owners_piece(s->owners, piece_of(s, w->start_ns), &s->piece_root))
		return no_memory(err);
	return 0;
}

static int find_root(struct samples *s, const struct day_window *w, uint32_t thread, uint32_t *ret,
		     struct hl_err *err)
{
	/* Nothing depends on whose they are. */
	if (s->asked->piece_ns && !s->asked->root) {
		*ret = DAY_ROOT_FIRST;
		return 0;
	}
	return day_owners_root(s->owners, w->source, thread, ret, err);
}

/* Reads all samples of a window; they must be those that were written. */
static int read_window(struct samples *s, const struct day_window *w, struct hl_err *err)
{
	uint64_t samples = 0, checksum = 0;
	uint32_t root;
	int code = find_piece(s, w, err);

	if (code)
		return code;
	hl_query_give(s->all, hl_int(w->id));
	while ((code = hl_query_step(s->all, err)) == 1) {
		uint64_t thread = (uint64_t)hl_query_int(s->all, 0), node = (uint64_t)hl_query_int(s->all, 1);
		uint64_t count = (uint64_t)hl_query_int(s->all, 2), weight = weight_of(s->all, 3, count, w);

		if (thread > UINT32_MAX || node > UINT32_MAX)
			return damaged_sample(w, err);
		samples += count;
		checksum += hl_sample_checksum((uint32_t)thread, (uint32_t)node, count, weight);
		code = find_root(s, w, (uint32_t)thread, &root, err);
		if (!code)
			code = take(s, root, (uint32_t)node, count, weight, err);
		if (code)
			return code;
	}
	if (!code && samples != w->samples)
		return hl_err_set(err, -EBADMSG, "its window %u has %llu samples and should have %llu", w->id,
				  (unsigned long long)samples, (unsigned long long)w->samples);
	return !code && checksum != w->sum ? damaged_sample(w, err) : code;
}

/* Reads the samples of one thread of a window, with that root. */
static int read_thread(struct samples *s, const struct day_window *w, uint32_t thread, uint32_t root,
		       uint64_t *samples, struct hl_err *err)
{
	int code;

	hl_query_give(s->of_thread, hl_int(w->id), hl_int(thread));
	while ((code = hl_query_step(s->of_thread, err)) == 1) {
		uint64_t node = (uint64_t)hl_query_int(s->of_thread, 0);
		uint64_t count = (uint64_t)hl_query_int(s->of_thread, 1);

		if (node > UINT32_MAX)
			return damaged_sample(w, err);
		*samples += count;
		code = take(s, root, (uint32_t)node, count, weight_of(s->of_thread, 2, count, w), err);
		if (code)
			return code;
	}
	return code;
}

/*
 * Reads those samples of a long window that are asked for, and passes over the others: a long window has many of
 * each thread.
 */
static int read_some(struct samples *s, const struct day_window *w, struct hl_err *err)
{
	uint64_t read = 0;
	uint32_t root, thread = 0;
	int code = find_piece(s, w, err);

	while (!code) {
		hl_query_give(s->next_thread, hl_int(w->id), hl_int(thread));
		code = hl_query_step(s->next_thread, err);
		if (code != 1)
			break;
		thread = (uint32_t)hl_query_int(s->next_thread, 0);
		hl_query_reset(s->next_thread);
		code = day_owners_root(s->owners, w->source, thread, &root, err);
		if (!code && root != DAY_ROOT_NOT_ASKED)
			code = read_thread(s, w, thread, root, &read, err);
	}
	if (!code && read > w->samples)
		return damaged_sample(w, err);
	s->left_out.not_asked += code ? 0 : w->samples - read;
	return code;
}

static int compare_windows(const void *a, const void *b)
{
	const struct day_window *x = *(struct day_window *const *)a, *y = *(struct day_window *const *)b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A day may hold the windows of many hosts: those that a sum is of are not looked for among all. */
static int sort_windows(struct samples *s)
{
	size_t n = s->day->n_windows;

	s->windows = calloc(n + 1, sizeof(struct day_window *));
	if (!s->windows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		s->windows[i] = &s->day->windows[i];
	qsort(s->windows, n, sizeof(struct day_window *), compare_windows);
	return 0;
}

/* The position of the first window of the source of @sum that does not start before it. */
static size_t first_of(const struct samples *s, const struct day_window *sum)
{
	size_t low = 0, high = s->day->n_windows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_windows(&s->windows[middle], &sum) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Whether the windows that @sum is of are all wanted and not read yet, and have as many samples as it. If @take,
 * they are marked as read.
 */
static bool stands_for(const struct samples *s, const struct day_window *sum, bool take)
{
	uint64_t samples = 0;

	for (size_t i = first_of(s, sum); i < s->day->n_windows; i++) {
		struct day_window *w = s->windows[i];

		if (w->source != sum->source || w->start_ns - sum->start_ns >= sum->length_ns)
			break;
		if (!w->wanted || w->summed)
			return false;
		w->summed = take;
		samples += w->samples;
	}
	return samples == sum->samples && samples > 0;
}

/* Whether none of its windows belongs to another piece than the others, if there are pieces. */
static bool is_in_one_piece(const struct samples *s, const struct day_window *sum)
{
	return !s->asked->piece_ns ||
	       (sum->start_ns >= s->asked->since_ns &&
		piece_of(s, sum->start_ns) == piece_of(s, sum->start_ns + sum->length_ns - 1));
}

/* Reads the sums of @level where they stand for what is wanted. */
static int read_sums(struct samples *s, int level, struct hl_err *err)
{
	_cleanup_(hl_query_freep) struct hl_query *sums = NULL;
	struct day_window sum;
	int code;

	if (!s->day->n_windows)
		return 0;
	code = day_reader_query(s->day, &sums, err);
	if (!code)
		hl_query_give(sums, hl_int(level), hl_int(s->day->windows[0].start_ns), hl_int(INT64_MAX));
	while (!code && (code = hl_query_step(sums, err)) == 1) {
		code = day_reader_window_of(s->day, sums, &sum, err);
		if (code || !is_in_one_piece(s, &sum) || !stands_for(s, &sum, /* take= */ false))
			continue;
		code = s->asked->some ? read_some(s, &sum, err) : read_window(s, &sum, err);
		(void)stands_for(s, &sum, /* take= */ true);
	}
	return code;
}

/* Hours and minutes first: they have fewer rows. */
static int read_samples(struct samples *s, struct hl_err *err)
{
	int code = sort_windows(s) ? no_memory(err) : 0;

	for (int level = s->asked->pids ? 0 : 2; level > 0 && !code; level--)
		code = read_sums(s, level, err);
	for (size_t i = 0; i < s->day->n_windows && !code; i++)
		if (s->day->windows[i].wanted && !s->day->windows[i].summed)
			code = read_window(s, &s->day->windows[i], err);
	return code;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static int compare_sums(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int add_stacks(struct samples *s, struct hl_profile *profile)
{
	uint32_t last = 0, root = 0, node, n;
	const uint32_t *frames;
	int code = 0;

	if (s->n_sums)
		qsort(s->sums, s->n_sums, sizeof(*s->sums), compare_sums);
	for (size_t i = 0; i < s->n_sums && !code; i++) {
		const struct sum *sum = &s->sums[i];

		if (sum->root != last) {
			frames = day_owners_frames(s->owners, sum->root, &n);
			code = hl_profile_stack(profile, frames, n, &root);
			last = sum->root;
		}
		if (!code && s->asked->piece_ns)
			code = hl_profile_child(profile, root, sum->node, &node);
		else if (!code)
			code = day_stacks_below(s->stacks, root, sum->node, &node);
		if (!code)
			hl_profile_count(profile, node, sum->count, sum->weight);
	}
	return code;
}

static int prepare(struct samples *s, const char *event, struct hl_profile *profile, struct hl_err *err)
{
	const struct {
		struct hl_query **query;
		const char *sql;
	} queries[] = {
		{ &s->all, "SELECT thread, node, count, weight FROM samples WHERE window = ?" },
		{ &s->next_thread,
		  "SELECT thread FROM samples WHERE window = ? AND thread > ? ORDER BY thread LIMIT 1" },
		{ &s->of_thread, "SELECT node, count, weight FROM samples WHERE window = ? AND thread = ?" },
	};
	int code = day_owners_new(s->day, s->asked, event, profile, &s->owners, err);

	if (!code)
		code = day_stacks_new(s->day, profile, s->asked->functions, &s->stacks, err);
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]) && !code; i++)
		code = hl_query_new(s->day->db, queries[i].sql, queries[i].query, err);
	return code;
}

int day_reader_samples(struct day_reader *day, const struct hl_store_query *query, const char *event,
		       struct hl_profile *profile, struct day_left_out *left_out, struct hl_err *err)
{
	struct samples s = { .day = day, .asked = query };
	int code = prepare(&s, event, profile, err);

	if (!code)
		code = read_samples(&s, err);
	for (size_t i = 0; i < s.n_sums && !code && !query->piece_ns; i++)
		code = day_stacks_need(s.stacks, s.sums[i].node, err);
	/* All was read and is sound: now it counts. */
	if (!code && add_stacks(&s, profile))
		code = no_memory(err);
	if (!code) {
		left_out->not_asked += s.left_out.not_asked;
		left_out->excluded += s.left_out.excluded;
	}
	samples_done(&s);
	return code;
}
