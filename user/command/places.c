// SPDX-License-Identifier: BSD-2-Clause
#include "command/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "command/kernel_lines.h"
#include "command/kernel_names.h"
#include "command/named_files.h"
#include "command/place_frames.h"
#include "command/tiers.h"
#include "process/codefiles.h"
#include "process/files.h"
#include "process/moved.h"
#include "process/vdso.h"
#include "profile/profile.h"
#include "symd/client.h"
#include "symd/client_cached.h"

enum { BATCH = 4096, PLACES_LIMIT = 16 << 20 };

/* A raw address means something in one process only, and to one that tells of its code at all. */
static uint32_t process_of(const struct hl_resolve *resolve, uint64_t frame,
			   const struct hl_process_key *process)
{
	return hl_frame_is_raw_user(frame) ? hl_code_files_number(resolve->code_files, process) : 0;
}

static struct hl_symd_query query_of(const struct hl_resolve *resolve, uint64_t frame,
				     const struct hl_process_key *process)
{
	struct hl_symd_query q;

	frame = hl_moved_code_translate(resolve->moved, frame, process);
	memset(&q, 0, sizeof(q)); /* compared by its bytes */
	if (hl_frame_is_kernel(frame)) {
		q.place = HL_SYMD_KERNEL;
		q.where = frame;
	} else if (frame & HL_FRAME_RAW) {
		q.place = HL_SYMD_RAW;
		q.file = process_of(resolve, frame, process);
		q.where = frame & ~HL_FRAME_RAW;
	} else {
		q.place = HL_SYMD_FILE;
		q.file = (uint32_t)(frame >> HL_FRAME_FILE_SHIFT);
		q.where = frame & HL_FRAME_OFFSET;
	}
	return q;
}

struct hl_symd_query hl_places_query(const struct hl_resolve *resolve, const struct hl_sample *sample)
{
	struct hl_symd_query q = query_of(resolve, sample->key.ip, &sample->key.process);

	if (resolve->instructions || resolve->loops || resolve->line_tier) {
		q.flags |= HL_SYMD_WANT_TEXT;
		q.code_len = sample->count.code_len;
		q.before_len = sample->count.before_len;
		memcpy(q.code, sample->count.code, sizeof(q.code));
		memcpy(q.before, sample->count.before, sizeof(q.before));
	}
	if (sample->key.code_hash)
		q.flags |= HL_SYMD_LIVING;
	if (sample->key.mode == HL_MODE_USER32)
		q.flags |= HL_SYMD_CODE_32;
	if (resolve->software_clock)
		q.flags |= HL_SYMD_SW_CLOCK;
	return q;
}

struct wanted {
	const struct hl_place *items;
	const struct hl_symd_query *query;
};

static int same_query(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->items[position].query, w->query, sizeof(*w->query)) == 0;
}

static uint32_t find(const struct hl_places *places, const struct hl_symd_query *query, uint64_t hash)
{
	struct wanted wanted = { places->items, query };

	return hl_index_find(&places->index, hash, same_query, &wanted);
}

static int add(struct hl_places *places, const struct hl_symd_query *query)
{
	uint64_t hash = hl_hash(query, sizeof(*query), 0);
	int code;

	if (find(places, query, hash) != HL_INDEX_NONE)
		return 0;
	code = hl_grow(&places->items, &places->cap, places->n + 1, sizeof(*places->items), PLACES_LIMIT);
	if (!code)
		code = hl_index_add(&places->index, hash, (uint32_t)places->n);
	if (code)
		return code;
	places->items[places->n++] = (struct hl_place){ .query = *query };
	return 0;
}

int hl_places_add_caller(struct hl_places *places, uint64_t frame, const struct hl_process_key *process)
{
	struct hl_symd_query query = query_of(places->resolve, frame, process);

	return add(places, &query);
}

int hl_places_add_sample(struct hl_places *places, const struct hl_sample *sample)
{
	struct hl_symd_query query = hl_places_query(places->resolve, sample);

	return add(places, &query);
}

static const struct hl_place *get(const struct hl_places *places, const struct hl_symd_query *query)
{
	uint32_t at = find(places, query, hl_hash(query, sizeof(*query), 0));

	return at == HL_INDEX_NONE ? NULL : &places->items[at];
}

const struct hl_place *hl_places_caller(const struct hl_places *places, uint64_t frame,
					const struct hl_process_key *process)
{
	struct hl_symd_query query = query_of(places->resolve, frame, process);

	return get(places, &query);
}

const struct hl_place *hl_places_sample(const struct hl_places *places, const struct hl_sample *sample)
{
	struct hl_symd_query query = hl_places_query(places->resolve, sample);

	return get(places, &query);
}

void hl_places_done(struct hl_places *places)
{
	free(places->items);
	free(places->inlined);
	hl_index_done(&places->index);
	*places = (struct hl_places){ 0 };
}

/* What the outputs need to know of a file beyond its frames. */
static int keep_binary(struct hl_profile *profile, const struct hl_symd_file *about, uint32_t number,
		       struct hl_id id)
{
	struct hl_segment segments[HL_SYMD_SEGMENTS_MAX];
	struct hl_binary binary = { .id = id,
				    .build_id = about->build_id,
				    .build_id_len = about->build_id_len,
				    .segments = segments,
				    .number = number };

	while (binary.n_segments < about->n_segments && binary.n_segments < HL_SYMD_SEGMENTS_MAX) {
		const struct hl_symd_segment *s = &about->segments[binary.n_segments];

		segments[binary.n_segments++] = (struct hl_segment){ s->address, s->offset, s->size };
	}
	return hl_profile_add_binary(profile, &binary);
}

static enum hl_lack lack_of(const struct hl_resolve *resolve, const struct hl_open_file *file)
{
	switch (file ? file->error : 0) {
	case -ETIMEDOUT:
	case -EHOSTDOWN:
		return HL_LACK_ANSWER;
	case -EFBIG:
		return HL_LACK_COPY;
	case -EACCES:
	case -EPERM:
		return HL_LACK_PERMISSION;
	case -EMEDIUMTYPE:
		return HL_LACK_ELF;
	default:
		return resolve->foreign_ids ? HL_LACK_HOST_IDS : HL_LACK_FILE;
	}
}

static int add_file(const struct hl_resolve *resolve, struct hl_profile *profile, uint32_t id,
		    struct hl_named_file *ret, struct hl_debug_lacks *lacks, struct hl_debug_counts *counts)
{
	const struct hl_open_file *file = hl_files_get(resolve->files, id);
	_cleanup_close_ int vdso = id == HL_FILE_VDSO ? hl_vdso_open() : -1;
	int fd = file && file->state == HL_FILE_OPEN ? file->fd : vdso;
	struct hl_err err = { { 0 } };
	int code;

	if (ret->known)
		return keep_binary(profile, &ret->about, id, ret->binary);
	if (file && file->path)
		ret->module = file->path;
	if (id == HL_FILE_VDSO || id == HL_FILE_VDSO32)
		ret->module = id == HL_FILE_VDSO ? "[vdso]" : "[vdso32]";
	ret->lack = (uint8_t)(fd < 0 ? lack_of(resolve, file) : HL_LACK_ELF);
	if (fd < 0)
		return 0;
	code = hl_symd_add_file_cached(resolve->symd, resolve->cache, id, fd, &ret->about, &err);
	ret->denied = code == -ENOTRECOVERABLE || code == -EPROTO;
	if (code) {
		hl_debug("symbol", "'%s': %s", ret->module ? ret->module : "?", err.text);
		return 0;
	}
	ret->known = true;
	memcpy(&ret->binary, ret->about.binary_id, sizeof(ret->binary));
	code = hl_debug_file_add(resolve->symd, resolve->cache, resolve->reach, id, &ret->about, file, lacks,
				 counts);
	return code ? code : keep_binary(profile, &ret->about, id, ret->binary);
}

/*
 * Adds the samples of @sample to each file of its stacks, once a file: @last says who was the last to do so. Files
 * from number @n_files on are those of samples that are not shown.
 */
static void weigh_sample(const struct hl_places *places, size_t number, uint64_t *weights, size_t *last,
			 size_t n_files)
{
	const struct hl_window *w = places->resolve->window;
	const struct hl_sample *sample = &w->samples[number];
	const struct hl_stack_row *row = hl_window_stack(w, sample->key.user_stack);
	struct hl_symd_query q = query_of(places->resolve, sample->key.ip, &sample->key.process);
	uint32_t n = row ? row->head.n : 0, i = 0;

	do {
		if (q.place == HL_SYMD_FILE && q.file < n_files && last[q.file] != number + 1) {
			last[q.file] = number + 1;
			weights[q.file] += sample->count.samples;
		}
		if (i < n)
			q = query_of(places->resolve, row->frames[i], &sample->key.process);
	} while (i++ < n);
}

/* In how many samples' stacks each of @n files is; the caller's to free. NULL: no memory. */
static uint64_t *weigh_files(const struct hl_places *places, size_t n)
{
	_cleanup_free_ size_t *last = calloc(n, sizeof(*last));
	uint64_t *weights = calloc(n, sizeof(*weights));

	for (size_t i = 0; last && weights && i < places->resolve->window->n_samples; i++)
		weigh_sample(places, i, weights, last, n);
	if (!last)
		hl_cleanup_free(&weights);
	return last ? weights : NULL;
}

/* Debug files that are not on this host, if they are to be fetched; then what is lacking still is counted. */
static int fetch_debug_files(struct hl_places *places, struct hl_debug_lacks *lacks, size_t n_files)
{
	const struct hl_resolve *r = places->resolve;
	_cleanup_free_ uint64_t *weights = r->debuginfod_ms && lacks->n ? weigh_files(places, n_files) : NULL;
	bool wanted = r->debuginfod_ms && lacks->n;

	for (size_t i = 0; weights && i < lacks->n; i++)
		lacks->items[i].samples = weights[lacks->items[i].id];
	if (weights)
		hl_debug_files_fetch(r->symd, r->cache, r->files, lacks, r->debuginfod_ms, &places->debug);
	hl_debug_lacks_finish(lacks, r->files, &places->debug);
	return wanted && !weights ? -ENOMEM : 0;
}

static int add_files(struct hl_places *places, struct hl_profile *profile, struct hl_named_files *named)
{
	_cleanup_free_ bool *wanted = NULL;
	struct hl_debug_lacks lacks = { .n = 0 };
	uint32_t most = HL_FILE_FIRST;
	int code = 0, fetched;

	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].query.place == HL_SYMD_FILE && places->items[i].query.file > most)
			most = places->items[i].query.file;
	wanted = calloc(most + 1, sizeof(*wanted));
	if (!wanted || hl_named_files_reach(named, most))
		return -ENOMEM;
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].query.place == HL_SYMD_FILE)
			wanted[places->items[i].query.file] = true;
	for (uint32_t id = 0; id <= most && !code; id++)
		if (wanted[id])
			code = add_file(places->resolve, profile, id, &named->items[id], &lacks,
					&places->debug);
	fetched = fetch_debug_files(places, &lacks, most + 1);
	code = code ? code : fetched;
	return code;
}

/* True if a place of the kernel lacks a name that it may have got since the names were read. */
static bool lacks_kernel_name(const struct hl_symd_query *queries, const struct hl_symd_answers *answers)
{
	for (size_t i = 0; i < answers->n; i++)
		if (queries[i].place == HL_SYMD_KERNEL && !(answers->items[i].flags & HL_SYMD_NAMED))
			return true;
	return false;
}

static int resolve(const struct hl_resolve *r, const struct hl_symd_query *queries, size_t n,
		   struct hl_symd_answers *answers, struct hl_err *err)
{
	const uint32_t flags = (r->intel ? HL_SYMD_INTEL : 0) | (r->inlines ? HL_SYMD_WANT_INLINES : 0) |
			       (r->lines || r->line_tier ? HL_SYMD_WANT_LINES : 0);
	int code = hl_symd_resolve(r->symd, queries, n, flags, answers, err);

	if (code || !lacks_kernel_name(queries, answers) ||
	    !hl_kernel_names_read(r->kernel, r->symd, hl_monotonic_ns()))
		return code;
	return hl_symd_resolve(r->symd, queries, n, flags, answers, err);
}

static int look_up_batch(struct hl_places *places, size_t from, size_t n, const struct hl_named_file *files,
			 struct hl_symd_answers *answers, struct hl_profile *profile, struct hl_err *err)
{
	static const struct hl_named_file no_file = { .module = NULL };
	_cleanup_free_ struct hl_symd_query *queries = calloc(n, sizeof(*queries));
	_cleanup_str_ struct hl_str text = { 0 };
	int code;

	if (!queries)
		return hl_err_set(err, -ENOMEM, "no memory for names");
	for (size_t i = 0; i < n; i++)
		queries[i] = places->items[from + i].query;
	code = resolve(places->resolve, queries, n, answers, err);
	for (size_t i = 0; i < n && !code; i++) {
		struct hl_place *place = &places->items[from + i];
		bool in_file = place->query.place == HL_SYMD_FILE;

		place->flags = answers->items[i].flags;
		place->unopened = in_file && !files[place->query.file].known;
		place->lack = in_file ? files[place->query.file].lack : 0;
		place->denied = in_file && files[place->query.file].denied;
		code = hl_place_frames(places, place, answers, &answers->items[i],
				       in_file ? &files[place->query.file] : &no_file, profile, &text);
		if (code)
			(void)hl_err_errno(err, code, "cannot keep the names of this profile");
	}
	return code;
}

static bool has_kernel_places(const struct hl_places *places)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].query.place == HL_SYMD_KERNEL)
			return true;
	return false;
}

/* Reads inlined functions and lines of the kernel and of the @n files, of which those count that symd knows. */
static int read_lines(struct hl_places *places, const struct hl_named_file *named, size_t n)
{
	_cleanup_free_ struct hl_lines_file *files = calloc(n, sizeof(*files));
	_cleanup_free_ uint64_t *weights = weigh_files(places, n);
	size_t kept = 0;

	if (!files || !weights)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (named[i].known && weights[i])
			files[kept++] = (struct hl_lines_file){ (uint32_t)i, weights[i] };
	hl_lines_read(places->resolve->symd, places->resolve->cache, places->resolve->reach,
		      places->resolve->files, files, kept, places->resolve->debug_memory, &places->lines);
	if (has_kernel_places(places))
		hl_kernel_lines_read(places->resolve->symd, places->resolve->cache, places->resolve->reach,
				     places->resolve->debug_memory, places->resolve->debuginfod_ms,
				     &places->lines);
	return 0;
}

int hl_places_look_up(struct hl_places *places, struct hl_profile *profile, struct hl_err *err)
{
	struct hl_symd_answers answers = { 0 };
	struct hl_named_files once = { 0 };
	struct hl_named_files *named = places->resolve->named ? places->resolve->named : &once;
	int code = add_files(places, profile, named);

	if (!code && !places->resolve->again &&
	    (places->resolve->inlines || places->resolve->lines || places->resolve->line_tier))
		code = read_lines(places, named->items, named->n);
	if (code) {
		hl_named_files_done(&once);
		return hl_err_set(err, code, "no memory for the files of this profile");
	}
	if (!places->resolve->kernel->read_ns)
		(void)hl_kernel_names_read(places->resolve->kernel, places->resolve->symd, hl_monotonic_ns());
	hl_code_names_read(places->resolve->symd, places->resolve->code_files, named,
			   places->resolve->until_ns, &places->code_names);
	if (places->resolve->loops) {
		places->tiers = hl_tiers_new(places->resolve->symd);
		code = places->tiers ? 0 : hl_err_set(err, -ENOMEM, "no memory for loops");
	}
	for (size_t from = 0; from < places->n && !code; from += BATCH) {
		size_t n = places->n - from < BATCH ? places->n - from : BATCH;

		code = look_up_batch(places, from, n, named->items, &answers, profile, err);
	}
	hl_symd_answers_done(&answers);
	hl_tiers_free(places->tiers);
	places->tiers = NULL;
	hl_named_files_done(&once);
	return code;
}
