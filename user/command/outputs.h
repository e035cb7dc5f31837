/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_OUTPUTS_H
#define HL_COMMAND_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/cli.h"

struct hl_diff;
struct hl_profile;
struct hl_render_options;
struct hl_writer;

/* The files that a profile is written to: opened before the work, so that a bad name fails at once. */
struct hl_outputs;

/*
 * Opens @paths, each in the format of its extension or in @format (NULL: by extension; needed for "-").
 * A directory, told by a slash at its end, gets a file named later by host, start and length. Without
 * paths, that in the current directory. 0; -errno; or HL_EXIT_USAGE with the reason for a name without a known format.
 */
int hl_outputs_open(const struct hl_words *paths, const char *format, struct hl_outputs **ret,
		    struct hl_err *err);

/* The same for the comparison of two profiles, which not all formats have a form for. */
int hl_outputs_open_diff(const struct hl_words *paths, const char *format, struct hl_outputs **ret,
			 struct hl_err *err);
/* Writes it to all of them. Names by time are those of the profile after. 0 or -errno. */
int hl_outputs_write_diff(struct hl_outputs *outputs, const struct hl_diff *diff,
			  const struct hl_render_options *options, struct hl_err *err);

/* Whether one of them is in the format of @writer. */
bool hl_outputs_have(const struct hl_outputs *outputs, const struct hl_writer *writer);
/* Whether one of them is of a format that a detailed profile is better for. */
bool hl_outputs_want_details(const struct hl_outputs *outputs);

/*
 * Writes all of them, those that it is better for from @detailed unless that is NULL; @start_ns since the epoch and
 * @elapsed_ns name the default one. 0 or -errno.
 */
int hl_outputs_write(struct hl_outputs *outputs, const struct hl_profile *profile,
		     const struct hl_profile *detailed, const struct hl_render_options *options,
		     uint64_t start_ns, uint64_t elapsed_ns, struct hl_err *err);

/* Whether one of them lies in a directory that is not ours, so that replacing it may take a capability. */
bool hl_outputs_lie_elsewhere(const struct hl_outputs *outputs);
/* What was written under a name made by its time is now called latest.FORMAT, too. 0 or -errno. */
int hl_outputs_name_latest(const struct hl_outputs *outputs, struct hl_err *err);

/* Output @index, counted from 0: the path that was written, and in @ret_dir the directory, with its slash, in which
 * it got its name by time; "" is the current one; NULL: it was named by the user. NULL beyond the last. */
const char *hl_outputs_path(const struct hl_outputs *outputs, size_t index, const char **ret_dir);

/* Lists the names of the files written, one a line, on @out. */
void hl_outputs_print(const struct hl_outputs *outputs, FILE *out);

/* What was not written leaves no trace. */
void hl_outputs_free(struct hl_outputs *outputs);

#endif
