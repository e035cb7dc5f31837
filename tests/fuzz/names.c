// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/fuzzing */
/* A table of functions as it comes from a cache: what the check accepts can be looked up in. */
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "elf/elf.h"
#include "fuzzing.h"
#include "symbol/symbol.h"

enum { BASE_AT = 8, LOOKUPS = 512 };

static void look_up(const struct hl_symbols *symbols, uint64_t base, uint64_t step)
{
	struct hl_str name = { 0 };
	struct hl_symbol symbol;

	for (uint64_t i = 0; i < LOOKUPS; i++) {
		hl_str_clear(&name);
		if (hl_symbols_find(symbols, base + i * step, &symbol) && symbol.named)
			(void)hl_symbols_add_name(symbols, symbol.name, &name);
		MUST(name.len <= HL_SYMBOL_NAME_MAX + 16);
	}
	hl_str_done(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct hl_symbols *symbols;
	uint64_t base = 0, *bytes = malloc(size ? size : 1); /* aligned, as a mapping is */
	struct hl_elf *elf;

	MUST(bytes);
	memcpy(bytes, data, size);
	if (size >= BASE_AT + sizeof(base))
		memcpy(&base, data + BASE_AT, sizeof(base));
	if (hl_elf_open_unread(fd, "a file", &elf, NULL) == 0) {
		if (hl_symbols_open(bytes, size, elf, elf, &symbols, NULL) == 0) {
			MUST(hl_symbols_memory(symbols) >= size);
			look_up(symbols, base, 1);
			look_up(symbols, base, (UINT64_C(1) << 32) / LOOKUPS + 1);
			hl_symbols_free(symbols);
		}
		hl_elf_free(elf);
	}
	(void)close(fd);
	free(bytes);
	return 0;
}
