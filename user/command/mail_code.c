// SPDX-License-Identifier: BSD-2-Clause
#include "command/mail_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/str.h"
#include "command/lines.h"
#include "command/listings.h"
#include "profile/hot.h"
#include "profile/listing.h"
#include "profile/loops.h"
#include "profile/profile.h"
#include "symd/client.h"

struct hl_mail_code {
	struct hl_symd *symd;             /* NULL: not started yet, or it cannot be */
	const struct hl_profile *profile; /* that the listings are of */
	struct hl_listings *listings;
};

struct hl_mail_code *hl_mail_code_new(void)
{
	return calloc(1, sizeof(struct hl_mail_code));
}

void hl_mail_code_free(struct hl_mail_code *code)
{
	if (!code)
		return;
	hl_listings_free(code->listings);
	hl_symd_free(code->symd);
	free(code);
}

/* Listings of @profile: symd knows the files of one profile at a time, since it knows them by number. */
static int prepare(struct hl_mail_code *code, const struct hl_profile *profile)
{
	if (code->profile == profile)
		return 0;
	hl_listings_free(code->listings);
	hl_symd_free(code->symd);
	code->listings = NULL;
	code->profile = profile;
	code->symd = hl_symd_new(NULL);
	if (!code->symd)
		return 0;
	code->listings = hl_listings_new(profile, code->symd, /* cache= */ NULL, /* opened= */ false,
					 /* living= */ NULL, HL_SYMD_WANT_LINES);
	return code->listings ? 0 : -ENOMEM;
}

/* The row with most samples of the whole listings, if the file holds there what ran; NULL: there is none. */
static const struct hl_listing_row *hottest(const struct hl_listing *parts, size_t n,
					    const struct hl_listing **ret_part)
{
	const struct hl_listing_row *best = NULL;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < parts[i].n; k++)
			if (!best || parts[i].rows[k].samples > best->samples) {
				best = &parts[i].rows[k];
				*ret_part = &parts[i];
			}
	return best && (*ret_part)->whole && !best->other ? best : NULL;
}

static int say_loop(const struct hl_listing *part, const struct hl_listing_row *row, struct hl_str *out)
{
	struct hl_loops loops = { 0 };
	int code = part->cut ? -E2BIG : hl_loops_find(part, &loops);
	uint32_t loop;

	if (code)
		return code == -ENOMEM ? code : 0;
	loop = loops.of_row[row - part->rows];
	if (loop != HL_LOOP_NONE)
		hl_str_addf(out, "[loop +0x%" PRIx64 "-+0x%" PRIx64 "]  ",
			    loops.items[loop].start - part->start, loops.items[loop].end - part->start);
	hl_loops_done(&loops);
	return 0;
}

int hl_mail_code_say(struct hl_mail_code *code, const struct hl_profile *profile, const struct hl_hot *hot,
		     struct hl_str *out)
{
	const struct hl_frame *function = hl_profile_get_frame(profile, hot->function);
	const struct hl_binary *binary = hl_profile_binary(profile, function->binary);
	const struct hl_listing *parts, *part = NULL;
	const struct hl_listing_row *row;
	size_t n;
	int r;

	/* Without a build-id nothing tells whether the file of that name is still the one that ran. */
	if (!binary || !binary->build_id_len)
		return 0;
	r = prepare(code, profile);
	if (!r && code->listings)
		r = hl_listings_get(code->listings, hot, &parts, &n, NULL);
	if (r || !code->listings)
		return r;
	row = hottest(parts, n, &part);
	if (!row)
		return 0;
	r = say_loop(part, row, out);
	if (!r && row->file_len) {
		hl_lines_add(out, row->file, row->file_len, row->line);
		hl_str_adds(out, "  ");
	}
	return r;
}
