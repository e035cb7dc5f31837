// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"
#include "render/render.h"

/*
 * The file format of speedscope (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts): frames, each
 * once, and one profile of form "sampled", whose samples are stacks of frame numbers, root first, each with its
 * weight. It is of the whole host, the processes its first frames, so that shares are those of the other
 * outputs. Of one text there may be frames of several addresses: those stay apart, as frames are numbers.
 */

static void add_name(struct hl_str *out, struct hl_str *text, const struct hl_frame *frame)
{
	hl_str_clear(text);
	hl_render_name(text, frame);
	if (frame->kind == HL_FRAME_INSN)
		hl_str_addf(text, " [0x%" PRIx64 "]", frame->address);
	hl_str_adds(text, hl_render_suffix(frame));
	hl_str_adds(out, "{\"name\":");
	hl_str_add_json(out, text->data ? text->data : "", text->len);
	hl_str_clear(text);
	hl_render_clean(text, frame->module, frame->module_len, HL_RENDER_NAME_MAX);
	if (text->len) {
		hl_str_adds(out, ",\"file\":");
		hl_str_add_json(out, text->data, text->len);
	}
	hl_str_addc(out, '}');
	out->failed |= text->failed;
}

/* Writes what @text holds, and empties it. 0 or -ENOMEM. */
static int put(FILE *out, struct hl_str *text)
{
	if (hl_str_status(text))
		return -ENOMEM;
	(void)fwrite(text->data ? text->data : "", 1, text->len, out);
	hl_str_clear(text);
	return 0;
}

static int write_frames(const struct hl_profile *profile, FILE *out)
{
	_cleanup_str_ struct hl_str line = { 0 }, text = { 0 };
	int code = 0;

	for (uint32_t i = 0; i < hl_profile_n_frames(profile) && !code; i++) {
		hl_str_adds(&line, i ? ",\n" : "\n");
		add_name(&line, &text, hl_profile_get_frame(profile, i));
		code = put(out, &line);
	}
	return code;
}

/* The stacks that have samples of their own, in the order of the tree. */
static int write_samples(const struct hl_profile *profile, FILE *out)
{
	uint32_t n;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	_cleanup_free_ uint32_t *stack = calloc((size_t)hl_render_depth(profile) + 1, sizeof(*stack));
	const char *comma = "\n";

	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		stack[nodes[i].depth] = nodes[i].frame;
		if (!nodes[i].self)
			continue;
		(void)fprintf(out, "%s[", comma);
		/* The root of roots is said only of an empty stack. */
		for (uint32_t depth = i ? 1 : 0; depth <= nodes[i].depth; depth++)
			(void)fprintf(out, "%s%" PRIu32, depth > 1 ? "," : "", stack[depth]);
		(void)fputc(']', out);
		comma = ",\n";
	}
	return 0;
}

static void write_weights(const struct hl_profile *profile, bool time, FILE *out)
{
	uint32_t n;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	const char *comma = "";

	for (uint32_t i = 0; i < n; i++) {
		if (!nodes[i].self)
			continue;
		(void)fprintf(out, "%s%" PRIu64, comma, time ? nodes[i].self_weight : nodes[i].self);
		comma = ",";
	}
}

static int write_head(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out)
{
	_cleanup_str_ struct hl_str title = { 0 }, head = { 0 };

	if (options->title)
		hl_render_clean(&title, options->title, strlen(options->title), HL_RENDER_NAME_MAX);
	else
		hl_render_title(&title, profile);
	hl_str_adds(&head, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	hl_str_add_json(&head, title.data ? title.data : "", title.len);
	hl_str_adds(&head,
		    ",\n\"exporter\":\"hotleaf@" HL_VERSION "\",\n\"activeProfileIndex\":0,\n\"shared\":"
		    "{\"frames\":[");
	head.failed |= title.failed;
	return put(out, &head);
}

/* The first note of what a store holds: "3 windows, 5 s missing: when, and why"; the title says of which time. */
static void add_missing(struct hl_str *name, const struct hl_profile_meta *meta)
{
	static const char missing[] = " s missing";
	const char *at = meta->n_notes ? strstr(meta->notes[0], missing) : NULL;

	if (!at)
		return;
	hl_str_adds(name, ", ");
	hl_render_clean(name, meta->notes[0], (size_t)(at - meta->notes[0]) + strlen(missing),
			HL_RENDER_NAME_MAX);
}

/* The format has no place for a header: what was measured and what is missing is said in the profile's name. */
static int write_profile_head(const struct hl_profile *profile, bool time, FILE *out)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	_cleanup_str_ struct hl_str name = { 0 }, head = { 0 };
	const char *event = meta->event ? meta->event : "unknown event";
	uint32_t n;
	const struct hl_node *all = hl_profile_nodes(profile, &n);

	hl_render_clean(&name, event, strlen(event), HL_RENDER_NAME_MAX);
	hl_str_addf(&name, ", %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " cut, %" PRIu64 " noted",
		    all->total, hl_render_lost(meta, HL_LOSS_LOST), hl_render_lost(meta, HL_LOSS_CUT),
		    hl_render_lost(meta, HL_LOSS_NOTED));
	add_missing(&name, meta);
	hl_str_adds(&head, "\n]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":");
	hl_str_add_json(&head, name.data, name.failed ? 0 : name.len);
	hl_str_addf(&head, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
		    time ? "nanoseconds" : "none", time ? all->total_weight : all->total);
	head.failed |= name.failed;
	return put(out, &head);
}

static int write_speedscope(const struct hl_profile *profile, const struct hl_render_options *options,
			    FILE *out, struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	bool time = meta->unit && strcmp(meta->unit, "nanoseconds") == 0;
	int code = write_head(profile, options, out);

	if (!code)
		code = write_frames(profile, out);
	if (!code)
		code = write_profile_head(profile, time, out);
	if (!code)
		code = write_samples(profile, out);
	if (!code) {
		(void)fputs("\n],\n\"weights\":[", out);
		write_weights(profile, time, out);
		(void)fputs("]}]}\n", out);
	}
	if (code)
		return hl_err_errno(err, code, "cannot write the speedscope output");
	return hl_render_flush(out, "speedscope", err);
}

const struct hl_writer hl_writer_speedscope = {
	.format = "speedscope",
	.extension = "speedscope.json",
	.summary = "stacks for speedscope.app",
	.write = write_speedscope,
};
