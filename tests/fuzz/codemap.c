// SPDX-License-Identifier: BSD-2-Clause
/* needs: base symbol elf tests/fuzzing */
/* A perf map or a jitdump, read in two goes as it grows: what is found covers what was asked for. */
#include <string.h>
#include <unistd.h>

#include "fuzzing.h"
#include "symbol/codelines.h"
#include "symbol/codemap.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

static void ask(struct hl_code_map *map)
{
	static const uint64_t places[] = { 0, 0x1000, 0x1010, 0x2000, 0x7f0012345678, UINT64_MAX };
	struct hl_code_symbol symbol;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!hl_code_map_find(map, places[i], &symbol))
			continue;
		MUST(symbol.start <= places[i] && places[i] - symbol.start < symbol.size);
		MUST(symbol.len > 0 && symbol.name[symbol.len] == '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_code_map *map = hl_code_map_new();
	struct hl_code_lines *lines = hl_code_lines_new();
	struct hl_perf_map *perf_map = hl_perf_map_new();
	struct hl_jit_dump *jit_dump = hl_jit_dump_new();
	size_t first;
	int fd;

	MUST(map && lines && perf_map && jit_dump);
	if (size > 3) {
		first = (data[1] | (size_t)data[2] << 8) % (size - 2);
		fd = fuzz_file(data + 3, first < size - 3 ? first : size - 3);
		for (int go = 0; go < 2; go++) {
			if (data[0] & 1) {
				uint8_t code[32];

				(void)hl_jit_dump_read(jit_dump, fd, data[0] & 2 ? 100 : 0, map, lines, NULL);
				(void)hl_jit_dump_find_code(fd, data[0] & 2 ? 100 : 0, 0x1000, code,
							    sizeof(code), NULL);
			} else {
				(void)hl_perf_map_read(perf_map, fd, map, NULL);
			}
			ask(map);
			MUST(pwrite(fd, data + 3, size - 3, 0) == (ssize_t)(size - 3));
		}
		(void)close(fd);
	}
	hl_code_map_free(map);
	hl_code_lines_free(lines);
	hl_perf_map_free(perf_map);
	hl_jit_dump_free(jit_dump);
	return 0;
}
