// SPDX-License-Identifier: BSD-2-Clause
#include "command/listings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "command/debugfiles.h"
#include "command/lines.h"
#include "command/listing_rows.h"
#include "command/living_code.h"
#include "command/stored_code.h"
#include "process/files.h"
#include "process/proc.h"
#include "profile/hot.h"
#include "profile/listing.h"
#include "profile/profile.h"
#include "symd/client.h"
#include "symd/client_cached.h"

enum { MOST_PARTS = 64, LINES_MS = 10000 };
#define LINES_MEMORY (UINT64_C(1) << 30)

/* A file of the profile that was looked for. */
struct tried {
	struct hl_id id;
	bool good;
	char why[200];
};

struct hl_listings {
	const struct hl_profile *profile;
	struct hl_symd *symd;
	struct hl_cache *cache;
	bool opened;
	const struct hl_living_code *living;
	struct hl_stored_code *stored;
	uint32_t flags; /* HL_SYMD_* of listings */
	struct tried *tried;
	size_t n_tried, cap_tried;
	struct hl_listing parts[MOST_PARTS];
	struct hl_symd_listing behind[MOST_PARTS]; /* what holds the strings of their rows */
	const struct hl_body *of[MOST_PARTS];      /* that a part lists; NULL: none */
	size_t n;
	struct hl_err reason;
};

struct hl_listings *hl_listings_new(const struct hl_profile *profile, struct hl_symd *symd,
				    struct hl_cache *cache, bool opened, const struct hl_living_code *living,
				    uint32_t flags)
{
	struct hl_listings *l = calloc(1, sizeof(*l));

	if (l)
		*l = (struct hl_listings){ .profile = profile,
					   .symd = symd,
					   .cache = cache,
					   .opened = opened,
					   .living = living,
					   .flags = flags };
	return l;
}

static void clear(struct hl_listings *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->parts[i].rows);
		hl_symd_listing_done(&l->behind[i]);
	}
	memset(l->parts, 0, sizeof(l->parts));
	memset(l->of, 0, sizeof(l->of));
	l->n = 0;
}

void hl_listings_use_stored(struct hl_listings *l, struct hl_stored_code *stored)
{
	l->stored = stored;
}

void hl_listings_free(struct hl_listings *l)
{
	if (!l)
		return;
	clear(l);
	free(l->tried);
	free(l);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

/* What else is known of a file: names of its debug file, and lines. Without them the listing is good all the same. */
static void add_debug(struct hl_listings *l, uint32_t number, const char *path, int fd,
		      const struct hl_symd_file *about)
{
	/* Only read. */
	const struct hl_open_file file = {
		.state = HL_FILE_OPEN, .fd = fd, .root = -1, .has_path = true, .path = (char *)path
	};
	struct hl_debug_counts debug = { 0 };
	struct hl_debug_lacks lacks = { 0 };
	struct hl_lines_counts lines = { 0 };

	(void)hl_debug_file_add(l->symd, l->cache, NULL, number, about, &file, &lacks, &debug);
	free(lacks.items);
	if (l->flags & HL_SYMD_WANT_LINES)
		hl_lines_read_file(l->symd, l->cache, NULL, &file, number, LINES_MEMORY, LINES_MS, &lines);
}

static void open_file(struct hl_listings *l, const struct hl_binary *binary, const char *path,
		      uint32_t number, struct tried *ret)
{
	_cleanup_close_ int path_fd = path[0] == '/' ? open(path, O_PATH | O_CLOEXEC) : -1;
	_cleanup_close_ int fd = -1;
	struct hl_symd_file about;
	struct hl_err err = { "" };
	struct stat st;

	if (path_fd >= 0)
		fd = hl_proc_reopen(path_fd, &st);
	if (fd < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "the file is not there any more");
		return;
	}
	if (hl_symd_add_file_cached(l->symd, l->cache, number, fd, &about, &err) < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "%.190s", err.text);
		return;
	}
	ret->good = about.build_id_len == binary->build_id_len &&
		    memcmp(about.build_id, binary->build_id, binary->build_id_len) == 0;
	if (ret->good)
		add_debug(l, number, path, fd, &about);
	else
		(void)snprintf(ret->why, sizeof(ret->why), "the file of that name is another build now");
}

/* By which number symd can read @binary; if it cannot, 0, and why not in *@ret_why. */
static int have_file(struct hl_listings *l, const struct hl_binary *binary, const char *path, uint32_t *ret,
		     const char **ret_why)
{
	struct tried tried = { .id = binary->id };
	int code;

	if (l->opened) {
		*ret = binary->number;
		return 0;
	}
	for (size_t i = 0; i < l->n_tried; i++)
		if (hl_id_equal(l->tried[i].id, binary->id)) {
			*ret = l->tried[i].good ? (uint32_t)i + 1 : 0;
			*ret_why = l->tried[i].why;
			return 0;
		}
	code = hl_grow(&l->tried, &l->cap_tried, l->n_tried + 1, sizeof(tried), UINT32_MAX);
	if (code)
		return code;
	open_file(l, binary, path, (uint32_t)l->n_tried + 1, &tried);
	l->tried[l->n_tried++] = tried;
	*ret = tried.good ? (uint32_t)l->n_tried : 0;
	*ret_why = l->tried[l->n_tried - 1].why;
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------------------- */

/* Rows of sampled instructions alone, those that are in no listing. */
static int list_sampled(struct hl_listings *l, const struct hl_hot *hot, const bool *placed, const char *why)
{
	struct hl_listing *part = &l->parts[l->n];

	part->rows = calloc(hot->n_insns + 1, sizeof(*part->rows));
	if (!part->rows)
		return -ENOMEM;
	for (size_t i = 0; i < hot->n_insns; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(l->profile, hot->insns[i].frame);

		if (placed[i])
			continue;
		part->rows[part->n++] = (struct hl_listing_row){ .address = frame->address,
								 .samples = hot->insns[i].samples,
								 .text = frame->name,
								 .text_len = frame->name_len };
	}
	part->start = l->n ? 0 : hl_profile_get_frame(l->profile, hot->function)->address;
	part->why = why;
	l->n++;
	return 0;
}

/* ---- from where the code lies now ----------------------------------------------------------------------- */

/* Where in its file the instruction of @frame lies; UINT64_MAX: not known. */
static uint64_t place_of(const struct hl_binary *binary, const struct hl_frame *frame)
{
	const struct hl_segment *s = hl_binary_segment(binary, frame->address);

	return s ? frame->address - s->address + s->offset : UINT64_MAX;
}

/*
 * Where in a listing, by its addresses, the instruction of @frame stands; UINT64_MAX: not in it. Code of a file is
 * known by its place in there, other code, of no @binary, by its address.
 */
static uint64_t address_in(const struct hl_symd_list *head, const struct hl_binary *binary,
			   const struct hl_frame *frame)
{
	uint64_t start = binary ? head->where : head->function;
	uint64_t place = binary ? place_of(binary, frame) : frame->address;

	return place < start || place - start >= head->size ? UINT64_MAX : place - start + head->function;
}

/* Puts the samples of @hot that lie in the newest part there. */
static void place_samples(struct hl_listings *l, const struct hl_hot *hot, const struct hl_binary *binary,
			  bool *placed)
{
	struct hl_listing *part = &l->parts[l->n - 1];
	const struct hl_symd_list *head = &l->behind[l->n - 1].head;

	for (size_t i = 0; i < hot->n_insns; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(l->profile, hot->insns[i].frame);
		uint64_t at = address_in(head, binary, frame);
		struct hl_listing_row *row = NULL;

		if (!placed[i] && at != UINT64_MAX)
			row = hl_listing_find(part, at);
		if (!row)
			continue;
		hl_listing_row_add(row, frame, hot->insns[i].samples);
		placed[i] = true;
	}
}

/* Lists the code around the first sample that is in no listing yet. -ENOENT, -ENODATA: there is none. */
static int list_from_file(struct hl_listings *l, const struct hl_hot *hot, const struct hl_binary *binary,
			  uint32_t number, bool *placed, size_t first, struct hl_err *err)
{
	struct hl_symd_list_query query = { .place = HL_SYMD_FILE, .file = number };
	_cleanup_free_ uint64_t *places = malloc(hot->n_insns * sizeof(*places));
	struct hl_symd_listing *code = &l->behind[l->n];
	int r;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < hot->n_insns && query.n_sampled < HL_SYMD_SAMPLED_MAX; i++) {
		uint64_t place = place_of(binary, hl_profile_get_frame(l->profile, hot->insns[i].frame));

		if (place == UINT64_MAX || (query.n_sampled && place <= places[query.n_sampled - 1]))
			continue;
		places[query.n_sampled++] = place;
	}
	query.where = place_of(binary, hl_profile_get_frame(l->profile, hot->insns[first].frame));
	if (query.where == UINT64_MAX)
		return -ENOENT;
	r = hl_symd_list_function(l->symd, &query, places, NULL, l->flags, code, err);
	if (r == 0)
		r = hl_listing_from_symd(code, &l->parts[l->n]);
	if (r == 0) {
		l->n++;
		place_samples(l, hot, binary, placed);
	}
	return r;
}

/* The same of code that is in no file, from where it was run. */
static int list_living(struct hl_listings *l, const struct hl_hot *hot, bool *placed, size_t first,
		       struct hl_err *err)
{
	const struct hl_frame *insn = hl_profile_get_frame(l->profile, hot->insns[first].frame);
	_cleanup_free_ uint64_t *places = malloc(hot->n_insns * sizeof(*places));
	struct hl_living_function f = { .bytes = NULL };
	struct hl_symd_list_query query;
	int r = places ? hl_living_code_read(l->living, insn, insn->kernel, &f, err) : -ENOMEM;

	if (r)
		return r;
	query = (struct hl_symd_list_query){ .where = f.where,
					     .bytes_at = f.where,
					     .n_bytes = (uint32_t)f.size,
					     .place = f.place,
					     .file = f.process };
	for (size_t i = 0; i < hot->n_insns && query.n_sampled < HL_SYMD_SAMPLED_MAX; i++) {
		uint64_t at = hl_profile_get_frame(l->profile, hot->insns[i].frame)->address - f.start;

		/* They are in the order of their addresses, and one may have run as several. */
		if (at < f.size && (!query.n_sampled || f.where + at > places[query.n_sampled - 1]))
			places[query.n_sampled++] = f.where + at;
	}
	r = hl_symd_list_function(l->symd, &query, places, f.bytes, l->flags, &l->behind[l->n], err);
	free(f.bytes);
	if (r == 0)
		r = hl_listing_from_symd(&l->behind[l->n], &l->parts[l->n]);
	if (r == 0) {
		l->n++;
		place_samples(l, hot, NULL, placed);
	}
	return r;
}

/* ---- from a store --------------------------------------------------------------------------------------- */

static bool covers(const struct hl_body *body, uint64_t address)
{
	return address - body->address < body->size;
}

/* The part that lists @body, made if need be. -ENOENT: no sample that is left lies in it, or there is no room. */
static int part_of(struct hl_listings *l, const struct hl_hot *hot, const struct hl_body *body, uint32_t file,
		   const bool *placed, size_t *ret, struct hl_err *err)
{
	const struct hl_frame *function = hl_profile_get_frame(l->profile, hot->function);
	const struct hl_binary *binary = hl_profile_binary(l->profile, function->binary);
	const struct hl_segment *s = binary ? hl_binary_segment(binary, body->address) : NULL;
	_cleanup_free_ uint64_t *places = malloc((hot->n_insns + 1) * sizeof(*places));
	bool any = false;
	size_t n = 0;
	int r;

	for (*ret = 0; *ret < l->n; ++*ret)
		if (l->of[*ret] == body)
			return 0;
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < hot->n_insns && n < HL_SYMD_SAMPLED_MAX; i++) {
		uint64_t at = hl_profile_get_frame(l->profile, hot->insns[i].frame)->address;

		any |= !placed[i] && covers(body, at);
		if (covers(body, at) && (!n || at > places[n - 1]))
			places[n++] = at;
	}
	if (!any || l->n == MOST_PARTS - 1)
		return -ENOENT;
	r = hl_stored_code_list(l->stored, body, s ? file : 0, s ? body->address - s->address + s->offset : 0,
				places, n, l->flags, &l->behind[l->n], err);
	if (r == 0)
		r = hl_listing_from_symd(&l->behind[l->n], &l->parts[l->n]);
	if (r == 0) {
		l->of[l->n++] = body;
		r = hl_stored_code_name_targets(l->stored, function, body, &l->parts[l->n - 1]);
	}
	return r;
}

static void drop_last_part(struct hl_listings *l)
{
	l->n--;
	free(l->parts[l->n].rows);
	l->parts[l->n] = (struct hl_listing){ .rows = NULL };
	hl_symd_listing_done(&l->behind[l->n]);
	l->of[l->n] = NULL;
}

/* Puts samples there that are left; of other instructions than @body has only if @differing. */
static int list_body(struct hl_listings *l, const struct hl_hot *hot, const struct hl_body *body,
		     uint32_t file, bool differing, bool *placed)
{
	size_t number, before = l->n, n = 0;
	int r = part_of(l, hot, body, file, placed, &number, &l->reason);

	for (size_t i = 0; r == 0 && i < hot->n_insns; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(l->profile, hot->insns[i].frame);
		struct hl_listing_row *row = !placed[i] && covers(body, frame->address)
						     ? hl_listing_find(&l->parts[number], frame->address)
						     : NULL;

		if (!row || !(differing || hl_listing_row_ran(row, frame)))
			continue;
		hl_listing_row_add(row, frame, hot->insns[i].samples);
		row->kept = true;
		placed[i] = true;
		n++;
	}
	if (r == 0 && !n && l->n > before)
		drop_last_part(l);
	return r == -ENOMEM ? r : 0;
}

/* A function that was made anew has several bodies: each sample goes to one that has what ran, if there is one. */
static int list_stored(struct hl_listings *l, const struct hl_hot *hot, uint32_t file, bool *placed)
{
	const struct hl_frame *function = hl_profile_get_frame(l->profile, hot->function);
	const struct hl_body *body;
	int r = 0;

	for (int differing = 0; differing < 2; differing++)
		for (body = hl_stored_code_next(l->stored, function, NULL); body && !r;
		     body = hl_stored_code_next(l->stored, function, body))
			r = list_body(l, hot, body, file, differing, placed);
	return r;
}

/* ---- one function ---------------------------------------------------------------------------------------- */

static bool is_living(const struct hl_frame *function)
{
	return function->kind == HL_FRAME_KERNEL || function->kind == HL_FRAME_JIT;
}

static const char *why_no_file(const struct hl_frame *function)
{
	if (function->kind == HL_FRAME_KERNEL)
		return "the kernel's code is only read where it was recorded";
	if (function->kind == HL_FRAME_JIT)
		return "the code is in no file";
	return "the file could not be opened when it was sampled";
}

static size_t next_unplaced(const struct hl_hot *hot, const bool *placed, size_t at)
{
	while (at < hot->n_insns && placed[at])
		at++;
	return at;
}

/* Lists as much as can be from where the code lies now; what is left remains unplaced, for the reason *@why. */
static int list_code(struct hl_listings *l, const struct hl_hot *hot, uint32_t file, bool have, bool *placed,
		     const char **why)
{
	const struct hl_frame *function = hl_profile_get_frame(l->profile, hot->function);
	const struct hl_binary *binary = hl_profile_binary(l->profile, function->binary);
	size_t first;
	int code;

	while ((first = next_unplaced(hot, placed, 0)) < hot->n_insns && have && l->n < MOST_PARTS - 1) {
		l->reason.text[0] = '\0';
		code = is_living(function) ? list_living(l, hot, placed, first, &l->reason)
					   : list_from_file(l, hot, binary, file, placed, first, &l->reason);
		if (code == 0 && !placed[first])
			code = -EPROTO; /* symd did as it was asked: never */
		if (code == -ENOMEM)
			return code;
		have = code == 0;
		if (code)
			*why = l->reason.text[0] ? l->reason.text
						 : "no executable segment of the file covers it";
	}
	return 0;
}

int hl_listings_get(struct hl_listings *l, const struct hl_hot *hot, const struct hl_listing **ret,
		    size_t *ret_n, struct hl_err *err)
{
	const struct hl_frame *function = hl_profile_get_frame(l->profile, hot->function);
	const struct hl_binary *binary = hl_profile_binary(l->profile, function->binary);
	_cleanup_free_ bool *placed = calloc(hot->n_insns + 1, sizeof(*placed));
	const char *why = why_no_file(function);
	bool have = is_living(function) && l->living != NULL;
	uint32_t file = 0;
	int code = 0;

	clear(l);
	if (!placed)
		return hl_err_set(err, -ENOMEM, "no memory for a listing");
	if (!is_living(function) && binary) {
		code = have_file(l, binary, function->module, &file, &why);
		have = file != 0;
	}
	if (!code && l->stored)
		code = list_stored(l, hot, file, placed);
	if (l->stored && !have)
		why = hl_stored_code_why(l->stored, function);
	if (!code)
		code = list_code(l, hot, file, have, placed, &why);
	if (!code && (next_unplaced(hot, placed, 0) < hot->n_insns || !l->n))
		code = list_sampled(l, hot, placed, why);
	if (code)
		return hl_err_errno(err, code, "cannot list a function");
	for (size_t i = 0; i < l->n && !hl_profile_meta(l->profile)->precise; i++)
		hl_listing_mark(&l->parts[i]);
	*ret = l->parts;
	*ret_n = l->n;
	return 0;
}

bool hl_listings_cover(const struct hl_listing *parts, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++) {
		if (parts[i].size && address >= parts[i].start && address - parts[i].start < parts[i].size)
			return true;
		for (size_t k = 0; k < parts[i].n; k++)
			if (parts[i].rows[k].address == address)
				return true;
	}
	return false;
}
