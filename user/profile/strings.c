// SPDX-License-Identifier: BSD-2-Clause
#include "profile/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct hl_string {
	const char *text;
	size_t len;
};

struct wanted {
	const struct hl_string *items;
	struct hl_string string;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct hl_string *item = &w->items[position];

	return item->len == w->string.len && memcmp(item->text, w->string.text, item->len) == 0;
}

const char *hl_strings_keep(struct hl_strings *strings, const char *text, size_t len)
{
	struct wanted wanted = { strings->items, { len ? text : "", len } };
	uint64_t hash = hl_hash(wanted.string.text, len, 0);
	uint32_t position = hl_index_find(&strings->index, hash, is_wanted, &wanted);
	char *copy;

	if (position != HL_INDEX_NONE)
		return strings->items[position].text;
	if (hl_grow(&strings->items, &strings->cap, strings->n + 1, sizeof(*strings->items), HL_INDEX_NONE))
		return NULL;
	copy = hl_arena_copy(&strings->arena, wanted.string.text, len);
	if (!copy || hl_index_add(&strings->index, hash, (uint32_t)strings->n))
		return NULL;
	strings->items[strings->n++] = (struct hl_string){ copy, len };
	return copy;
}

void hl_strings_seal(struct hl_strings *strings)
{
	hl_index_done(&strings->index);
	free(strings->items);
	strings->items = NULL;
	strings->n = strings->cap = 0;
}

void hl_strings_done(struct hl_strings *strings)
{
	hl_strings_seal(strings);
	hl_arena_done(&strings->arena);
}
