// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample tests/fuzzing */
/* An unwind table, as it comes from symd or from a cache: what the check accepts can be looked up in. */
#include <errno.h>
#include <string.h>

#include "fuzzing.h"
#include "sample/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hl_unwind_table head;
	struct hl_unwind_rule rule;
	uint64_t first, end, step, at;
	int code = hl_unwind_check(data, size, NULL), found;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	first = (uint64_t)head.first_page << HL_UNWIND_PAGE_SHIFT;
	end = first + ((uint64_t)head.n_pages << HL_UNWIND_PAGE_SHIFT);
	step = (end - first) / 100 + 1;
	for (at = first; at < end; at += step) {
		found = hl_unwind_lookup(data, size, at, &rule);
		MUST(code || found == 0 || found == -ENOENT);
		MUST(found || code || rule.cfa_kind <= HL_CFA_GO);
	}
	return 0;
}
