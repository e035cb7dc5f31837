// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "profile/diff.h"
#include "render/common.h"
#include "render/render.h"

/*
 * "root;frame;…;frame;instruction [0xADDRESS] count", a line a stack, in the order of the tree: by name at
 * each level, instructions by address. The FlameGraph tools, inferno, speedscope and our own import read it:
 * they split a line at its last blank and the stack at each ';', so a name must hold neither ';' nor a
 * newline.
 *
 * A comparison has two counts a line, before and after, as difffolded.pl of the FlameGraph tools writes them, and
 * an instruction's offset in its function for its address: "instruction [+0x4d] 12 15".
 *
 * Frames of different addresses can have one name, and then stacks of different nodes one text. Such nodes
 * become one line, where the first of them stands: which they are is found before anything is written, by an
 * id of the text that grows with the depth.
 */

static void add_escaped(struct hl_str *line, const char *clean, size_t len)
{
	const char *end = clean + len, *semicolon;

	for (; (semicolon = memchr(clean, ';', (size_t)(end - clean))); clean = semicolon + 1) {
		hl_str_add(line, clean, (size_t)(semicolon - clean));
		hl_str_adds(line, "\\x3b");
	}
	hl_str_add(line, clean, (size_t)(end - clean));
}

static void add_frame(struct hl_str *line, struct hl_str *name, const struct hl_frame *frame, bool diff)
{
	hl_str_clear(name);
	hl_render_name(name, frame);
	if (name->failed)
		line->failed = true;
	else
		add_escaped(line, name->data, name->len);
	if (frame->kind == HL_FRAME_INSN)
		hl_str_addf(line, diff ? " [+0x%" PRIx64 "]" : " [0x%" PRIx64 "]",
			    diff ? frame->offset : frame->address);
	hl_str_adds(line, hl_render_suffix(frame));
}

/* What pass one finds: an id of each node's line, and the samples of each line at its first node. */
struct lines {
	struct hl_id *ids;
	uint64_t (*counts)[2]; /* the second in a comparison alone */
	struct hl_index first;
	bool diff;
};

static void lines_done(struct lines *lines)
{
	free(lines->ids);
	free(lines->counts);
	hl_index_done(&lines->first);
}

struct wanted_line {
	const struct hl_id *ids;
	struct hl_id id;
};

static int same_line(const void *ctx, uint32_t node)
{
	const struct wanted_line *w = ctx;

	return hl_id_equal(w->ids[node], w->id);
}

/* The ids of the texts of all frames, to be released with free(). NULL without memory. */
static struct hl_id *frame_ids(const struct hl_profile *profile, bool diff)
{
	uint32_t n = hl_profile_n_frames(profile);
	_cleanup_free_ struct hl_id *ids = calloc((size_t)n + 1, sizeof(*ids));
	_cleanup_str_ struct hl_str text = { 0 }, name = { 0 };

	for (uint32_t i = 0; i < n && ids; i++) {
		hl_str_clear(&text);
		add_frame(&text, &name, hl_profile_get_frame(profile, i), diff);
		if (text.failed)
			return NULL;
		ids[i] = hl_id_of(text.data, text.len);
	}
	return TAKE_PTR(ids);
}

static int join_lines(const struct hl_profile *profile, struct lines *ret)
{
	uint32_t n, i, first;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	_cleanup_free_ struct hl_id *frames = frame_ids(profile, ret->diff);

	ret->ids = calloc(n, sizeof(*ret->ids));
	ret->counts = calloc(n, sizeof(*ret->counts));
	if (!frames || !ret->ids || !ret->counts)
		return -ENOMEM;
	for (i = 1; i < n; i++) {
		struct hl_id pair[2] = { ret->ids[nodes[i].parent], frames[nodes[i].frame] };
		struct wanted_line wanted = { ret->ids, hl_id_of(pair, sizeof(pair)) };

		ret->ids[i] = wanted.id;
		if (!nodes[i].self && !(ret->diff && nodes[i].self_weight))
			continue;
		first = hl_index_find(&ret->first, wanted.id.lo, same_line, &wanted);
		if (first == HL_INDEX_NONE && hl_index_add(&ret->first, wanted.id.lo, i))
			return -ENOMEM;
		first = first == HL_INDEX_NONE ? i : first;
		ret->counts[first][0] += nodes[i].self;
		ret->counts[first][1] += ret->diff ? nodes[i].self_weight : 0;
	}
	return 0;
}

static void write_counts(const struct lines *lines, uint64_t first, uint64_t second, FILE *out)
{
	if (lines->diff)
		(void)fprintf(out, " %" PRIu64 " %" PRIu64 "\n", first, second);
	else
		(void)fprintf(out, " %" PRIu64 "\n", first);
}

static int write_lines(const struct hl_profile *profile, const struct lines *lines, FILE *out)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	/* Where the line ends with the frame of each depth: a walk in preorder only ever changes its end. */
	_cleanup_free_ size_t *ends = calloc((size_t)hl_render_depth(profile) + 1, sizeof(*ends));
	_cleanup_str_ struct hl_str line = { 0 }, name = { 0 };

	if (!ends)
		return -ENOMEM;
	if (nodes[0].self || (lines->diff && nodes[0].self_weight)) { /* an empty stack still counts */
		(void)fputs("all", out);
		write_counts(lines, nodes[0].self, nodes[0].self_weight, out);
	}
	for (i = 1; i < n; i++) {
		uint32_t depth = nodes[i].depth;

		line.len = ends[depth - 1];
		if (depth > 1)
			hl_str_addc(&line, ';');
		add_frame(&line, &name, hl_profile_get_frame(profile, nodes[i].frame), lines->diff);
		if (line.failed)
			return -ENOMEM;
		ends[depth] = line.len;
		if (!lines->counts[i][0] && !lines->counts[i][1])
			continue;
		(void)fwrite(line.data, 1, line.len, out);
		write_counts(lines, lines->counts[i][0], lines->counts[i][1], out);
	}
	return 0;
}

static int write_all(const struct hl_profile *profile, bool diff, FILE *out, struct hl_err *err)
{
	_cleanup_(lines_done) struct lines lines = { .diff = diff };
	int code = join_lines(profile, &lines);

	if (!code)
		code = write_lines(profile, &lines, out);
	if (code)
		return hl_err_errno(err, code, "cannot write the folded output");
	return hl_render_flush(out, "folded", err);
}

static int write_folded(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
			struct hl_err *err)
{
	return write_all(profile, /* diff= */ false, out, err);
}

static int write_folded_diff(const struct hl_diff *diff, const struct hl_render_options *options, FILE *out,
			     struct hl_err *err)
{
	return write_all(diff->tree, /* diff= */ true, out, err);
}

const struct hl_writer hl_writer_folded = {
	.format = "folded",
	.summary = "one line a stack: frames joined by ';', the instruction, the samples",
	.write = write_folded,
	.write_diff = write_folded_diff,
};
