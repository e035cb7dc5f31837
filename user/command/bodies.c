// SPDX-License-Identifier: BSD-2-Clause
#include "command/bodies.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "capture/text.h"
#include "command/named_files.h"
#include "command/places.h"
#include "process/codefiles.h"
#include "process/files.h"
#include "process/kernel.h"
#include "process/reach.h"
#include "process/vdso.h"
#include "profile/profile.h"
#include "store/batch.h"
#include "store/body.h"
#include "symd/client.h"

/*
 * A function is hot that has a thousandth of the samples of its day so far, and more than a few: of what has fewer
 * nobody asks where in it they are. So a function gets its code when it becomes hot, which for one that runs all day
 * is in the first minutes, and for one that runs for an hour in that hour, while its file is there.
 *
 * Functions are counted by what they are. When there are too many, those with a quarter of what it takes are
 * forgotten; what comes after them begins with the most that one of these had. So a count may be too high by that,
 * but never too low: no hot function is missed.
 */
enum { HOT_SHARE = 1000, LEAST_SAMPLES = 5, FORGOTTEN_SHARE = 4 * HOT_SHARE, MANY = 1 << 14 };
/* A process may be busy, or its file system; what has ended stays so. */
enum { TRIES = 3 };
/* What is read for one window; the rest has to wait for the next. */
enum { WINDOW_MAX = 4 << 20 };
/* So many bytes of made code are remembered, to see when it is made anew; that ends, lest two take turns for ever. */
enum { MADE_MAX = 2 << 20, CHANGES = 16 };

struct seen {
	struct hl_id id;
	uint64_t samples;
	uint32_t tries; /* TRIES: it has its code, or never will */
	uint32_t last;  /* its position among those of the window, if that is of it */
	uint8_t *made;  /* its code, if a process made it; NULL: not remembered */
	uint32_t made_size, changes;
};

/* A function of the window, and one of its samples. */
struct function {
	uint32_t seen, frame;
	const struct hl_sample *sample;
};

struct hl_bodies {
	struct seen *seen;
	size_t n, cap;
	struct hl_index index;
	struct function *functions;
	size_t n_functions, cap_functions;
	uint64_t day, samples, floor, made_bytes;
	struct hl_text_reader *kernel; /* NULL: not needed so far */
	uint8_t kernel_id[HL_KERNEL_BUILD_ID_MAX];
	size_t kernel_id_len;
	int proc_fd;
};

struct hl_bodies *hl_bodies_new(void)
{
	struct hl_bodies *bodies = calloc(1, sizeof(*bodies));
	_cleanup_close_ int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (!bodies)
		return NULL;
	bodies->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bodies->kernel_id_len = sys < 0 ? 0 : hl_kernel_build_id(sys, bodies->kernel_id);
	return bodies;
}

static void forget_made(struct hl_bodies *bodies, struct seen *seen)
{
	bodies->made_bytes -= seen->made_size;
	hl_cleanup_free(&seen->made);
	seen->made_size = 0;
}

static void forget_all(struct hl_bodies *bodies)
{
	for (size_t i = 0; i < bodies->n; i++)
		forget_made(bodies, &bodies->seen[i]);
	hl_index_clear(&bodies->index);
	bodies->n = 0;
	bodies->samples = bodies->floor = 0;
}

void hl_bodies_free(struct hl_bodies *bodies)
{
	if (!bodies)
		return;
	forget_all(bodies);
	free(bodies->seen);
	free(bodies->functions);
	hl_index_done(&bodies->index);
	hl_text_reader_free(bodies->kernel);
	hl_cleanup_close(&bodies->proc_fd);
	free(bodies);
}

/* ---- what is hot ----------------------------------------------------------------------------------------- */

static bool is_hot(const struct hl_bodies *bodies, const struct seen *seen)
{
	return seen->samples >= LEAST_SAMPLES && seen->samples * HOT_SHARE >= bodies->samples;
}

static void forget_cold(struct hl_bodies *bodies)
{
	size_t kept = 0;

	hl_index_clear(&bodies->index);
	for (size_t i = 0; i < bodies->n; i++) {
		struct seen *seen = &bodies->seen[i];

		if (seen->samples * FORGOTTEN_SHARE >= bodies->samples &&
		    !hl_index_add(&bodies->index, seen->id.lo, (uint32_t)kept)) {
			bodies->seen[kept++] = *seen;
			continue;
		}
		forget_made(bodies, seen);
		if (seen->samples > bodies->floor)
			bodies->floor = seen->samples;
	}
	bodies->n = kept;
}

void hl_bodies_begin(struct hl_bodies *bodies, uint64_t day)
{
	bodies->n_functions = 0;
	if (day != bodies->day) {
		forget_all(bodies);
		bodies->day = day;
	} else if (bodies->n > MANY) {
		forget_cold(bodies);
	}
}

struct wanted {
	const struct seen *items;
	struct hl_id id;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return hl_id_equal(w->items[position].id, w->id);
}

static int find(struct hl_bodies *bodies, struct hl_id id, uint32_t *ret)
{
	struct wanted wanted = { bodies->seen, id };
	int code;

	*ret = hl_index_find(&bodies->index, id.lo, is_wanted, &wanted);
	if (*ret != HL_INDEX_NONE)
		return 0;
	code = hl_grow(&bodies->seen, &bodies->cap, bodies->n + 1, sizeof(*bodies->seen), HL_INDEX_NONE);
	if (!code)
		code = hl_index_add(&bodies->index, id.lo, (uint32_t)bodies->n);
	if (code)
		return -ENOMEM;
	*ret = (uint32_t)bodies->n;
	bodies->seen[bodies->n++] = (struct seen){ .id = id, .samples = bodies->floor };
	return 0;
}

/* Made code is made again elsewhere under its name: that is another function here. */
static struct hl_id id_of(const struct hl_profile *profile, uint32_t function, const struct hl_frame *insn)
{
	struct hl_id id = hl_profile_frame_id(profile, function);

	id.lo ^= hl_mix(insn->address - insn->offset);
	return id;
}

/* Whether a function with that code has what was sampled at @offset in it. */
static bool has_sampled(const uint8_t *code, uint64_t size, uint64_t offset, const struct hl_sample *sample)
{
	size_t n = sample->count.code_len;

	if (offset >= size)
		return false;
	return memcmp(code + offset, sample->count.code, n < size - offset ? n : size - offset) == 0;
}

int hl_bodies_count(struct hl_bodies *bodies, const struct hl_profile *profile,
		    const struct hl_sample *sample, const uint32_t *frames, size_t n)
{
	const struct hl_frame *insn = n < 2 ? NULL : hl_profile_get_frame(profile, frames[n - 1]);
	struct function function = { .sample = sample };
	struct seen *seen;

	bodies->samples += sample->count.samples;
	if (!insn || insn->kind != HL_FRAME_INSN)
		return 0;
	function.frame = frames[n - 2];
	if (find(bodies, id_of(profile, function.frame, insn), &function.seen))
		return -ENOMEM;
	seen = &bodies->seen[function.seen];
	seen->samples += sample->count.samples;
	if (seen->made && seen->changes < CHANGES &&
	    !has_sampled(seen->made, seen->made_size, insn->offset, sample)) {
		forget_made(bodies, seen);
		seen->changes++;
		seen->tries = 0;
	}
	if (seen->tries == TRIES ||
	    (seen->last < bodies->n_functions && bodies->functions[seen->last].seen == function.seen))
		return 0;
	if (hl_grow(&bodies->functions, &bodies->cap_functions, bodies->n_functions + 1,
		    sizeof(*bodies->functions), HL_INDEX_NONE))
		return -ENOMEM;
	seen->last = (uint32_t)bodies->n_functions;
	bodies->functions[bodies->n_functions++] = function;
	return 0;
}

/* ---- its code -------------------------------------------------------------------------------------------- */

static int read_file(const struct hl_resolve *r, const struct hl_symd_query *q, uint64_t where,
		     uint8_t *bytes, size_t n, struct hl_err *err)
{
	const struct hl_open_file *file = hl_files_get(r->files, q->file);
	_cleanup_close_ int vdso = q->file == HL_FILE_VDSO ? hl_vdso_open() : -1;
	int fd = file && file->state == HL_FILE_OPEN ? file->fd : vdso;
	int code = fd < 0 ? -ENOENT : hl_reach_range(r->reach, fd, where, bytes, n);

	return code ? hl_err_set(err, code, "its file could not be read") : 0;
}

static int read_kernel(struct hl_bodies *bodies, uint64_t where, uint8_t *bytes, size_t n, struct hl_err *err)
{
	int code = bodies->kernel ? 0 : hl_text_reader_new(&bodies->kernel, err);

	return code ? code : hl_text_reader_get(bodies->kernel, where, bytes, n, err);
}

static int read_memory(struct hl_bodies *bodies, const struct hl_resolve *r, const struct hl_sample *sample,
		       uint64_t where, uint8_t *bytes, size_t n, struct hl_err *err)
{
	int code = hl_reach_memory(r->reach, bodies->proc_fd, &sample->key.process, where, bytes, n);

	return code ? hl_err_set(err, code, "%s",
				 code == -ESRCH || code == -ENOENT
					 ? "its process had ended"
					 : "the memory of its process could not be read")
		    : 0;
}

static int read_code(struct hl_bodies *bodies, const struct hl_resolve *r, const struct hl_symd_query *q,
		     const struct hl_symd_answer *a, const struct hl_sample *sample, uint8_t *bytes,
		     struct hl_err *err)
{
	uint64_t where = q->where - (a->address - a->function);

	switch (q->place) {
	case HL_SYMD_FILE:
		return read_file(r, q, where, bytes, a->size, err);
	case HL_SYMD_KERNEL:
		return read_kernel(bodies, where, bytes, a->size, err);
	default:
		return read_memory(bodies, r, sample, where, bytes, a->size, err);
	}
}

static const uint8_t source_of[] = {
	[HL_SYMD_FILE] = HL_BODY_FILE, [HL_SYMD_KERNEL] = HL_BODY_KERNEL, [HL_SYMD_RAW] = HL_BODY_MEMORY
};

static void set_build_id(const struct hl_bodies *bodies, const struct hl_resolve *r,
			 const struct hl_symd_query *q, const struct hl_symd_answer *a, struct hl_body *body)
{
	if (q->place == HL_SYMD_FILE && q->file < r->named->n && r->named->items[q->file].known) {
		body->build_id = r->named->items[q->file].about.build_id;
		body->build_id_len = r->named->items[q->file].about.build_id_len;
	} else if (q->place == HL_SYMD_KERNEL && !(a->flags & HL_SYMD_MODULE)) {
		body->build_id = bodies->kernel_id;
		body->build_id_len = bodies->kernel_id_len;
	}
}

/* One function: its code, or why it has none. */
static int collect(struct hl_bodies *bodies, const struct hl_resolve *r, const struct function *function,
		   const struct hl_symd_query *q, const struct hl_symd_answer *a, struct hl_batch *batch)
{
	_cleanup_free_ uint8_t *bytes = a->size && a->size <= HL_BODY_MAX ? malloc(a->size) : NULL;
	struct seen *seen = &bodies->seen[function->seen];
	struct hl_body body = { .bits = q->flags & HL_SYMD_CODE_32 ? 32 : 64 };
	struct hl_err err = { "" };
	int code = 0;

	seen->tries++;
	if (!a->size || (a->flags & HL_SYMD_UNMAPPED)) {
		(void)hl_err_set(&err, 0, "nothing says where it begins and ends");
		seen->tries = TRIES;
	} else if (a->size > HL_BODY_MAX) {
		(void)hl_err_set(&err, 0, "it is larger than %d KB", HL_BODY_MAX >> 10);
		seen->tries = TRIES;
	} else if (!bytes) {
		return -ENOMEM;
	} else {
		code = read_code(bodies, r, q, a, function->sample, bytes, &err);
		/* Made anew, or its process began another program: another sample may be of what is there now. */
		if (!code && q->place == HL_SYMD_RAW &&
		    !has_sampled(bytes, a->size, a->address - a->function, function->sample))
			code = hl_err_set(&err, -ESTALE, "when it was read, other code was there");
	}
	/* Where others keep it waiting, it is no fault of the function's. */
	if (hl_reach_is_unanswered(code))
		seen->tries--;
	/* Where it is, where that is known: of made code it is one of several. */
	if (a->size && !(a->flags & HL_SYMD_UNMAPPED)) {
		body.address = a->function;
		body.size = a->size;
	}
	if (!code && !err.text[0]) {
		seen->tries = TRIES;
		body.source = source_of[q->place];
		body.bytes = bytes;
	}
	body.why = err.text;
	set_build_id(bodies, r, q, a, &body);
	code = hl_batch_add_body(batch, function->frame, &body);
	if (!code && body.source == HL_BODY_MEMORY && bodies->made_bytes + a->size <= MADE_MAX) {
		bodies->made_bytes += a->size;
		seen->made_size = (uint32_t)a->size;
		seen->made = TAKE_PTR(bytes);
	}
	return code;
}

/* It may not run any more when the next window is read. */
static int put_off(const struct function *function, struct hl_batch *batch)
{
	const struct hl_body body = { .bits = 64, .why = "there was much other code to read" };

	return hl_batch_add_body(batch, function->frame, &body);
}

int hl_bodies_collect(struct hl_bodies *bodies, const struct hl_resolve *resolve, struct hl_batch *batch)
{
	_cleanup_free_ struct hl_symd_query *queries = calloc(bodies->n_functions + 1, sizeof(*queries));
	_cleanup_(hl_symd_answers_done) struct hl_symd_answers answers = { 0 };
	struct hl_err err = { "" };
	uint64_t bytes = 0;
	size_t n = 0;
	int code = 0;

	if (!queries)
		return -ENOMEM;
	for (size_t i = 0; i < bodies->n_functions; i++) {
		struct function *function = &bodies->functions[i];

		if (!is_hot(bodies, &bodies->seen[function->seen]))
			continue;
		queries[n] = hl_places_query(resolve, function->sample);
		bodies->functions[n++] = *function;
	}
	if (n && hl_symd_resolve(resolve->symd, queries, n, 0, &answers, &err)) {
		hl_debug("symbol", "the code of %zu functions waits for the next window: %s", n, err.text);
		return 0;
	}
	for (size_t i = 0; i < n && !code; i++) {
		const struct hl_symd_answer *a = &answers.items[i];

		code = bytes < WINDOW_MAX
			       ? collect(bodies, resolve, &bodies->functions[i], &queries[i], a, batch)
			       : put_off(&bodies->functions[i], batch);
		bytes += a->size <= HL_BODY_MAX ? a->size : 0;
	}
	return code;
}
