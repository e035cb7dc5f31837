// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"
#include "render/render.h"

/*
 * "root;frame;…;frame;instruction [0xADDRESS] count", a line a stack, in the order of the tree: by name at
 * each level, instructions by address. The FlameGraph tools, inferno, speedscope and our own import read it:
 * they split a line at its last blank and the stack at each ';', so a name must hold neither ';' nor a
 * newline.
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

static void add_frame(struct hl_str *line, struct hl_str *name, const struct hl_frame *frame)
{
	hl_str_clear(name);
	hl_render_name(name, frame);
	if (name->failed)
		line->failed = true;
	else
		add_escaped(line, name->data, name->len);
	if (frame->kind == HL_FRAME_INSN)
		hl_str_addf(line, " [0x%" PRIx64 "]", frame->address);
	hl_str_adds(line, hl_render_suffix(frame));
}

static int write_folded(const struct hl_profile *profile, const struct hl_render_options *options, FILE *out,
			struct hl_err *err)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	/* Where the line ends with the frame of each depth: a walk in preorder only ever changes its end. */
	_cleanup_free_ size_t *ends = calloc((size_t)hl_render_depth(profile) + 1, sizeof(*ends));
	_cleanup_str_ struct hl_str line = { 0 }, name = { 0 };

	if (!ends)
		return hl_err_errno(err, -ENOMEM, "cannot write the folded output");
	if (nodes[0].self) /* an empty stack still counts */
		(void)fprintf(out, "all %" PRIu64 "\n", nodes[0].self);
	for (i = 1; i < n; i++) {
		uint32_t depth = nodes[i].depth;

		line.len = ends[depth - 1];
		if (depth > 1)
			hl_str_addc(&line, ';');
		add_frame(&line, &name, hl_profile_get_frame(profile, nodes[i].frame));
		if (line.failed)
			return hl_err_errno(err, -ENOMEM, "cannot write the folded output");
		ends[depth] = line.len;
		if (!nodes[i].self)
			continue;
		(void)fwrite(line.data, 1, line.len, out);
		(void)fprintf(out, " %" PRIu64 "\n", nodes[i].self);
	}
	return hl_render_flush(out, "folded", err);
}

const struct hl_writer hl_writer_folded = {
	.format = "folded",
	.summary = "one line a stack: frames joined by ';', the instruction, the samples",
	.write = write_folded,
};
