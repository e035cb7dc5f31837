// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "symbol/symbol.h"

/*
 * .gnu_debugdata: an xz stream with an ELF file whose .symtab has the functions that .dynsym has not
 * ("Debugging with GDB", 18.4, "MiniDebugInfo"). Fedora and its relatives put it into every file.
 */

enum {
	MAX_COMPRESSED = 64 << 20,
	MAX_EXPANDED = 64 << 20,
	/* What the decoder itself takes is mostly its dictionary: 64 MiB at level 9. */
	MAX_DECODER = 72 << 20,
	FIRST_OUTPUT = 256 * 1024,
};

/* Decodes the stream at @in. -E2BIG: it is larger than MAX_EXPANDED; -EBADMSG: damaged. */
static int expand(lzma_stream *stream, const uint8_t *in, size_t len, uint8_t **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *out = NULL;
	size_t cap = 0, done = 0;
	lzma_ret status = LZMA_OK;
	int r;

	stream->next_in = in;
	stream->avail_in = len;
	while (status == LZMA_OK) {
		if (done == MAX_EXPANDED)
			return -E2BIG;
		r = hl_grow(&out, &cap, done < FIRST_OUTPUT ? FIRST_OUTPUT : done + 1, 1, MAX_EXPANDED);
		if (r < 0)
			return r;
		if (cap > MAX_EXPANDED)
			cap = MAX_EXPANDED;
		stream->next_out = out + done;
		stream->avail_out = cap - done;
		status = lzma_code(stream, LZMA_FINISH);
		done = cap - stream->avail_out;
	}
	if (status == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (status == LZMA_MEMLIMIT_ERROR)
		return -E2BIG;
	if (status != LZMA_STREAM_END || done == 0)
		return -EBADMSG;
	*ret = TAKE_PTR(out);
	*ret_len = done;
	return 0;
}

static int open_expanded(const struct hl_elf *elf, const struct hl_elf_section *section, struct hl_elf **ret)
{
	_cleanup_(lzma_end) lzma_stream stream = LZMA_STREAM_INIT;
	_cleanup_free_ uint8_t *in = NULL;
	uint8_t *out;
	size_t len, out_len;
	int r = hl_elf_load(elf, section, MAX_COMPRESSED, &in, &len, NULL);

	if (r < 0)
		return r;
	if (lzma_stream_decoder(&stream, MAX_DECODER, 0) != LZMA_OK)
		return -ENOMEM;
	r = expand(&stream, in, len, &out, &out_len);
	if (r < 0)
		return r;
	return hl_elf_open_bytes(out, out_len, ".gnu_debugdata", ret, NULL);
}

int hl_builder_open_debugdata(struct hl_builder *b)
{
	const struct hl_elf_section *section = hl_elf_section_named(b->elf, ".gnu_debugdata");
	int r;

	/* A whole debug file has all that it has. */
	if (!section || b->debug)
		return 0;
	r = open_expanded(b->elf, section, &b->debugdata);
	if (r < 0 && r != -ENOMEM)
		b->draft.refused |= HL_SYMBOLS_REFUSED_DEBUGDATA;
	return r == -ENOMEM ? r : 0;
}
