// SPDX-License-Identifier: BSD-2-Clause
#include "store/inspect.h"

#include <errno.h>

#include "profile/profile.h"
#include "store/day_bodies.h"
#include "store/day_check.h"
#include "store/day_reader.h"
#include "store/reading.h"

/* Reads every row, the pages that hold nothing a report reads, and then as a report does. */
static int read_all(struct day_reader *day, struct hl_err *err)
{
	static const struct hl_store_query query;
	struct hl_profile *profile = hl_profile_new();
	struct day_left_out left_out = { 0 };
	int code;

	if (!profile)
		return hl_err_set(err, -ENOMEM, "no memory to check a day");
	for (size_t i = 0; i < day->n_windows; i++)
		day->windows[i].wanted = true;
	code = hl_db_check(day->db, /* all= */ true, err);
	if (!code)
		code = day_check(day, err);
	if (!code)
		code = day_reader_samples(day, &query, "", profile, &left_out, err);
	hl_profile_free(profile);
	return code;
}

int hl_day_inspect(const char *path, bool whole, struct hl_day_info *ret, struct hl_err *err)
{
	struct hl_day_info info = { .first_ns = UINT64_MAX };
	struct day_reader day = { 0 };
	int code = day_reader_open(&day, path, 0, INT64_MAX, err);

	if (!code && whole)
		code = read_all(&day, err);
	if (!code)
		code = day_bodies_each(&day, NULL, NULL, &info.bodies, err);
	for (size_t i = 0; i < day.n_windows; i++) {
		const struct day_window *w = &day.windows[i];

		info.windows++;
		info.samples += w->samples;
		info.first_ns = w->start_ns < info.first_ns ? w->start_ns : info.first_ns;
		info.last_ns =
			w->start_ns + w->length_ns > info.last_ns ? w->start_ns + w->length_ns : info.last_ns;
	}
	if (!info.windows)
		info.first_ns = 0;
	day_reader_done(&day);
	if (!code)
		*ret = info;
	return code;
}
