// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/fuzzing */
/* A file with debug information, which is its own alternate and .dwo file too. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/elf.h"
#include "fuzzing.h"
#include "symbol/inlines.h"

enum { MEMORY = 64 << 20 };

static int use_wanted(void *ctx, const struct hl_inlines_wanted *wanted)
{
	MUST(wanted->name && strlen(wanted->name) > 0 && wanted->id_len > 0);
	MUST(wanted->id_len <= sizeof(wanted->id));
	MUST(!wanted->directory || strlen(wanted->directory) < MEMORY);
	return 0;
}

/* Every range of a table that was built is sound, and its frames' strings are. */
static void use_table(const uint8_t *table, size_t len)
{
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	struct hl_inlines_header header;

	MUST(hl_inlines_check(table, len, NULL) == 0);
	memcpy(&header, table, sizeof(header));
	for (uint32_t i = 0; i < header.n_ranges && i < 4096; i++) {
		uint32_t start;
		size_t n;

		memcpy(&start, table + sizeof(header) + i * sizeof(start), sizeof(start));
		n = hl_inlines_find(table, header.base + start, frames);
		for (size_t k = 0; k < n; k++)
			MUST(strlen(frames[k].function) + strlen(frames[k].file) < len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_inlines_limits limits = { MEMORY, hl_monotonic_ns() + UINT64_C(5000000000) };
	int fd = fuzz_file(data, size);
	struct hl_elf *elf;
	uint8_t *table;
	size_t len;

	if (hl_elf_open(fd, "a file", &elf, NULL) == 0) {
		const struct hl_elf *dwos[1] = { elf };
		struct hl_inlines_source source = { .elf = elf };

		(void)hl_inlines_wants(&source, &limits, use_wanted, NULL, NULL);
		for (int turn = 0; turn < 2; turn++) {
			if (hl_inlines_build(&source, &limits, &table, &len, NULL) == 0) {
				use_table(table, len);
				free(table);
			}
			source.alt = elf;
			source.dwos = dwos;
			source.n_dwos = 1;
		}
		hl_elf_free(elf);
	}
	(void)hl_inlines_check(data, size, NULL);
	(void)close(fd);
	return 0;
}
