// SPDX-License-Identifier: BSD-2-Clause
/* needs: base symbol elf tests/fuzzing */
/* A file of the form of /proc/kallsyms: what is found covers what was asked for. */
#include <unistd.h>

#include "fuzzing.h"
#include "symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t places[] = {
		0, 1, 0xffffffff81000000, 0xffffffff81000010, 0xffffffffc0000000, UINT64_MAX
	};
	struct hl_kallsyms *kallsyms;
	struct hl_kernel_symbol symbol;
	int fd = fuzz_file(data, size);
	size_t i;

	(void)lseek(fd, 0, SEEK_SET);
	if (hl_kallsyms_read(fd, &kallsyms, NULL) == 0) {
		MUST(hl_kallsyms_count(kallsyms) > 0);
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			(void)hl_kallsyms_link_address(kallsyms, places[i]);
			if (hl_kallsyms_find(kallsyms, places[i], &symbol))
				continue;
			/* Of the last of the BPF programs the size is not known: 0. */
			MUST(symbol.start <= places[i] &&
			     (!symbol.size || places[i] - symbol.start < symbol.size));
			MUST(symbol.name[0] && symbol.module);
		}
		hl_kallsyms_free(kallsyms);
	}
	(void)close(fd);
	return 0;
}
