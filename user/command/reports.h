/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_REPORTS_H
#define HL_COMMAND_REPORTS_H

#include "base/cleanup.h"
#include "command/folder.h"

struct hl_outputs;
struct hl_store_query;
struct hl_words;

/* The folders among the outputs of a report, "DIR/": what is to be done there beside writing it. */
struct hl_reports;

/* Locks them, as hl_folder_open(). hl_reports_free() accepts NULL. */
int hl_reports_open(const struct hl_words *outputs, struct hl_reports **ret, struct hl_err *err);
void hl_reports_free(struct hl_reports *reports);
HL_DEFINE_CLEANUP(struct hl_reports, hl_reports_free)

/* What a report was made of. */
struct hl_reports_source {
	const struct hl_words *stores;
	const struct hl_store_query *query;
	const struct hl_profile *profile;
	struct hl_folder_limits limits;
};

/*
 * After @outputs were written: compares each page with the report before it, as long as the stores have that
 * time, removes what is over the limits, and lists all. 0 or -errno.
 */
int hl_reports_finish(struct hl_reports *reports, const struct hl_outputs *outputs,
		      const struct hl_reports_source *source, struct hl_err *err);

#endif
