/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_DIFF_H
#define HL_PROFILE_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct hl_profile;

/*
 * Two profiles in one tree: what stands in either has a node. How frames of two builds find each other is told
 * in diff_match.c, what is taken for noise in diff.c.
 */

enum hl_side { HL_BEFORE, HL_AFTER, HL_N_SIDES };

enum hl_diff_by {
	HL_DIFF_BY_SAMPLES, /* shares of all samples: for runs of different length or load */
	HL_DIFF_BY_TIME,    /* CPUs that were busy with it: for spans of one host's life */
};

struct hl_diff_side {
	const struct hl_profile *profile;
	uint64_t samples; /* all */
	double due;       /* samples that were due while it was sampled; 0: not known */
	double trials;    /* of which each sample is one that succeeded: all samples, or all that were due */
	double scale;     /* samples to values: shares from 0 to 1, or CPUs */
};

struct hl_diff {
	/*
	 * Of its nodes `self` and `total` are the samples before, `self_weight` and `total_weight` those after.
	 * Its header is that of the profile after. Code has no addresses but offsets in functions.
	 */
	struct hl_profile *tree;
	struct hl_diff_side side[HL_N_SIDES];
	enum hl_diff_by by;
	uint32_t tests; /* how many changes there were to look at */
	double noise;   /* |z| up to which a change is taken for chance */
};

/* What was @count[HL_BEFORE] and is @count[HL_AFTER] samples. */
struct hl_change {
	uint64_t count[HL_N_SIDES];
	double value[HL_N_SIDES]; /* shares or CPUs */
	double delta;             /* of them: after less before */
	double z;                 /* standard deviations by which it is beyond chance, signed */
	bool noise;
};

/*
 * Compares the finished @before and @after, which must outlive @ret. 0; -ENOMEM; -EXDEV if they are of
 * different events, whose samples mean different things; -ENODATA if one of them has no samples, or does not
 * tell for how long it was sampled, which HL_DIFF_BY_TIME must know.
 */
int hl_diff_new(const struct hl_profile *before, const struct hl_profile *after, enum hl_diff_by by,
		struct hl_diff **ret, struct hl_err *err);
void hl_diff_free(struct hl_diff *diff);
HL_DEFINE_CLEANUP(struct hl_diff, hl_diff_free)

struct hl_change hl_diff_change(const struct hl_diff *diff, uint64_t before, uint64_t after);

/* What a frame of the tree sums up to. */
struct hl_diff_sum {
	uint64_t self[HL_N_SIDES];  /* of a function with its instructions */
	uint64_t total[HL_N_SIDES]; /* recursion counts once */
	uint32_t function; /* of an instruction: the frame of the function above it where it stands first */
	uint32_t holder;   /* the same, not inlined: what its offset is in */
	uint32_t node;     /* where it stands first */
};

/* As many as the tree has frames, to be released with free(); NULL without memory. */
struct hl_diff_sum *hl_diff_sums(const struct hl_diff *diff);

/*
 * |z| that is exceeded by chance, in either direction, once in 100 times @tests tests (Bonferroni's bound).
 * At least that of one test.
 */
double hl_diff_bound(uint64_t tests);

#endif
