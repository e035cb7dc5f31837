// SPDX-License-Identifier: BSD-2-Clause
#include "command/tiers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "command/listing_rows.h"
#include "profile/listing.h"
#include "symd/client.h"

/* A function that was looked at. */
struct seen {
	uint64_t function;
	uint32_t file;
	bool known; /* its code was there */
	struct hl_listing listing;
	struct hl_loops loops;
};

struct hl_tiers {
	struct hl_symd *symd;
	struct seen *seen;
	size_t n, cap;
	struct hl_index index;
};

struct hl_tiers *hl_tiers_new(struct hl_symd *symd)
{
	struct hl_tiers *tiers = calloc(1, sizeof(*tiers));

	if (tiers)
		tiers->symd = symd;
	return tiers;
}

void hl_tiers_free(struct hl_tiers *tiers)
{
	if (!tiers)
		return;
	for (size_t i = 0; i < tiers->n; i++) {
		free(tiers->seen[i].listing.rows);
		hl_loops_done(&tiers->seen[i].loops);
	}
	free(tiers->seen);
	hl_index_done(&tiers->index);
	free(tiers);
}

struct wanted {
	const struct seen *seen;
	uint64_t function;
	uint32_t file;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return w->seen[position].function == w->function && w->seen[position].file == w->file;
}

/* Lists the function and finds its loops. What cannot be listed is remembered as that. */
static int look_at(struct hl_tiers *tiers, const struct hl_symd_query *query, struct seen *ret)
{
	struct hl_symd_list_query list = {
		.where = query->where, .place = query->place, .file = query->file, .n_sampled = 1
	};
	_cleanup_(hl_symd_listing_done) struct hl_symd_listing code = { 0 };
	uint64_t sampled = query->where;
	int r = query->place == HL_SYMD_FILE ? 0 : -ENODATA;

	list.flags = query->flags & HL_SYMD_CODE_32;
	if (r == 0)
		r = hl_symd_list_function(tiers->symd, &list, &sampled, NULL, /* flags= */ 0, &code, NULL);
	if (r == 0)
		r = hl_listing_from_symd(&code, &ret->listing);
	if (r == 0)
		r = hl_loops_find(&ret->listing, &ret->loops);
	ret->known = r == 0;
	/* The texts go with the answer: they have done their part. */
	for (size_t i = 0; i < ret->listing.n; i++)
		ret->listing.rows[i].text = NULL;
	return r == -ENOMEM ? r : 0;
}

static int find(struct hl_tiers *tiers, const struct hl_symd_query *query, uint64_t function,
		const struct seen **ret)
{
	struct wanted wanted = { tiers->seen, function, query->file };
	uint64_t hash = hl_hash(&function, sizeof(function), query->file);
	uint32_t at = hl_index_find(&tiers->index, hash, is_wanted, &wanted);
	struct seen seen = { .function = function, .file = query->file };
	int code = 0;

	if (at == HL_INDEX_NONE) {
		at = (uint32_t)tiers->n;
		code = hl_grow(&tiers->seen, &tiers->cap, tiers->n + 1, sizeof(seen), HL_INDEX_NONE);
		if (!code)
			code = hl_index_add(&tiers->index, hash, at);
		if (code)
			return code;
		code = look_at(tiers, query, &seen);
		tiers->seen[tiers->n++] = seen;
	}
	*ret = &tiers->seen[at];
	return code;
}

int hl_tiers_loop(struct hl_tiers *tiers, const struct hl_symd_query *query,
		  const struct hl_symd_answer *answer, struct hl_loop *ret)
{
	const struct hl_listing_row *row;
	const struct seen *seen;
	uint32_t loop;
	int code;

	if (query->place != HL_SYMD_FILE || (answer->flags & HL_SYMD_UNMAPPED))
		return -ENODATA;
	code = find(tiers, query, answer->function, &seen);
	if (code)
		return code;
	row = seen->known ? hl_listing_around(&seen->listing, answer->address) : NULL;
	if (!row)
		return -ENODATA;
	loop = seen->loops.of_row[row - seen->listing.rows];
	if (loop == HL_LOOP_NONE)
		return seen->loops.tangled[row - seen->listing.rows] ? -ENODATA : 0;
	*ret = seen->loops.items[loop];
	return 1;
}
