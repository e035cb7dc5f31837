// SPDX-License-Identifier: BSD-2-Clause
#include "sample/unwind_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"

enum {
	MAX_PAGES = 1 << 18, /* 1 GiB of code */
	MAX_ROWS = 16 << 20,
	MAX_RULES = 1 << 16,
	MAX_REGISTER = 15,
	ROWS_IN_PAGE = 1 << HL_UNWIND_PAGE_SHIFT,
};

/* A table whose parts lie inside its bytes, which need not be aligned. */
struct view {
	struct hl_unwind_table table;
	const uint8_t *rules, *pages, *rows;
};

static bool view_of(const void *bytes, size_t len, struct view *ret)
{
	const uint8_t *at = bytes;
	uint64_t want = sizeof(ret->table);

	if (len < sizeof(ret->table))
		return false;
	memcpy(&ret->table, at, sizeof(ret->table));
	ret->rules = at + sizeof(ret->table);
	/* Each count has 32 bits, so that the sum has less than 64. */
	want += (uint64_t)ret->table.n_rules * sizeof(struct hl_unwind_rule);
	want += (uint64_t)ret->table.n_pages * sizeof(struct hl_unwind_page);
	want += (uint64_t)ret->table.n_rows * sizeof(__u32);
	if (want != len || ret->table.version != HL_UNWIND_VERSION)
		return false;
	ret->pages = ret->rules + ret->table.n_rules * sizeof(struct hl_unwind_rule);
	ret->rows = ret->pages + ret->table.n_pages * sizeof(struct hl_unwind_page);
	return true;
}

static struct hl_unwind_page page_at(const struct view *v, uint32_t i)
{
	struct hl_unwind_page page;

	memcpy(&page, v->pages + (size_t)i * sizeof(page), sizeof(page));
	return page;
}

static struct hl_unwind_rule rule_at(const struct view *v, uint32_t i)
{
	struct hl_unwind_rule rule;

	memcpy(&rule, v->rules + (size_t)i * sizeof(rule), sizeof(rule));
	return rule;
}

static uint32_t row_at(const struct view *v, uint32_t i)
{
	uint32_t row;

	memcpy(&row, v->rows + (size_t)i * sizeof(row), sizeof(row));
	return row;
}

static bool is_rule_sound(const struct hl_unwind_rule *rule)
{
	switch (rule->cfa_kind) {
	case HL_CFA_PLT:
		if (rule->cfa_off < 0 || rule->cfa_off > 15)
			return false;
		break;
	case HL_CFA_REG:
	case HL_CFA_RA_IN_REG:
		if ((rule->cfa_off & 0xff) > MAX_REGISTER)
			return false;
		break;
	default:
		if (rule->cfa_kind > HL_CFA_GO)
			return false;
	}
	return true;
}

/* The first row of @page has offset 0, they ascend, and their rules exist. */
static bool are_rows_sound(const struct view *v, const struct hl_unwind_page *page)
{
	uint32_t i, row, last = 0;

	for (i = 0; i < page->n_rows; i++) {
		row = row_at(v, page->first_row + i);
		if (i == 0 ? row >> HL_UNWIND_RULE_BITS != 0
			   : row >> HL_UNWIND_RULE_BITS <= last >> HL_UNWIND_RULE_BITS)
			return false;
		if ((row & HL_UNWIND_RULE_MASK) >= v->table.n_rules)
			return false;
		last = row;
	}
	return true;
}

/* Every row belongs to one page, in order. */
static int check_pages(const struct view *v, struct hl_err *err)
{
	struct hl_unwind_page page;
	uint32_t next = 0, i;

	for (i = 0; i < v->table.n_pages; i++) {
		page = page_at(v, i);
		if (page.n_rows == 0)
			continue;
		if (page.first_row != next || page.n_rows > ROWS_IN_PAGE ||
		    page.n_rows > v->table.n_rows - next)
			return hl_err_set(err, -EBADMSG, "page %u of an unwind table has rows %u to %u of %u",
					  i, page.first_row, page.first_row + page.n_rows, v->table.n_rows);
		if (!are_rows_sound(v, &page))
			return hl_err_set(err, -EBADMSG, "page %u of an unwind table has damaged rows", i);
		next += page.n_rows;
	}
	if (next != v->table.n_rows)
		return hl_err_set(err, -EBADMSG, "%u rows of an unwind table are in no page",
				  v->table.n_rows - next);
	return 0;
}

int hl_unwind_check(const void *bytes, size_t len, struct hl_err *err)
{
	struct hl_unwind_rule rule;
	struct view v;
	uint32_t i;

	if (!view_of(bytes, len, &v))
		return hl_err_set(err, -EBADMSG, "%zu bytes are no unwind table of version %d", len,
				  HL_UNWIND_VERSION);
	if (v.table.n_pages > MAX_PAGES || v.table.n_rows > MAX_ROWS || v.table.n_rules > MAX_RULES ||
	    v.table.first_page > UINT32_MAX - v.table.n_pages)
		return hl_err_set(
			err, -EBADMSG,
			"an unwind table of %u rules, %u pages from page %u and %u rows is too large",
			v.table.n_rules, v.table.n_pages, v.table.first_page, v.table.n_rows);
	for (i = 0; i < v.table.n_rules; i++) {
		rule = rule_at(&v, i);
		if (!is_rule_sound(&rule))
			return hl_err_set(err, -EBADMSG,
					  "rule %u of an unwind table is damaged: kinds %u, %u", i,
					  rule.cfa_kind, rule.fp_kind);
	}
	return check_pages(&v, err);
}

int hl_unwind_lookup(const void *bytes, size_t len, uint64_t file_offset, struct hl_unwind_rule *ret)
{
	uint64_t index = file_offset >> HL_UNWIND_PAGE_SHIFT;
	uint32_t offset = file_offset & (ROWS_IN_PAGE - 1), low, high, mid, rule;
	struct hl_unwind_page page;
	struct view v;

	if (!view_of(bytes, len, &v))
		return -EBADMSG;
	if (index < v.table.first_page || index - v.table.first_page >= v.table.n_pages)
		return -ENOENT;
	page = page_at(&v, (uint32_t)(index - v.table.first_page));
	if (page.n_rows == 0)
		return -ENOENT;
	if (page.n_rows > v.table.n_rows || page.first_row > v.table.n_rows - page.n_rows)
		return -EBADMSG;
	low = page.first_row;
	high = page.first_row + page.n_rows;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (row_at(&v, mid) >> HL_UNWIND_RULE_BITS <= offset)
			low = mid;
		else
			high = mid;
	}
	rule = row_at(&v, low) & HL_UNWIND_RULE_MASK;
	if (rule >= v.table.n_rules || row_at(&v, low) >> HL_UNWIND_RULE_BITS > offset)
		return -EBADMSG;
	*ret = rule_at(&v, rule);
	return 0;
}
