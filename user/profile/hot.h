/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_HOT_H
#define HL_PROFILE_HOT_H

#include <stddef.h>
#include <stdint.h>

struct hl_profile;

/* Where in a function the samples are, and by which callers they came there. Frames are indices of a profile. */

enum { HL_HOT_TOP = 3 };

struct hl_hot_insn {
	uint32_t frame;
	uint64_t samples;
};

struct hl_hot_caller {
	uint32_t frame; /* of the function that called it; of the root where nothing did */
	uint32_t node;  /* of the function below that caller, where it has most samples */
	uint64_t samples;
	struct hl_hot_insn top[HL_HOT_TOP]; /* the hottest first */
	size_t n_top;
};

struct hl_hot {
	uint32_t function;
	uint64_t samples;          /* in its own instructions */
	uint64_t total;            /* and in what it calls; recursion counts once */
	struct hl_hot_insn *insns; /* by address */
	size_t n_insns;
	struct hl_hot_caller *callers; /* by samples */
	size_t n_callers;
};

/*
 * Samples in the own instructions of each frame of the finished @profile that is a function: as many numbers
 * as there are frames, to be released with free(). NULL without memory.
 */
uint64_t *hl_hot_functions(const struct hl_profile *profile);

/* Fills @ret for the function with frame @function. 0 or -ENOMEM. To be released with hl_hot_done(). */
int hl_hot_collect(const struct hl_profile *profile, uint32_t function, struct hl_hot *ret);
void hl_hot_done(struct hl_hot *hot);

#endif
