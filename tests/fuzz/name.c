// SPDX-License-Identifier: BSD-2-Clause
/* needs: base symbol elf tests/fuzzing */
/* A symbol's name: demangled within its limit, or taken as it is. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "fuzzing.h"
#include "symbol/demangle.h"

enum { MAX = 4096, ELLIPSIS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1);
	struct hl_str out = { 0 };

	MUST(name);
	if (size)
		memcpy(name, data, size);
	name[size] = '\0';
	if (!hl_demangle(name, &out))
		MUST(out.len == 0);
	hl_str_clear(&out);
	hl_demangle_or_copy(name, strlen(name), MAX, &out);
	MUST(out.len <= MAX + ELLIPSIS);
	hl_str_done(&out);
	free(name);
	return 0;
}
