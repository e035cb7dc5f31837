// SPDX-License-Identifier: BSD-2-Clause
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "profile/diff_match.h"
#include "profile/profile.h"

/*
 * What is chance. A profile is a count of trials: by samples, every sample either met the function or not; by
 * time, every tick of the clock on every CPU that was due did, or not. Were nothing different, both counts
 * would come from one probability, and that is tested: the likelihood ratio of the 2 × 2 table
 *
 *              met it    did not
 *     before   a         Na - a
 *     after    b         Nb - b
 *
 * G = 2 Σ O ln(O / E), which has the χ² distribution with one degree of freedom (Wilks, 1938), so that √G is as
 * many standard deviations, signed by the direction. It holds for small counts too, where a difference over its
 * estimated error does not.
 *
 * A profile has thousands of places, and of as many tests some exceed three standard deviations by chance. So
 * the bound grows with the number of places that have samples enough to exceed it at all: of a hundred pairs of
 * profiles of the same, one shows a change (Bonferroni).
 *
 * It is the sampling that is tested: that a service did more between two and three o'clock than before is a
 * change, whatever the reason.
 */

enum { LEAST = 10 }; /* samples below which no change can exceed the bound */
#define CHANCE 0.01

double hl_diff_bound(uint64_t tests)
{
	double low = 0, high = 40, p = CHANCE / (double)(tests ? tests : 1);

	for (int i = 0; i < 60; i++) {
		double z = (low + high) / 2;

		*(erfc(z / sqrt(2)) > p ? &low : &high) = z;
	}
	return high;
}

/* O ln(O / E). */
static double term(double observed, double expected)
{
	return observed > 0 && expected > 0 ? observed * log(observed / expected) : 0;
}

struct hl_change hl_diff_change(const struct hl_diff *diff, uint64_t before, uint64_t after)
{
	const struct hl_diff_side *side = diff->side;
	double a = (double)before, b = (double)after;
	/* More samples than were due: the clock is not so exact. */
	double na = fmax(side[HL_BEFORE].trials, a), nb = fmax(side[HL_AFTER].trials, b);
	double p = (a + b) / (na + nb), g;
	struct hl_change c = { .count = { before, after },
			       .value = { a * side[HL_BEFORE].scale, b * side[HL_AFTER].scale } };

	g = term(a, na * p) + term(b, nb * p) + term(na - a, na * (1 - p)) + term(nb - b, nb * (1 - p));
	c.z = copysign(sqrt(fmax(2 * g, 0)), b * na - a * nb);
	c.delta = c.value[HL_AFTER] - c.value[HL_BEFORE];
	c.noise = fabs(c.z) <= diff->noise;
	return c;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void add_pair(uint64_t sum[HL_N_SIDES], uint64_t before, uint64_t after)
{
	sum[HL_BEFORE] += before;
	sum[HL_AFTER] += after;
}

struct hl_diff_sum *hl_diff_sums(const struct hl_diff *diff)
{
	const struct hl_profile *tree = diff->tree;
	uint32_t n, n_frames = hl_profile_n_frames(tree);
	const struct hl_node *nodes = hl_profile_nodes(tree, &n);
	struct hl_diff_sum *sums = calloc((size_t)n_frames + 1, sizeof(*sums));
	/* The end of the outermost node of each frame that is being walked. */
	_cleanup_free_ uint32_t *open = calloc((size_t)n_frames + 1, sizeof(*open));

	if (!sums || !open) {
		free(sums);
		return NULL;
	}
	for (uint32_t i = 1; i < n; i++) {
		const struct hl_node *node = &nodes[i];
		uint8_t kind = hl_profile_get_frame(tree, node->frame)->kind;
		struct hl_diff_sum *sum = &sums[node->frame];

		add_pair(sum->self, node->self, node->self_weight);
		if (i >= open[node->frame]) {
			add_pair(sum->total, node->total, node->total_weight);
			open[node->frame] = node->end;
		}
		if (!sum->node) {
			sum->node = i;
			sum->function = nodes[hl_profile_function(tree, i)].frame;
			sum->holder = nodes[hl_profile_holder(tree, i)].frame;
		}
		if (kind == HL_FRAME_PART || kind == HL_FRAME_INSN)
			add_pair(sums[nodes[hl_profile_function(tree, i)].frame].self, node->self,
				 node->self_weight);
	}
	return sums;
}

static int count_tests(struct hl_diff *diff)
{
	_cleanup_free_ struct hl_diff_sum *sums = hl_diff_sums(diff);
	uint32_t n, n_frames = hl_profile_n_frames(diff->tree);
	const struct hl_node *nodes = hl_profile_nodes(diff->tree, &n);

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		diff->tests += nodes[i].total + nodes[i].total_weight >= LEAST;
	for (uint32_t i = 0; i < n_frames; i++)
		diff->tests += sums[i].total[HL_BEFORE] + sums[i].total[HL_AFTER] >= LEAST;
	diff->noise = hl_diff_bound(diff->tests);
	return 0;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int check_events(const struct hl_profile_meta *a, const struct hl_profile_meta *b, struct hl_err *err)
{
	if (strcmp(or_empty(a->event), or_empty(b->event)) != 0)
		return hl_err_set(err, -EXDEV, "different events cannot be compared: \"%.60s\" and \"%.60s\"",
				  or_empty(a->event), or_empty(b->event));
	if (strcmp(or_empty(a->unit), or_empty(b->unit)) != 0)
		return hl_err_set(err, -EXDEV, "different units cannot be compared: \"%.60s\" and \"%.60s\"",
				  or_empty(a->unit), or_empty(b->unit));
	return 0;
}

/*
 * How many samples were due while it was sampled. A clock event counts on idle CPUs too, and those of gaps are
 * not among them; others have no such number, and one is made of the time.
 */
static double due(const struct hl_profile_meta *meta)
{
	bool clock = strcmp(or_empty(meta->unit), "nanoseconds") == 0;

	if (clock && meta->expected)
		return (double)meta->expected;
	if (meta->end_ns <= meta->start_ns)
		return 0;
	return (double)(meta->end_ns - meta->start_ns) / 1e9 * meta->frequency * meta->cpus;
}

static int fill_side(struct hl_diff_side *side, const struct hl_profile *profile, enum hl_diff_by by,
		     const char *which, struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	uint32_t n;

	side->profile = profile;
	side->samples = hl_profile_nodes(profile, &n)->total;
	if (!side->samples)
		return hl_err_set(err, -ENODATA, "there are no samples %s", which);
	side->due = due(meta);
	side->trials = (double)side->samples;
	side->scale = 1 / side->trials;
	if (by == HL_DIFF_BY_SAMPLES)
		return 0;
	side->trials = side->due;
	if (side->trials <= 0)
		return hl_err_set(err, -ENODATA,
				  "it is not known for how long was sampled %s: compare by samples", which);
	side->scale = meta->cpus / side->trials;
	return 0;
}

int hl_diff_new(const struct hl_profile *before, const struct hl_profile *after, enum hl_diff_by by,
		struct hl_diff **ret, struct hl_err *err)
{
	const struct hl_profile *const sides[] = { before, after };
	_cleanup_(hl_diff_freep) struct hl_diff *diff = calloc(1, sizeof(*diff));
	int code = diff ? check_events(hl_profile_meta(before), hl_profile_meta(after), err) : -ENOMEM;

	if (!code)
		code = fill_side(&diff->side[HL_BEFORE], before, by, "before", err);
	if (!code)
		code = fill_side(&diff->side[HL_AFTER], after, by, "after", err);
	if (code && code != -ENOMEM)
		return code;
	if (!code) {
		diff->by = by;
		code = hl_diff_match(sides, &diff->tree);
	}
	if (!code)
		code = count_tests(diff);
	if (code)
		return hl_err_set(err, code, "no memory to compare two profiles");
	hl_profile_set_meta(diff->tree, hl_profile_meta(after));
	*ret = TAKE_PTR(diff);
	return 0;
}

void hl_diff_free(struct hl_diff *diff)
{
	if (!diff)
		return;
	hl_profile_free(diff->tree);
	free(diff);
}
