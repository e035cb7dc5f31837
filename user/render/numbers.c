// SPDX-License-Identifier: BSD-2-Clause
#include "render/numbers.h"

#include <stdlib.h>

enum { MAX_ITEMS = 1 << 30 };

struct wanted_id {
	const struct hl_id *ids;
	struct hl_id id;
};

static int same_id(const void *ctx, uint32_t position)
{
	const struct wanted_id *w = ctx;

	return hl_id_equal(w->ids[position], w->id);
}

int hl_numbers_get(struct hl_numbers *numbers, struct hl_id id, size_t *ret, bool *ret_new)
{
	struct wanted_id wanted = { numbers->ids, id };
	uint32_t at = hl_index_find(&numbers->index, id.lo, same_id, &wanted);
	int code;

	*ret_new = at == HL_INDEX_NONE;
	if (!*ret_new) {
		*ret = at;
		return 0;
	}
	code = hl_grow(&numbers->ids, &numbers->cap, numbers->n + 1, sizeof(id), MAX_ITEMS);
	if (!code)
		code = hl_index_add(&numbers->index, id.lo, (uint32_t)numbers->n);
	if (code) {
		*ret_new = false;
		return code;
	}
	*ret = numbers->n;
	numbers->ids[numbers->n++] = id;
	return 0;
}

void hl_numbers_done(struct hl_numbers *numbers)
{
	hl_index_done(&numbers->index);
	free(numbers->ids);
	*numbers = (struct hl_numbers){ 0 };
}
