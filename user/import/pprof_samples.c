// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/pprof.h"
#include "import/proto.h"
#include "profile/profile.h"

/*
 * Samples to stacks. What render/pprof.c put into labels comes back from there: what a stack belongs to, the
 * instruction's text, class and offset in its function. Files of other programs have none of that: their stacks
 * stand under the name of the program, and a leaf with an address is an instruction without text.
 */

/* A stack that is longer, or a file that has more frames in all, is refused: a line costs it two bytes. */
enum { MOST_FRAMES = 1 << 20, MOST_ROOTS = 8 };
#define MOST_FRAMES_IN_ALL (UINT64_C(256) << 20)

enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };

struct sample {
	uint64_t *locations; /* indices, leaf first */
	size_t n, cap;
	uint64_t values[16];
	size_t n_values;
	uint32_t roots[MOST_ROOTS]; /* strings, outermost first */
	size_t n_roots;
	uint32_t insn; /* string; 0: none */
	uint8_t insn_class;
	uint64_t offset;
};

struct import {
	struct hl_pp *pp;
	struct hl_profile *profile;
	bool ours; /* written by render/pprof.c: leaves tell how far they are from their function's start */
	uint32_t *frames; /* of lines, as in pp->lines; HL_INDEX_NONE: not made yet */
	uint32_t *stack;
	size_t cap_stack;
	uint64_t n_in_all;
	struct sample sample;
};

static int damaged(const struct import *im, size_t number, const char *what)
{
	return hl_err_set(im->pp->err, -EBADMSG, "'%s': sample %zu %s", im->pp->path, number, what);
}

/* ---- a sample's message ---------------------------------------------------------------------------------- */

static uint8_t class_of(const struct hl_pp *pp, uint32_t string)
{
	for (unsigned int i = 0; i < HL_N_INSN_CLASSES; i++)
		if (hl_pp_is(pp, string, hl_insn_class_names[i]))
			return (uint8_t)i;
	return 0;
}

static int read_label(struct import *im, struct hl_cursor c, size_t number)
{
	uint64_t key = 0, text = 0, num = 0;
	const struct hl_pp *pp = im->pp;
	struct sample *s = &im->sample;
	struct hl_proto_field f;

	while (hl_proto_next(&c, &f)) {
		if (f.number == LABEL_KEY)
			key = f.value;
		else if (f.number == LABEL_STR)
			text = f.value;
		else if (f.number == LABEL_NUM)
			num = f.value;
	}
	if (c.failed || key >= pp->n_strings || text >= pp->n_strings)
		return damaged(im, number,
			       "has a label that is cut off, or names a string that is not there");
	if (hl_pp_is(pp, (uint32_t)key, "comm") || hl_pp_is(pp, (uint32_t)key, "root")) {
		if (s->n_roots < MOST_ROOTS)
			s->roots[s->n_roots++] = (uint32_t)text;
	} else if (hl_pp_is(pp, (uint32_t)key, "insn")) {
		s->insn = (uint32_t)text;
	} else if (hl_pp_is(pp, (uint32_t)key, "class")) {
		s->insn_class = class_of(pp, (uint32_t)text);
	} else if (hl_pp_is(pp, (uint32_t)key, "offset")) {
		s->offset = num;
	}
	return 0;
}

static int read_locations(struct import *im, struct hl_proto_field *f, size_t number)
{
	struct sample *s = &im->sample;
	uint64_t id;
	uint32_t at;

	while (hl_proto_next_int(f, &id)) {
		at = hl_pp_location(im->pp, id);
		if (at == HL_INDEX_NONE)
			return hl_err_set(im->pp->err, -EBADMSG,
					  "'%s': sample %zu is at location %" PRIu64 ", which is not there",
					  im->pp->path, number, id);
		if (hl_grow(&s->locations, &s->cap, s->n + 1, sizeof(*s->locations), MOST_FRAMES))
			return hl_err_set(im->pp->err, -EFBIG, "'%s': sample %zu has more than %d locations",
					  im->pp->path, number, MOST_FRAMES);
		s->locations[s->n++] = at;
	}
	return f->bytes.failed ? damaged(im, number, "has damaged locations") : 0;
}

static int read_values(struct import *im, struct hl_proto_field *f, size_t number)
{
	struct sample *s = &im->sample;
	uint64_t value;

	while (hl_proto_next_int(f, &value)) {
		if (s->n_values == im->pp->n_types)
			return damaged(im, number, "has more values than there are sample types");
		if (value > INT64_MAX)
			return damaged(im, number,
				       "has a negative value: the difference of two profiles is no profile");
		s->values[s->n_values++] = value;
	}
	return f->bytes.failed ? damaged(im, number, "has damaged values") : 0;
}

static int read_sample(struct import *im, size_t number)
{
	struct sample *s = &im->sample;
	struct hl_cursor c = im->pp->samples[number];
	struct hl_proto_field f;
	int code = 0;

	s->n = s->n_values = s->n_roots = 0;
	s->insn = 0;
	s->insn_class = 0;
	s->offset = 0;
	while (!code && hl_proto_next(&c, &f)) {
		if (f.number == SAMPLE_LOCATION)
			code = read_locations(im, &f, number);
		else if (f.number == SAMPLE_VALUE)
			code = read_values(im, &f, number);
		else if (f.number == SAMPLE_LABEL && f.is_bytes)
			code = read_label(im, f.bytes, number);
	}
	if (!code && c.failed)
		return damaged(im, number, "is cut off or damaged");
	if (!code && s->n_values != im->pp->n_types)
		return damaged(im, number, "has fewer values than there are sample types");
	return code;
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

/* The function that holds the code of a location, or NULL: its outermost line's. */
static struct hl_pp_function *holder_of(const struct import *im, const struct hl_pp_location *l)
{
	return l->n_lines ? &im->pp->functions[im->pp->lines[l->first_line + l->n_lines - 1]] : NULL;
}

/*
 * Learns where the functions of this sample start: exactly, of the leaf's. Of others the least address is taken,
 * which is the start or, in a detailed profile, a call: a number by which they are told apart.
 */
static void learn_starts(struct import *im)
{
	const struct sample *s = &im->sample;

	for (size_t i = 0; i < s->n; i++) {
		const struct hl_pp_location *l = &im->pp->locations[s->locations[i]];
		struct hl_pp_function *function = holder_of(im, l);

		if (!function)
			continue;
		if (i == 0 && s->insn && s->offset <= l->address) {
			function->start = l->address - s->offset;
			function->is_exact = true;
		} else if (!function->is_exact && (!function->start || l->address < function->start))
			function->start = l->address;
	}
}

static void fill_place(const struct import *im, const struct hl_pp_location *l, struct hl_frame *frame)
{
	const struct hl_pp_mapping *m = l->mapping != HL_INDEX_NONE ? &im->pp->mappings[l->mapping] : NULL;
	const struct hl_pp_string *file = m ? &im->pp->strings[m->file] : NULL;
	const struct hl_binary *binary;

	frame->kind = m ? m->kind : l->address >> 63 ? HL_FRAME_KERNEL : HL_FRAME_USER;
	if (!m || m->kind == HL_FRAME_MARK)
		return;
	frame->module = file->text;
	frame->module_len = file->len;
	if (frame->kind == HL_FRAME_KERNEL || frame->kind == HL_FRAME_JIT) {
		/* "[kernel.kallsyms]", "[nf_tables]", "[jit]": as they are called elsewhere. */
		frame->module_len -= file->len >= 2 && file->text[0] == '[' ? 2 : 0;
		frame->module += frame->module_len < file->len;
		if (frame->module_len > 7 && memcmp(frame->module, "kernel.", 7) == 0)
			frame->module_len = 6;
	}
	binary = hl_profile_binary_at(im->profile, m->binary);
	if (binary)
		frame->binary = binary->id;
}

/* Makes the frames of a location's lines. */
static int make_frames(struct import *im, const struct hl_pp_location *l)
{
	const struct hl_pp *pp = im->pp;
	struct hl_frame frame = { 0 };
	int code = 0;

	fill_place(im, l, &frame);
	for (uint32_t k = l->n_lines; k-- > 0 && !code;) {
		uint32_t line = l->first_line + k;
		const struct hl_pp_function *function = &pp->functions[pp->lines[line]];

		if (k + 1 < l->n_lines && frame.kind != HL_FRAME_MARK)
			frame.kind = HL_FRAME_INLINED;
		frame.name = pp->strings[function->name].text;
		frame.name_len = pp->strings[function->name].len;
		frame.address = im->ours && frame.kind != HL_FRAME_MARK ? function->start : 0;
		code = hl_profile_frame(im->profile, &frame, &im->frames[line]);
	}
	return code;
}

/* A place of which only the address is known. */
static int push_nameless(struct import *im, const struct hl_pp_location *l, size_t *n)
{
	struct hl_frame frame = { .address = l->address };
	char name[64];

	fill_place(im, l, &frame);
	(void)snprintf(name, sizeof(name), "[0x%" PRIx64 "]", l->address);
	frame.name = name;
	frame.name_len = strlen(name);
	return hl_profile_frame(im->profile, &frame, &im->stack[(*n)++]);
}

static int push_location(struct import *im, const struct hl_pp_location *l, bool insn_line, size_t *n)
{
	int code = 0;

	if (!l->n_lines)
		return push_nameless(im, l, n);
	if (im->frames[l->first_line + l->n_lines - 1] == HL_INDEX_NONE)
		code = make_frames(im, l);
	for (uint32_t k = l->n_lines; k-- > (insn_line ? 1u : 0u);)
		im->stack[(*n)++] = im->frames[l->first_line + k];
	return code;
}

/* Whether the innermost line of the leaf is the instruction itself, as --pprof-insn writes it. */
static bool has_insn_line(const struct import *im, const struct hl_pp_location *l)
{
	const struct hl_pp *pp = im->pp;
	const struct hl_pp_string *text = &pp->strings[im->sample.insn], *name;

	if (!im->sample.insn || l->n_lines < 2)
		return false;
	name = &pp->strings[pp->functions[pp->lines[l->first_line]].name];
	return name->len > text->len + 4 && memcmp(name->text, text->text, text->len) == 0 &&
	       memcmp(name->text + text->len, " [0x", 4) == 0;
}

static int push_insn(struct import *im, const struct hl_pp_location *l, size_t *n)
{
	static const char unknown[] = "(no text)";
	const struct sample *s = &im->sample;
	const struct hl_pp_string *text = &im->pp->strings[s->insn];
	struct hl_frame frame = { .address = l->address };

	fill_place(im, l, &frame);
	if (frame.kind == HL_FRAME_MARK || !l->address || (im->ours && !s->insn))
		return 0;
	frame.kernel = frame.kind == HL_FRAME_KERNEL;
	frame.kind = HL_FRAME_INSN;
	frame.insn_class = s->insn_class;
	frame.offset = s->offset;
	frame.name = s->insn ? text->text : unknown;
	frame.name_len = s->insn ? text->len : strlen(unknown);
	return hl_profile_frame(im->profile, &frame, &im->stack[(*n)++]);
}

static int push_root(struct import *im, const char *name, size_t len, size_t *n)
{
	struct hl_frame frame = { .kind = HL_FRAME_ROOT, .name = name, .name_len = len };

	return hl_profile_frame(im->profile, &frame, &im->stack[(*n)++]);
}

/* The program: the first mapping. */
static int push_program(struct import *im, size_t *n)
{
	const struct hl_pp *pp = im->pp;
	const struct hl_pp_string *file;
	const char *slash;

	if (!pp->n_mappings || !pp->strings[pp->mappings[0].file].len)
		return push_root(im, "[program]", strlen("[program]"), n);
	file = &pp->strings[pp->mappings[0].file];
	slash = memrchr(file->text, '/', file->len);
	slash = slash ? slash + 1 : file->text;
	return push_root(im, slash, file->len - (size_t)(slash - file->text), n);
}

/* What the stack belongs to. */
static int push_roots(struct import *im, size_t *n)
{
	const struct sample *s = &im->sample;
	int code = 0;

	if (!s->n_roots)
		return im->ours ? 0 : push_program(im, n);
	for (size_t i = 0; i < s->n_roots && !code; i++) {
		const struct hl_pp_string *name = &im->pp->strings[s->roots[i]];

		code = push_root(im, name->text, name->len, n);
	}
	return code;
}

/* Room for the whole stack: its roots, every line, the instruction. */
static int make_room(struct import *im, size_t number)
{
	size_t want = im->sample.n_roots + 3;

	for (size_t i = 0; i < im->sample.n && want <= MOST_FRAMES; i++)
		want += im->pp->locations[im->sample.locations[i]].n_lines + 1;
	im->n_in_all += want;
	if (want > MOST_FRAMES || im->n_in_all > MOST_FRAMES_IN_ALL)
		return hl_err_set(im->pp->err, -EFBIG, "'%s': sample %zu has too many frames", im->pp->path,
				  number);
	if (hl_grow(&im->stack, &im->cap_stack, want, sizeof(*im->stack), SIZE_MAX))
		return hl_err_set(im->pp->err, -ENOMEM, "no memory for the stacks of '%s'", im->pp->path);
	return 0;
}

static int add_sample(struct import *im, size_t number)
{
	struct hl_pp_values v = hl_pp_values(im->pp);
	const struct sample *s = &im->sample;
	uint64_t weight = s->values[v.weight], count;
	size_t n = 0;
	int code = make_room(im, number);

	if (code)
		return code;
	count = v.count != SIZE_MAX ? s->values[v.count] : im->pp->period ? weight / im->pp->period : weight;
	/* A sample that weighs less than the period, as some write, is one all the same. */
	if (v.count == SIZE_MAX && !count && weight)
		count = 1;
	code = push_roots(im, &n);
	for (size_t i = s->n; i-- > 0 && !code;) {
		const struct hl_pp_location *l = &im->pp->locations[s->locations[i]];

		code = push_location(im, l, i == 0 && has_insn_line(im, l), &n);
		if (!code && i == 0)
			code = push_insn(im, l, &n);
	}
	if (!code)
		code = hl_profile_add(im->profile, im->stack, n, count, weight);
	return code ? hl_err_errno(im->pp->err, code, "cannot keep '%s'", im->pp->path) : 0;
}

static void done(struct import *im)
{
	free(im->frames);
	free(im->stack);
	free(im->sample.locations);
}

static bool is_ours(const struct hl_pp *pp)
{
	static const char mark[] = "made by  hotleaf ";

	for (size_t i = 0; i < pp->n_comments; i++) {
		const struct hl_pp_string *s = &pp->strings[pp->comments[i]];

		if (s->len > strlen(mark) && memcmp(s->text, mark, strlen(mark)) == 0)
			return true;
	}
	return false;
}

int hl_pp_add_samples(struct hl_pp *pp, struct hl_profile *profile)
{
	_cleanup_(done) struct import im = { .pp = pp, .profile = profile, .ours = is_ours(pp) };
	int code = 0;

	im.frames = malloc((pp->n_lines + 1) * sizeof(*im.frames));
	if (!im.frames)
		return hl_err_set(pp->err, -ENOMEM, "no memory for '%s'", pp->path);
	memset(im.frames, 0xff, (pp->n_lines + 1) * sizeof(*im.frames)); /* HL_INDEX_NONE */
	for (size_t i = 0; i < pp->n_samples && !code && im.ours; i++) {
		code = read_sample(&im, i);
		if (!code)
			learn_starts(&im);
	}
	for (size_t i = 0; i < pp->n_samples && !code; i++) {
		code = read_sample(&im, i);
		if (!code)
			code = add_sample(&im, i);
	}
	return code;
}
