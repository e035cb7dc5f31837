// SPDX-License-Identifier: BSD-2-Clause
#include "command/place_frames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "command/named_files.h"
#include "command/places.h"
#include "command/tiers.h"
#include "profile/profile.h"
#include "symd/client.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	/* "/memfd:NAME" is no path: its name may hold anything. */
	if (hl_starts_with(path, "/memfd:"))
		return path + 1;
	return slash && slash[1] ? slash + 1 : path;
}

static const char *module_of(const struct hl_symd_query *q, const struct hl_named_file *file)
{
	if (q->place == HL_SYMD_KERNEL)
		return "kernel";
	if (q->place == HL_SYMD_RAW)
		return "jit";
	return file->module ? file->module : "unknown";
}

static struct hl_id binary_of(const struct hl_symd_query *q, const struct hl_named_file *file)
{
	return q->place == HL_SYMD_FILE && file->known ? file->binary : (struct hl_id){ 0, 0 };
}

/* An instruction that may be another one at the same place is what its bytes are, beside where it is. */
static struct hl_id id_of_living(const struct hl_id *binary, const struct hl_symd_query *q)
{
	uint8_t bytes[sizeof(*binary) + sizeof(q->code)];

	memcpy(bytes, binary, sizeof(*binary));
	memcpy(bytes + sizeof(*binary), q->code, sizeof(q->code));
	return hl_id_of(bytes, sizeof(bytes));
}

static bool in_vdso(const struct hl_symd_query *q)
{
	return q->place == HL_SYMD_FILE && (q->file == HL_FILE_VDSO || q->file == HL_FILE_VDSO32);
}

static const uint8_t kind_of_place[] = {
	[HL_SYMD_FILE] = HL_FRAME_USER, [HL_SYMD_KERNEL] = HL_FRAME_KERNEL, [HL_SYMD_RAW] = HL_FRAME_JIT
};

/*
 * Functions have their lines behind their names only where that was asked for: else lines are a tier. In a
 * detailed profile they are no part of the name.
 */
static void set_line(const struct hl_places *places, struct hl_str *name, struct hl_frame *frame,
		     const char *path, size_t len, uint32_t line)
{
	if (places->resolve->detailed) {
		frame->file = path;
		frame->file_len = len;
		frame->line = len ? line : 0;
	} else if (places->resolve->lines) {
		hl_lines_append(name, path, len, line);
	}
}

/*
 * The functions that were inlined at a place are frames of their own, below @function. Where each was called is
 * known of the one inside it; the innermost one is where the instruction comes from.
 */
static int make_inlined(struct hl_places *places, struct hl_place *place,
			const struct hl_symd_answers *answers, const struct hl_symd_answer *a,
			const struct hl_frame *function, struct hl_profile *profile, struct hl_str *text)
{
	const struct hl_symd_inlined *inlined = answers->inlined + a->first_inlined;
	struct hl_frame frame = *function;
	int code = hl_grow(&places->inlined, &places->cap_inlined, places->n_inlined + a->n_inlined,
			   sizeof(*places->inlined), UINT32_MAX);

	place->first_inlined = (uint32_t)places->n_inlined;
	place->n_inlined = a->n_inlined;
	frame.kind = HL_FRAME_INLINED;
	frame.file_len = frame.line = 0;
	for (uint32_t i = a->n_inlined; i-- > 0 && !code;) {
		hl_str_clear(text);
		hl_str_add_unmarked(text, answers->strings + inlined[i].name, inlined[i].name_len);
		if (i > 0)
			set_line(places, text, &frame, answers->strings + inlined[i - 1].file,
				 inlined[i - 1].file_len, inlined[i - 1].line);
		else
			set_line(places, text, &frame, answers->strings + a->file, a->file_len, a->line);
		code = hl_str_status(text);
		frame.name = text->data;
		frame.name_len = text->len;
		if (!code)
			code = hl_profile_frame(profile, &frame, &places->inlined[places->n_inlined++]);
	}
	return code;
}

/* Where in the source of the function with the code a place is: at the outermost call, if that was inlined. */
static void add_line(const struct hl_places *places, struct hl_str *text, struct hl_frame *frame,
		     const struct hl_symd_answers *answers, const struct hl_symd_answer *a)
{
	const struct hl_symd_inlined *outermost;

	if (a->n_inlined) {
		outermost = &answers->inlined[a->first_inlined + a->n_inlined - 1];
		set_line(places, text, frame, answers->strings + outermost->file, outermost->file_len,
			 outermost->line);
	} else {
		set_line(places, text, frame, answers->strings + a->file, a->file_len, a->line);
	}
}

/* What stands in place of a function's name: where it is, but of made code, of which that says nothing. */
static void add_place_name(struct hl_str *out, const struct hl_symd_query *q, const char *module,
			   uint64_t address)
{
	if (q->place == HL_SYMD_RAW)
		hl_str_adds(out, "[jit]");
	else if (in_vdso(q)) /* its own name has the brackets; a file called so gets a second pair */
		hl_str_addf(out, "%.*s+0x%llx]", (int)strlen(module) - 1, module,
			    (unsigned long long)address);
	else
		hl_str_addf(out, "[%s+0x%llx]", module, (unsigned long long)address);
}

/* The frame of the function with the code. @ret is as it was added, but for its name. */
static int make_function(const struct hl_places *places, struct hl_place *place,
			 const struct hl_symd_answers *answers, const struct hl_symd_answer *a,
			 const struct hl_named_file *file, struct hl_profile *profile, struct hl_str *text,
			 struct hl_frame *ret)
{
	const struct hl_symd_query *q = &place->query;

	*ret = (struct hl_frame){ .kind = kind_of_place[q->place], .address = a->function };
	/* Made code moves, and is made again elsewhere: what stays is its name. */
	if (q->place == HL_SYMD_RAW)
		ret->address = 0;
	if (places->resolve->detailed) {
		ret->address = a->address;
		ret->offset = a->address - a->function;
	}
	ret->module = module_of(q, file);
	ret->module_len = strlen(ret->module);
	if (a->module_len) {
		ret->module = answers->strings + a->module;
		ret->module_len = a->module_len;
	}
	ret->binary = binary_of(q, file);
	hl_str_clear(text);
	if (a->name_len)
		hl_str_add_unmarked(text, answers->strings + a->name, a->name_len);
	else
		add_place_name(text, q, base_name(ret->module), a->function);
	add_line(places, text, ret, answers, a);
	ret->name = text->data;
	ret->name_len = text->len;
	return hl_str_status(text) ? -ENOMEM : hl_profile_frame(profile, ret, &place->function);
}

/* The frame of the innermost loop around a sampled place of @function. */
static int make_loop(struct hl_places *places, struct hl_place *place, const struct hl_symd_answer *a,
		     const struct hl_frame *function, struct hl_profile *profile)
{
	struct hl_frame frame = *function;
	struct hl_loop loop;
	char name[64];
	int code;

	place->loop = HL_INDEX_NONE;
	if (!places->tiers || !(place->query.flags & HL_SYMD_WANT_TEXT))
		return 0;
	code = hl_tiers_loop(places->tiers, &place->query, a, &loop);
	place->unlisted = code == -ENODATA;
	if (code <= 0)
		return code == -ENODATA ? 0 : code;
	(void)snprintf(name, sizeof(name), "[loop 0x%llx-0x%llx]", (unsigned long long)loop.start,
		       (unsigned long long)loop.end);
	frame.kind = HL_FRAME_PART;
	frame.address = loop.start;
	frame.offset = 0;
	frame.name = name;
	frame.name_len = strlen(name);
	return hl_profile_frame(profile, &frame, &place->loop);
}

/* The frame of the source line of a sampled place of @function. */
static int make_line(struct hl_places *places, struct hl_place *place, const struct hl_symd_answers *answers,
		     const struct hl_symd_answer *a, const struct hl_frame *function,
		     struct hl_profile *profile, struct hl_str *text)
{
	struct hl_frame frame = *function;

	place->line = HL_INDEX_NONE;
	if (!places->resolve->line_tier || !(place->query.flags & HL_SYMD_WANT_TEXT) || !a->file_len)
		return 0;
	hl_str_clear(text);
	hl_str_addc(text, '[');
	hl_lines_add(text, answers->strings + a->file, a->file_len, a->line);
	hl_str_addc(text, ']');
	frame.kind = HL_FRAME_PART;
	frame.address = frame.offset = 0; /* it is its name */
	frame.name = text->data;
	frame.name_len = text->len;
	return hl_str_status(text) ? -ENOMEM : hl_profile_frame(profile, &frame, &place->line);
}

/* The frame of the instruction itself. */
static int make_insn(struct hl_place *place, const struct hl_symd_answers *answers,
		     const struct hl_symd_answer *a, const struct hl_frame *function,
		     struct hl_profile *profile, struct hl_str *text)
{
	const struct hl_symd_query *q = &place->query;
	struct hl_frame frame = *function;

	frame.kind = HL_FRAME_INSN;
	frame.kernel = q->place == HL_SYMD_KERNEL;
	if ((q->flags & HL_SYMD_LIVING) && q->code_len)
		frame.binary = id_of_living(&frame.binary, q);
	frame.insn_class = a->insn_class;
	frame.address = a->address;
	frame.offset = a->address - a->function;
	hl_str_clear(text);
	if (a->text_len)
		hl_str_add(text, answers->strings + a->text, a->text_len);
	else
		hl_str_adds(text, "(no code bytes)");
	if (a->flags & HL_SYMD_IRQS_OFF)
		hl_str_adds(text, " (irqs were off)");
	if (a->flags & HL_SYMD_DIFFERS)
		hl_str_adds(text, " (the file differs)");
	frame.name = text->data;
	frame.name_len = text->len;
	return hl_str_status(text) ? -ENOMEM : hl_profile_frame(profile, &frame, &place->insn);
}

int hl_place_frames(struct hl_places *places, struct hl_place *place, const struct hl_symd_answers *answers,
		    const struct hl_symd_answer *a, const struct hl_named_file *file,
		    struct hl_profile *profile, struct hl_str *text)
{
	struct hl_frame function;
	int code = make_function(places, place, answers, a, file, profile, text, &function);

	if (!code && a->n_inlined)
		code = make_inlined(places, place, answers, a, &function, profile, text);
	if (!code)
		code = make_loop(places, place, a, &function, profile);
	if (!code)
		code = make_line(places, place, answers, a, &function, profile, text);
	if (!code && (place->query.flags & HL_SYMD_WANT_TEXT))
		code = make_insn(place, answers, a, &function, profile, text);
	return code;
}
