// SPDX-License-Identifier: BSD-2-Clause
#include "command/stored_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/reading.h"
#include "symd/client.h"

/*
 * Where the file is gone, nothing but the store knows what the instructions of a function refer to: all functions that
 * were hot enough for their code to be kept, so those called most. Their names are given to symd as a runtime tells
 * those of the code that it made.
 */

struct item {
	struct hl_frame function;
	struct hl_body body; /* `bytes` only of functions that are wanted */
};

/* Names that symd has been given. */
struct map {
	uint8_t kind;
	struct hl_id binary;
	uint32_t number;
};

struct hl_stored_code {
	struct hl_symd *symd;
	struct hl_body_sum sum;
	struct item *items;
	struct map *maps;
	size_t n, cap, n_maps, cap_maps;
	struct hl_index index;
	struct hl_arena arena;
	uint32_t last_map;
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
	free(code->maps);
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

void hl_stored_code_say(const struct hl_stored_code *code, char *ret, size_t size)
{
	const struct hl_body_sum *sum = &code->sum;
	size_t at = 0;

	at += (size_t)snprintf(ret, size, "code: %" PRIu64 " functions, %.1f MB", sum->kept,
			       (double)sum->bytes / 1e6);
	if (sum->without && at < size)
		at += (size_t)snprintf(ret + at, size - at, "; of %" PRIu64 " it could not be kept",
				       sum->without);
	if (sum->damaged && at < size)
		at += (size_t)snprintf(ret + at, size - at, "; of %" PRIu64 " it is damaged, and left out",
				       sum->damaged);
	if (sum->old && at < size)
		(void)snprintf(ret + at, size - at,
			       "; %u of %u days were written by a hotleaf that kept none", sum->old,
			       sum->days);
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

static void add_name(struct hl_str *text, const struct item *item)
{
	if (!item->body.size)
		return;
	hl_str_addf(text, "%" PRIx64 " %" PRIx64 " ", item->body.address, item->body.size);
	for (size_t i = 0; i < item->function.name_len; i++)
		hl_str_addc(text, item->function.name[i] == '\n' ? '?' : item->function.name[i]);
	hl_str_addc(text, '\n');
}

/* Those of what lies where @function does, itself last: code that was made may have had the place of other code. */
static int give_names(struct hl_stored_code *code, const struct hl_frame *function,
		      const struct hl_body *body, uint32_t number, struct hl_err *err)
{
	_cleanup_close_ int fd = memfd_create("hotleaf-names", MFD_CLOEXEC);
	const struct hl_symd_map map = { .kind = HL_SYMD_PERF_MAP };
	const struct item itself = { *function, *body };
	struct hl_symd_map_counts counts;
	_cleanup_str_ struct hl_str text = { 0 };

	for (size_t i = 0; i < code->n; i++)
		if (code->items[i].function.kind == function->kind &&
		    hl_id_equal(code->items[i].function.binary, function->binary))
			add_name(&text, &code->items[i]);
	add_name(&text, &itself);
	if (hl_str_status(&text) || fd < 0)
		return hl_err_set(err, -ENOMEM, "no memory for names");
	if (write(fd, text.data, text.len) != (ssize_t)text.len)
		return hl_err_errno(err, -errno, "cannot keep the names of functions");
	return hl_symd_add_map(code->symd, number, fd, &map, &counts, err);
}

/* The number of a process whose code, by what symd knows, is what lies where @function does. */
static int name_others(struct hl_stored_code *code, const struct hl_frame *function,
		       const struct hl_body *body, uint32_t *ret, struct hl_err *err)
{
	struct map map = { .kind = function->kind, .binary = function->binary, .number = code->last_map + 1 };
	int r;

	for (size_t i = 0; i < code->n_maps; i++)
		if (code->maps[i].kind == map.kind && hl_id_equal(code->maps[i].binary, map.binary)) {
			*ret = code->maps[i].number;
			return 0;
		}
	r = give_names(code, function, body, map.number, err);
	if (!r && function->kind != HL_FRAME_JIT) {
		r = hl_grow(&code->maps, &code->cap_maps, code->n_maps + 1, sizeof(map), HL_INDEX_NONE);
		if (!r)
			code->maps[code->n_maps++] = map;
	}
	if (!r)
		*ret = code->last_map = map.number;
	return r;
}

int hl_stored_code_list(struct hl_stored_code *code, const struct hl_frame *function,
			const struct hl_body *body, uint32_t file, uint64_t offset, uint64_t *sampled,
			size_t n, uint32_t flags, struct hl_symd_listing *ret, struct hl_err *err)
{
	struct hl_symd_list_query query = { .where = body->address,
					    .bytes_at = body->address,
					    .n_sampled = (uint32_t)n,
					    .n_bytes = (uint32_t)body->size,
					    .place = HL_SYMD_RAW,
					    .flags = body->bits == 32 ? HL_SYMD_CODE_32 : 0 };
	int r = 0;

	if (file) {
		query.place = HL_SYMD_FILE;
		query.file = file;
		query.where = query.bytes_at = offset;
		for (size_t i = 0; i < n; i++)
			sampled[i] = sampled[i] - body->address + offset;
	} else {
		r = name_others(code, function, body, &query.file, err);
	}
	return r ? r : hl_symd_list_function(code->symd, &query, sampled, body->bytes, flags, ret, err);
}
