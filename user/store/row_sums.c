// SPDX-License-Identifier: BSD-2-Clause
#include "store/row_sums.h"

#include <stdlib.h>

#include "base/hash.h"

enum { MAX_ROWS = 1 << 26 };

static int is_same(const void *ctx, uint32_t position)
{
	return 1; /* equal hashes are equal keys */
}

int row_sums_add(struct row_sums *s, uint32_t thread, uint32_t node, uint64_t count, uint64_t weight)
{
	uint64_t hash = hl_mix((uint64_t)thread << 32 | node);
	uint32_t at = hl_index_find(&s->index, hash, is_same, /* ctx= */ NULL);
	int code;

	if (at == HL_INDEX_NONE) {
		code = hl_grow(&s->rows, &s->cap, s->n + 1, sizeof(*s->rows), MAX_ROWS);
		if (!code)
			code = hl_index_add(&s->index, hash, (uint32_t)s->n);
		if (code)
			return code;
		at = (uint32_t)s->n++;
		s->rows[at] = (struct stored_row){ .thread = thread, .node = node };
	}
	s->rows[at].count += count;
	s->rows[at].weight += weight;
	return 0;
}

void row_sums_clear(struct row_sums *s)
{
	s->n = 0;
	hl_index_clear(&s->index);
}

void row_sums_done(struct row_sums *s)
{
	free(s->rows);
	hl_index_done(&s->index);
	*s = (struct row_sums){ 0 };
}
