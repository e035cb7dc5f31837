// SPDX-License-Identifier: BSD-2-Clause
#include "command/reports.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/str.h"
#include "cli/cli.h"
#include "command/outputs.h"
#include "command/stores.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "render/render.h"
#include "store/reading.h"

enum { MOST_FOLDERS = 32 };

struct hl_reports {
	const char *dirs[MOST_FOLDERS]; /* as they were given; borrowed */
	struct hl_folder *folders[MOST_FOLDERS];
	size_t n;
};

void hl_reports_free(struct hl_reports *reports)
{
	if (!reports)
		return;
	for (size_t i = 0; i < reports->n; i++)
		hl_folder_free(reports->folders[i]);
	free(reports);
}

static struct hl_folder *folder_of(const struct hl_reports *reports, const char *dir)
{
	for (size_t i = 0; i < reports->n; i++)
		if (strcmp(reports->dirs[i], dir) == 0)
			return reports->folders[i];
	return NULL;
}

int hl_reports_open(const struct hl_words *outputs, struct hl_reports **ret, struct hl_err *err)
{
	_cleanup_(hl_reports_freep) struct hl_reports *reports = calloc(1, sizeof(*reports));
	int code = 0;

	if (!reports)
		return hl_err_set(err, -ENOMEM, "no memory for the reports");
	for (size_t i = 0; i < outputs->n && !code; i++) {
		const char *dir = outputs->items[i];

		if (!hl_ends_with(dir, "/") || folder_of(reports, dir) || reports->n == MOST_FOLDERS)
			continue;
		code = hl_folder_open(dir, &reports->folders[reports->n], err);
		if (!code)
			reports->dirs[reports->n++] = dir;
	}
	if (!code)
		*ret = TAKE_PTR(reports);
	return code;
}

/* ---- the page of what changed -------------------------------------------------------------------------- */

static int write_diff(const struct hl_diff *diff, const char *path, struct hl_err *err)
{
	static const struct hl_render_options none;
	_cleanup_(hl_output_freep) struct hl_output *output = hl_output_new(path, err);
	int code = output ? hl_writer_html.write_diff(diff, &none, hl_output_stream(output), err) : -EIO;

	return code ? code : hl_output_commit(output, err);
}

/* By time, as spans of a host's life are compared, as long as it is known. */
static int compare(const struct hl_profile *before, const struct hl_profile *after, const char *path,
		   struct hl_err *err)
{
	_cleanup_(hl_diff_freep) struct hl_diff *diff = NULL;
	int code = hl_diff_new(before, after, HL_DIFF_BY_TIME, &diff, err);

	/* Nothing to compare: no samples on one side, or another event or unit. */
	if (code == -ENODATA || code == -EXDEV)
		return 0;
	return code ? code : write_diff(diff, path, err);
}

static int compare_with_before(const struct hl_folder *folder, const char *path,
			       const struct hl_reports_source *source, struct hl_err *err)
{
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL;
	_cleanup_free_ char *diff_path = hl_folder_diff_path(path);
	struct hl_store_query query = *source->query;
	int code;

	if (!hl_ends_with(path, ".html") || !hl_folder_before(folder, path, &query.since_ns, &query.until_ns))
		return 0;
	if (!diff_path)
		return hl_err_set(err, -ENOMEM, "no memory for the name of a page");
	query.event = hl_profile_meta(source->profile)->event;
	code = hl_stores_read(source->stores, &query, &reading, err);
	if (code == -ENODATA)
		return 0; /* that time is not stored any more */
	return code ? code : compare(hl_reading_profile(reading), source->profile, diff_path, err);
}

int hl_reports_finish(struct hl_reports *reports, const struct hl_outputs *outputs,
		      const struct hl_reports_source *source, struct hl_err *err)
{
	const char *path, *dir = NULL;
	int code = 0;

	for (size_t i = 0; (path = hl_outputs_path(outputs, i, &dir)) && !code; i++) {
		struct hl_folder *folder = dir ? folder_of(reports, dir) : NULL;

		if (!folder)
			continue;
		code = hl_folder_note(folder, path, source->profile, err);
		if (!code)
			code = compare_with_before(folder, path, source, err);
	}
	for (size_t i = 0; i < reports->n && !code; i++)
		code = hl_folder_finish(reports->folders[i], &source->limits, hl_realtime_ns(), err);
	return code;
}
