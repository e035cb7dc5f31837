// SPDX-License-Identifier: BSD-2-Clause
#include "command/stored_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/listing.h"
#include "profile/profile.h"
#include "store/reading.h"
#include "symd/client.h"

/*
 * Where the file is gone, nothing but the store knows what the instructions of a function refer to: it has the places
 * of all functions that were hot enough for their code to be kept, so of those that are called most.
 */

struct item {
	struct hl_frame function;
	struct hl_body body; /* `bytes` only of functions that are wanted */
};

struct hl_stored_code {
	struct hl_symd *symd;
	struct hl_body_sum sum;
	struct item *items;
	size_t n, cap;
	struct hl_index index;
	struct hl_arena arena;
	/* While it is read. */
	const struct hl_profile *profile;
	const uint32_t *frames;
	size_t n_frames;
};

void hl_stored_code_free(struct hl_stored_code *code)
{
	if (!code)
		return;
	free(code->items);
	hl_index_done(&code->index);
	hl_arena_done(&code->arena);
	free(code);
}

/* ---- out of the store ------------------------------------------------------------------------------------ */

static bool is_same_function(const struct hl_frame *a, const struct hl_frame *b)
{
	return a->kind == b->kind && a->address == b->address && hl_id_equal(a->binary, b->binary) &&
	       a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

static bool is_wanted(const struct hl_stored_code *code, const struct hl_frame *function)
{
	for (size_t i = 0; i < code->n_frames; i++)
		if (is_same_function(hl_profile_get_frame(code->profile, code->frames[i]), function))
			return true;
	return false;
}

struct wanted {
	const struct item *items, *item;
};

static int is_same_item(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct item *a = &w->items[position], *b = w->item;

	return is_same_function(&a->function, &b->function) && a->body.source == b->body.source &&
	       a->body.address == b->body.address && a->body.size == b->body.size &&
	       a->body.bits == b->body.bits && strcmp(a->body.why, b->body.why) == 0 &&
	       (!a->body.bytes || memcmp(a->body.bytes, b->body.bytes, a->body.size) == 0);
}

static const char *keep(struct hl_stored_code *code, const void *bytes, size_t len, int *failed)
{
	const char *kept = hl_arena_copy(&code->arena, bytes, len);

	if (!kept)
		*failed = -ENOMEM;
	return kept;
}

static int take(void *ctx, const struct hl_frame *function, const struct hl_body *body)
{
	struct hl_stored_code *code = ctx;
	struct item item = { *function, *body };
	struct wanted wanted = { code->items, &item };
	uint64_t hash = hl_hash(function->name, function->name_len, body->address ^ function->binary.lo);
	int r = 0;

	if (!is_wanted(code, function)) {
		item.body.bytes = NULL;
	} else if (body->bytes) {
		hash = hl_hash(body->bytes, body->size, hash);
	}
	if (hl_index_find(&code->index, hash, is_same_item, &wanted) != HL_INDEX_NONE)
		return 0;
	item.function.name = keep(code, function->name, function->name_len, &r);
	item.function.module = "";
	item.function.module_len = 0;
	if (item.body.bytes)
		item.body.bytes = keep(code, body->bytes, body->size, &r);
	item.body.build_id = NULL;
	item.body.build_id_len = 0;
	item.body.why = keep(code, body->why, strlen(body->why), &r);
	if (!r)
		r = hl_grow(&code->items, &code->cap, code->n + 1, sizeof(item), HL_INDEX_NONE);
	if (!r)
		r = hl_index_add(&code->index, hash, (uint32_t)code->n);
	if (!r)
		code->items[code->n++] = item;
	return r;
}

int hl_stored_code_new(const struct hl_reading *reading, const struct hl_profile *profile,
		       const uint32_t *frames, size_t n, struct hl_symd *symd, struct hl_stored_code **ret,
		       struct hl_err *err)
{
	_cleanup_(hl_stored_code_freep) struct hl_stored_code *code = calloc(1, sizeof(*code));
	int r;

	if (!code)
		return hl_err_set(err, -ENOMEM, "no memory for the stored code");
	code->symd = symd;
	code->profile = profile;
	code->frames = frames;
	code->n_frames = n;
	r = hl_reading_bodies(reading, take, code, &code->sum, err);
	if (r)
		return hl_err_errno(err, r, "cannot read the stored code");
	*ret = TAKE_PTR(code);
	return 0;
}

const struct hl_body_sum *hl_stored_code_sum(const struct hl_stored_code *code)
{
	return &code->sum;
}

void hl_body_sum_say(const struct hl_body_sum *sum, char *ret, size_t size)
{
	size_t at = 0;

	at += (size_t)snprintf(ret, size, "code of %" PRIu64 " functions, %.1f MB", sum->kept,
			       (double)sum->bytes / 1e6);
	if (sum->without && at < size)
		at += (size_t)snprintf(ret + at, size - at, ", of %" PRIu64 " not kept", sum->without);
	if (sum->damaged && at < size)
		at += (size_t)snprintf(ret + at, size - at, ", of %" PRIu64 " damaged", sum->damaged);
	if (sum->old && at < size)
		(void)snprintf(ret + at, size - at, ", none of %u of %u days, written by a hotleaf without",
			       sum->old, sum->days);
}

const struct hl_body *hl_stored_code_next(const struct hl_stored_code *code, const struct hl_frame *function,
					  const struct hl_body *before)
{
	const struct hl_body *body;

	for (size_t i = code->n; i-- > 0;) {
		body = &code->items[i].body;
		if (before == body)
			before = NULL;
		else if (!before && body->bytes && is_same_function(&code->items[i].function, function))
			return body;
	}
	return NULL;
}

const char *hl_stored_code_why(const struct hl_stored_code *code, const struct hl_frame *function)
{
	bool any = false;

	for (size_t i = code->n; i-- > 0;)
		if (is_same_function(&code->items[i].function, function)) {
			if (!code->items[i].body.bytes && code->items[i].body.why[0])
				return code->items[i].body.why;
			any = true;
		}
	if (any)
		return "the code that the store keeps of it is of other places";
	if (code->sum.damaged)
		return "the store keeps no code of it that is not damaged";
	return code->sum.old
		       ? "the store keeps no code of it: some days were written by a hotleaf that kept none"
		       : "the store keeps no code of it: it had too few samples";
}

/* ---- into listings --------------------------------------------------------------------------------------- */

int hl_stored_code_list(struct hl_stored_code *code, const struct hl_body *body, uint32_t file,
			uint64_t offset, uint64_t *sampled, size_t n, uint32_t flags,
			struct hl_symd_listing *ret, struct hl_err *err)
{
	struct hl_symd_list_query query = { .where = body->address,
					    .bytes_at = body->address,
					    .n_sampled = (uint32_t)n,
					    .n_bytes = (uint32_t)body->size,
					    .place = HL_SYMD_RAW,
					    .flags = body->bits == 32 ? HL_SYMD_CODE_32 : 0 };

	if (file) {
		query.place = HL_SYMD_FILE;
		query.file = file;
		query.where = query.bytes_at = offset;
		for (size_t i = 0; i < n; i++)
			sampled[i] = sampled[i] - body->address + offset;
	}
	return hl_symd_list_function(code->symd, &query, sampled, body->bytes, flags, ret, err);
}

static bool covers(const struct hl_body *body, uint64_t address)
{
	return address - body->address < body->size;
}

/* The function at @address beside @function, whose own body comes first: made code may have had the place of other. */
static bool find_function(const struct hl_stored_code *code, const struct hl_frame *function,
			  const struct hl_body *body, uint64_t address, const struct hl_frame **ret,
			  uint64_t *ret_start)
{
	*ret = function;
	*ret_start = body->address;
	if (covers(body, address))
		return true;
	for (size_t i = code->n; i-- > 0;) {
		const struct item *item = &code->items[i];

		if (!covers(&item->body, address) || item->function.kind != function->kind ||
		    !hl_id_equal(item->function.binary, function->binary))
			continue;
		*ret = &item->function;
		*ret_start = item->body.address;
		return true;
	}
	return false;
}

int hl_stored_code_name_targets(struct hl_stored_code *code, const struct hl_frame *function,
				const struct hl_body *body, struct hl_listing *listing)
{
	_cleanup_str_ struct hl_str text = { 0 };
	const struct hl_frame *to;
	uint64_t start;

	for (size_t i = 0; i < listing->n; i++) {
		struct hl_listing_row *row = &listing->rows[i];

		if (!row->target || memchr(row->text, '<', row->text_len) ||
		    !find_function(code, function, body, row->target, &to, &start))
			continue;
		hl_str_clear(&text);
		hl_str_add(&text, row->text, row->text_len);
		hl_str_adds(&text, " <");
		hl_str_add(&text, to->name, to->name_len);
		if (row->target != start)
			hl_str_addf(&text, "+0x%" PRIx64, row->target - start);
		hl_str_addc(&text, '>');
		row->text = hl_str_status(&text) ? NULL : hl_arena_copy(&code->arena, text.data, text.len);
		row->text_len = text.len;
		if (!row->text)
			return -ENOMEM;
	}
	return 0;
}
