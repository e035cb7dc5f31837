/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SELECTION_H
#define HL_COMMAND_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"

struct hl_identity;
struct hl_str;
struct hl_words;

/* What --by, --where and --exclude ask for: under which frames samples stand, and which are shown. */
struct hl_selection;

/*
 * @by holds names of enum hl_identity_key, none is as "process"; @where and @exclude conditions: KEY=VALUE,
 * KEY=~REGEX (an extended regular expression that any part of the value matches) with such a name or "label."
 * and the key of a label. An empty VALUE is that of whoever has none. They stay the caller's. 0; -ENOMEM; or
 * HL_EXIT_USAGE with a sentence.
 */
int hl_selection_new(const struct hl_words *by, const struct hl_words *where, const struct hl_words *exclude,
		     struct hl_selection **ret, struct hl_err *err);
/* From now on each key has one frame, also those of what runs in no process, which is its own value then. */
void hl_selection_flatten(struct hl_selection *selection);
void hl_selection_free(struct hl_selection *selection);
HL_DEFINE_CLEANUP(struct hl_selection, hl_selection_free)

enum hl_selected {
	HL_SELECTED,
	HL_SELECTED_NOT,      /* some condition of --where does not hold */
	HL_SELECTED_EXCLUDED, /* one of --exclude holds */
};
enum hl_selected hl_selection_check(const struct hl_selection *selection, const struct hl_identity *identity);
/* Whether every sample is selected, so that none need be checked. NULL: it is. */
bool hl_selection_is_all(const struct hl_selection *selection);
/* Whether frames or conditions follow from cgroups and executables, which have to be looked at in time. */
bool hl_selection_needs_proc(const struct hl_selection *selection);

/* Whether frames or conditions follow from pids. */
bool hl_selection_needs_pid(const struct hl_selection *selection);

/*
 * Calls @push for each frame that a stack begins with, outermost first, until one fails. A value of a stranger
 * cannot look like one of our marks, "[no container]", "[kernel threads]" and so on. @selection may be NULL: by
 * process. 0 or what failed.
 */
int hl_selection_roots(const struct hl_selection *selection, const struct hl_identity *identity,
		       int (*push)(void *ctx, const char *name, size_t len), void *ctx);

/* Rows of a command whose config struct has both fields, of type struct hl_words. */
/* clang-format off */
#define HL_SELECTION_BY(config, by_, first)  \
	{ "by", 0, HL_WORDS(config, by_), .metavar = "KEY,…", .default_text = (first),  \
	  .help = "what stacks begin with: service, host, container, image, runtime, pod, namespace, "  \
		  "workload, cgroup, unit, exe, process, pid, thread, event" }
#define HL_SELECTION_ROWS(config, where_, exclude_)  \
	{ "where", 0, HL_STRINGS(config, where_), .metavar = "KEY=VALUE",  \
	  .help = "only samples of which this holds, with a KEY of --by or label.NAME; KEY=~REGEX matches "  \
		  "an expression; an empty VALUE is that of who has none; all must hold that are given" },  \
	{ "exclude", 0, HL_STRINGS(config, exclude_), .metavar = "KEY=VALUE",  \
	  .help = "no samples of which this holds, a condition as of --where; they are counted" }
/* clang-format on */

#endif
