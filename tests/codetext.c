// SPDX-License-Identifier: BSD-2-Clause
#include "codetext.h"

#include <stdio.h>

#include "symbol/codemap.h"
#include "symbol/symbol.h"

const char *code_text(struct hl_code_map *map, uint64_t address)
{
	static char text[HL_SYMBOL_NAME_MAX + 64];
	struct hl_code_symbol s;

	if (!hl_code_map_find(map, address, &s))
		return "-";
	(void)snprintf(text, sizeof(text), "%.*s %llx+%llx", (int)s.len, s.name, (unsigned long long)s.start,
		       (unsigned long long)s.size);
	return text;
}
