// SPDX-License-Identifier: BSD-2-Clause
#include "profile/hot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/tree.h"

uint64_t *hl_hot_functions(const struct hl_profile *profile)
{
	uint64_t *samples = calloc((size_t)hl_profile_n_frames(profile) + 1, sizeof(*samples));

	for (uint32_t i = 1; samples && i < profile->n_nodes; i++) {
		const struct hl_node *node = &profile->nodes[i];

		if (profile->frames[node->frame].kind == HL_FRAME_INSN)
			samples[profile->nodes[hl_profile_holder(profile, i)].frame] += node->self;
	}
	return samples;
}

/* Samples of one instruction below one call. */
struct hit {
	uint32_t caller, insn;
	uint32_t node; /* of the function */
	uint64_t samples;
};

struct hits {
	struct hit *items;
	size_t n;
};

/* The function that called the one at @node; calls of itself are passed over. */
static uint32_t caller_of(const struct hl_profile *profile, uint32_t node)
{
	uint32_t frame = profile->nodes[node].frame, at = profile->nodes[node].parent;

	while (at && profile->nodes[at].frame == frame)
		at = profile->nodes[at].parent;
	return profile->nodes[at].frame;
}

static int find_hits(const struct hl_profile *profile, uint32_t function, struct hits *hits)
{
	hits->items = calloc((size_t)profile->n_nodes + 1, sizeof(*hits->items));
	if (!hits->items)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile->n_nodes; i++) {
		const struct hl_node *node = &profile->nodes[i];
		uint32_t holder;

		if (profile->frames[node->frame].kind != HL_FRAME_INSN || !node->self)
			continue;
		holder = hl_profile_holder(profile, i);
		if (profile->nodes[holder].frame != function)
			continue;
		hits->items[hits->n++] =
			(struct hit){ caller_of(profile, holder), node->frame, holder, node->self };
	}
	return 0;
}

static int by_insn(const void *a, const void *b, void *ctx)
{
	const struct hl_profile *profile = ctx;
	const struct hit *x = a, *y = b;
	int order = compare_u64(profile->frames[x->insn].address, profile->frames[y->insn].address);

	return order ? order : compare_u64(x->insn, y->insn);
}

/* Callers together, in each the instructions, in each the heaviest node first. */
static int by_caller(const void *a, const void *b, void *ctx)
{
	const struct hit *x = a, *y = b;
	int order = compare_u64(x->caller, y->caller);

	if (!order)
		order = compare_u64(x->insn, y->insn);
	return order ? order : compare_u64(y->samples, x->samples);
}

static int by_samples(const void *a, const void *b)
{
	const struct hl_hot_caller *x = a, *y = b;
	int order = compare_u64(y->samples, x->samples);

	return order ? order : compare_u64(x->frame, y->frame);
}

static int add_insns(const struct hl_profile *profile, struct hits *hits, struct hl_hot *hot)
{
	hot->insns = malloc((hits->n + 1) * sizeof(*hot->insns));
	if (!hot->insns)
		return -ENOMEM;
	qsort_r(hits->items, hits->n, sizeof(*hits->items), by_insn, (void *)profile);
	for (size_t i = 0; i < hits->n; i++) {
		const struct hit *hit = &hits->items[i];

		if (!i || hit->insn != hits->items[i - 1].insn)
			hot->insns[hot->n_insns++] = (struct hl_hot_insn){ .frame = hit->insn };
		hot->insns[hot->n_insns - 1].samples += hit->samples;
		hot->samples += hit->samples;
	}
	return 0;
}

/* Puts an instruction among the hottest of its caller. */
static void rank(struct hl_hot_caller *caller, struct hl_hot_insn insn)
{
	size_t at = caller->n_top;

	while (at > 0 && caller->top[at - 1].samples < insn.samples)
		at--;
	if (at == HL_HOT_TOP)
		return;
	if (caller->n_top < HL_HOT_TOP)
		caller->n_top++;
	for (size_t i = caller->n_top - 1; i > at; i--)
		caller->top[i] = caller->top[i - 1];
	caller->top[at] = insn;
}

static int add_callers(struct hits *hits, struct hl_hot *hot)
{
	struct hl_hot_insn insn = { 0 };
	uint64_t heaviest = 0;

	hot->callers = malloc((hits->n + 1) * sizeof(*hot->callers));
	if (!hot->callers)
		return -ENOMEM;
	qsort_r(hits->items, hits->n, sizeof(*hits->items), by_caller, NULL);
	for (size_t i = 0; i < hits->n; i++) {
		const struct hit *hit = &hits->items[i], *next = i + 1 < hits->n ? hit + 1 : NULL;
		struct hl_hot_caller *caller;

		if (!hot->n_callers || hot->callers[hot->n_callers - 1].frame != hit->caller) {
			hot->callers[hot->n_callers++] = (struct hl_hot_caller){ .frame = hit->caller };
			heaviest = 0;
		}
		caller = &hot->callers[hot->n_callers - 1];
		caller->samples += hit->samples;
		if (hit->samples > heaviest) {
			heaviest = hit->samples;
			caller->node = hit->node;
		}
		insn.frame = hit->insn;
		insn.samples += hit->samples;
		if (!next || next->caller != hit->caller || next->insn != hit->insn) {
			rank(caller, insn);
			insn.samples = 0;
		}
	}
	qsort(hot->callers, hot->n_callers, sizeof(*hot->callers), by_samples);
	return 0;
}

int hl_hot_collect(const struct hl_profile *profile, uint32_t function, struct hl_hot *ret)
{
	struct hl_hot hot = { .function = function };
	struct hits hits = { 0 };
	int code = find_hits(profile, function, &hits);

	for (uint32_t i = 1; i < profile->n_nodes; i++) {
		if (profile->nodes[i].frame != function)
			continue;
		hot.total += profile->nodes[i].total;
		i = profile->nodes[i].end - 1;
	}
	if (!code)
		code = add_insns(profile, &hits, &hot);
	if (!code)
		code = add_callers(&hits, &hot);
	free(hits.items);
	if (code)
		hl_hot_done(&hot);
	else
		*ret = hot;
	return code;
}

void hl_hot_done(struct hl_hot *hot)
{
	free(hot->insns);
	free(hot->callers);
	*hot = (struct hl_hot){ 0 };
}
