/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SOURCE_H
#define HL_COMMAND_SOURCE_H

#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"

struct hl_profile;
struct hl_selection;

/* A profile, wherever it comes from. */
struct hl_source;

struct hl_source_options {
	struct hl_words stores;         /* none: the agent's */
	const char *since, *until;      /* of what does not say its time itself */
	const char *event;              /* NULL: the one with most samples */
	struct hl_selection *selection; /* which samples of stores, and under which frames */
	bool functions;                 /* leaves are functions */
};

/*
 * Opens what @name stands for: a .pb.gz file; a store's directory; SINCE..UNTIL of the stores; or build-id:HEX,
 * the samples whose stacks lead through that build of a module. 0; HL_EXIT_USAGE for a time that is none; or
 * -errno. hl_source_free() accepts NULL.
 */
int hl_source_open(const struct hl_source_options *options, const char *name, struct hl_source **ret,
		   struct hl_err *err);
void hl_source_free(struct hl_source *source);
HL_DEFINE_CLEANUP(struct hl_source, hl_source_free)

/* The finished profile; the source's. */
const struct hl_profile *hl_source_profile(const struct hl_source *source);

#endif
