// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	PAGE_SIZE = 1 << HL_UNWIND_PAGE_SHIFT,
	SLOTS = 2 * HL_RULES_MAX, /* half full at most, a power of two */
	NO_PAGE = -1,
};

static uint32_t row_of(uint32_t offset, uint32_t rule)
{
	return (offset & (PAGE_SIZE - 1)) << HL_UNWIND_RULE_BITS | rule;
}

int hl_rows_init(struct hl_rows *rows, uint32_t n_pages)
{
	static const struct hl_unwind_rule none = { .cfa_kind = HL_CFA_NONE };
	static const struct hl_unwind_rule unsupported = { .cfa_kind = HL_CFA_UNSUPPORTED };

	*rows = (struct hl_rows){ .n_pages = n_pages, .page = (uint32_t)NO_PAGE };
	rows->pages = calloc(n_pages, sizeof(*rows->pages));
	rows->slots = calloc(SLOTS, sizeof(*rows->slots));
	if (!rows->pages || !rows->slots || hl_rows_rule(rows, &none) != HL_RULE_NONE ||
	    hl_rows_rule(rows, &unsupported) != HL_RULE_UNSUPPORTED) {
		hl_rows_done(rows);
		return -ENOMEM;
	}
	return 0;
}

void hl_rows_done(struct hl_rows *rows)
{
	free(rows->rows);
	free(rows->pages);
	free(rows->rules);
	free(rows->slots);
	*rows = (struct hl_rows){ 0 };
}

int hl_rows_rule(struct hl_rows *rows, const struct hl_unwind_rule *rule)
{
	uint64_t key;
	size_t slot;
	int r;

	_Static_assert(sizeof(key) == sizeof(*rule), "a rule is its own key");
	memcpy(&key, rule, sizeof(key));
	slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
	for (; rows->slots[slot]; slot = (slot + 1) % SLOTS)
		if (memcmp(&rows->rules[rows->slots[slot] - 1], rule, sizeof(*rule)) == 0)
			return rows->slots[slot] - 1;
	if (rows->n_rules == HL_RULES_MAX)
		return HL_RULE_UNSUPPORTED;
	r = hl_grow(&rows->rules, &rows->cap_rules, rows->n_rules + 1, sizeof(*rule), HL_RULES_MAX);
	if (r < 0)
		return r;
	rows->rules[rows->n_rules++] = *rule;
	rows->slots[slot] = (uint16_t)rows->n_rules;
	return (int)rows->n_rules - 1;
}

static int add_row(struct hl_rows *rows, uint32_t offset, uint32_t rule)
{
	int r = hl_grow(&rows->rows, &rows->cap_rows, rows->n_rows + 1, sizeof(uint32_t), HL_ROWS_MAX);

	if (r < 0)
		return r;
	rows->rows[rows->n_rows++] = row_of(offset, rule);
	rows->pages[rows->page].n_rows++;
	rows->rule = rule;
	return 0;
}

static int open_page(struct hl_rows *rows, uint32_t page, uint32_t rule)
{
	rows->page = page;
	rows->pages[page].first_row = (uint32_t)rows->n_rows;
	return add_row(rows, 0, rule);
}

/* Opens the pages up to that of @offset; the rule goes on in them. */
static int go_to(struct hl_rows *rows, uint32_t offset)
{
	int r = 0;

	while (r == 0 && rows->page < offset >> HL_UNWIND_PAGE_SHIFT)
		r = open_page(rows, rows->page + 1, rows->rule);
	return r;
}

int hl_rows_begin(struct hl_rows *rows, uint32_t offset)
{
	uint32_t page = offset >> HL_UNWIND_PAGE_SHIFT;

	if (rows->page == page)
		return hl_rows_put(rows, offset, HL_RULE_NONE);
	return open_page(rows, page, HL_RULE_NONE);
}

int hl_rows_put(struct hl_rows *rows, uint32_t offset, uint32_t rule)
{
	struct hl_unwind_page *page;
	uint32_t *last;
	int r = go_to(rows, offset);

	if (r < 0 || rule == rows->rule)
		return r;
	last = &rows->rows[rows->n_rows - 1];
	if (*last >> HL_UNWIND_RULE_BITS != (offset & (PAGE_SIZE - 1)))
		return add_row(rows, offset, rule);
	/* What was said of this place before is void, and the row too if it says what the one before says. */
	*last = row_of(offset, rule);
	rows->rule = rule;
	page = &rows->pages[rows->page];
	if (page->n_rows > 1 && (last[-1] & HL_UNWIND_RULE_MASK) == rule) {
		page->n_rows--;
		rows->n_rows--;
	}
	return 0;
}

int hl_rows_end(struct hl_rows *rows, uint32_t end)
{
	return go_to(rows, end - 1);
}

int hl_rows_bytes(const struct hl_rows *rows, uint32_t first_page, uint32_t unsupported, uint8_t **ret,
		  size_t *ret_len)
{
	struct hl_unwind_table table = {
		.version = HL_UNWIND_VERSION,
		.n_rules = (uint32_t)rows->n_rules,
		.first_page = first_page,
		.n_pages = rows->n_pages,
		.n_rows = (uint32_t)rows->n_rows,
		.unsupported = unsupported,
	};
	size_t rules = rows->n_rules * sizeof(*rows->rules), pages = rows->n_pages * sizeof(*rows->pages);
	size_t rest = rows->n_rows * sizeof(*rows->rows);
	uint8_t *bytes = malloc(sizeof(table) + rules + pages + rest);

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &table, sizeof(table));
	memcpy(bytes + sizeof(table), rows->rules, rules);
	memcpy(bytes + sizeof(table) + rules, rows->pages, pages);
	memcpy(bytes + sizeof(table) + rules + pages, rows->rows, rest);
	*ret = bytes;
	*ret_len = sizeof(table) + rules + pages + rest;
	return 0;
}
