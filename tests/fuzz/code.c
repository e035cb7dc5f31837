// SPDX-License-Identifier: BSD-2-Clause
/* needs: base insn tests/fuzzing */
/* Bytes that were executed, they say: the text is printable, and decoding gets on. */
#include <string.h>

#include "fuzzing.h"
#include "insn/insn.h"

static void decode(const uint8_t *data, size_t size, enum hl_insn_mode mode, enum hl_insn_syntax syntax)
{
	struct hl_decoder *decoder = hl_decoder_new(mode, syntax);
	struct hl_insn insn;
	size_t at, i, len;

	MUST(decoder);
	for (at = 0; at < size; at += insn.length) {
		hl_decoder_decode(decoder, data + at, size - at, 0x401000 + at, &insn);
		MUST(insn.length >= 1 && insn.length <= 15 && insn.length <= size - at);
		MUST(memchr(insn.text, 0, sizeof(insn.text)));
		len = strlen(insn.text);
		MUST(len > 0);
		for (i = 0; i < len; i++)
			MUST(insn.text[i] >= ' ' && insn.text[i] <= '~');
	}
	hl_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		decode(data + 1, size - 1, data[0] & 1, data[0] >> 1 & 1);
	return 0;
}
