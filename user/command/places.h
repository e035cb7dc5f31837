/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_PLACES_H
#define HL_COMMAND_PLACES_H

#include "command/code_names.h"
#include "command/debugfiles.h"
#include "command/resolve.h"
#include <hotleaf/symd.h>

/*
 * The distinct places that samples name: every caller, and every sampled instruction with its code bytes.
 * They are collected first, looked up in a few batches, and then read back as frames of a profile.
 */
struct hl_place {
	struct hl_symd_query query;
	uint32_t function;                 /* frame in the profile */
	uint32_t first_inlined, n_inlined; /* frames below it, outermost first, in hl_places.inlined */
	uint32_t loop;                     /* frame of the loop around it; HL_INDEX_NONE */
	uint32_t line;                     /* frame of its source line; HL_INDEX_NONE */
	uint32_t insn;                     /* frame of the leaf, where the query wants text */
	uint16_t flags;                    /* HL_SYMD_* of the answer */
	bool denied;                       /* symd failed on its file */
	bool unopened;                     /* its file is not known, for want of `lack` */
	uint8_t lack;                      /* enum hl_lack */
	bool unlisted;                     /* there was no code to look for loops in */
};

struct hl_places {
	const struct hl_resolve *resolve;
	struct hl_place *items;
	size_t n, cap;
	struct hl_index index;
	uint32_t *inlined;
	size_t n_inlined, cap_inlined;
	struct hl_debug_counts debug; /* of the look-up */
	struct hl_lines_counts lines;
	struct hl_code_name_counts code_names;
	struct hl_tiers *tiers; /* while they are looked up; NULL: no loops are wanted */
};

/* What symd is asked about the instruction of @sample. */
struct hl_symd_query hl_places_query(const struct hl_resolve *resolve, const struct hl_sample *sample);

/*
 * Notes the place of a caller, or of a sample's own instruction. Where the caller is a raw user address it is
 * one of @process; else that does not matter. 0 or -ENOMEM.
 */
int hl_places_add_caller(struct hl_places *places, uint64_t frame, const struct hl_process_key *process);
int hl_places_add_sample(struct hl_places *places, const struct hl_sample *sample);

/* Looks all of them up and makes their frames. 0 or -errno. */
int hl_places_look_up(struct hl_places *places, struct hl_profile *profile, struct hl_err *err);

/* The place noted before; never NULL for one that was. */
const struct hl_place *hl_places_caller(const struct hl_places *places, uint64_t frame,
					const struct hl_process_key *process);
const struct hl_place *hl_places_sample(const struct hl_places *places, const struct hl_sample *sample);

void hl_places_done(struct hl_places *places);

#endif
