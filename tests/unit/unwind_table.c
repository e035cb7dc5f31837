// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample */

/* Tables from a stranger: what is sound, what is not, and that nothing is read outside of them. */

#include "sample/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "harness.h"

#define ROW(offset, rule) ((uint32_t)(offset) << HL_UNWIND_RULE_BITS | (rule))

/* Pages 5 to 8 of a file, of which the third holds no code. */
struct table {
	struct hl_unwind_table head;
	struct hl_unwind_rule rules[4];
	struct hl_unwind_page pages[4];
	uint32_t rows[6];
};

static const struct table sound = {
	.head = { .version = HL_UNWIND_VERSION, .n_rules = 4, .first_page = 5, .n_pages = 4, .n_rows = 6 },
	.rules = { { .cfa_kind = HL_CFA_NONE },
		   { .cfa_kind = HL_CFA_RSP, .cfa_off = 8 },
		   { .cfa_kind = HL_CFA_REG, .cfa_off = -256 | 15 },
		   { .cfa_kind = HL_CFA_PLT, .cfa_off = 11, .fp_kind = HL_FP_UNDEFINED } },
	.pages = { { 0, 3 }, { 3, 1 }, { 0, 0 }, { 4, 2 } },
	.rows = { ROW(0, 0), ROW(1, 1), ROW(4095, 2), ROW(0, 2), ROW(0, 0), ROW(512, 3) },
};

/* The cfa kind at @offset, or what hl_unwind_lookup() said. */
static int kind_at(const struct table *table, uint64_t offset)
{
	struct hl_unwind_rule rule;
	int r = hl_unwind_lookup(table, sizeof(*table), offset, &rule);

	return r < 0 ? r : rule.cfa_kind;
}

HL_TEST(lookups)
{
	struct hl_err err = { "" };

	if (hl_unwind_check(&sound, sizeof(sound), &err) < 0)
		FAIL("%s", err.text);
	CHECK_INT(kind_at(&sound, 5 * 4096 - 1), -ENOENT);
	CHECK_INT(kind_at(&sound, 5 * 4096), HL_CFA_NONE);
	CHECK_INT(kind_at(&sound, 5 * 4096 + 1), HL_CFA_RSP);
	CHECK_INT(kind_at(&sound, 5 * 4096 + 4094), HL_CFA_RSP);
	CHECK_INT(kind_at(&sound, 5 * 4096 + 4095), HL_CFA_REG);
	CHECK_INT(kind_at(&sound, 6 * 4096 + 700), HL_CFA_REG);
	CHECK_INT(kind_at(&sound, 7 * 4096), -ENOENT);
	CHECK_INT(kind_at(&sound, 8 * 4096 + 511), HL_CFA_NONE);
	CHECK_INT(kind_at(&sound, 8 * 4096 + 512), HL_CFA_PLT);
	CHECK_INT(kind_at(&sound, 9 * 4096), -ENOENT);
	CHECK_INT(kind_at(&sound, UINT64_MAX), -ENOENT);
}

/* A change of @field makes @table unsound, and says @sentence. */
#define UNSOUND(field, value, sentence)                                       \
	do {                                                                  \
		struct table t_ = sound;                                      \
		struct hl_err err_ = { "" };                                  \
                                                                              \
		t_.field = (value);                                           \
		CHECK_INT(hl_unwind_check(&t_, sizeof(t_), &err_), -EBADMSG); \
		CHECK_STR(err_.text, sentence);                               \
	} while (0)

HL_TEST(heads)
{
	static const char no_table[] = "120 bytes are no unwind table of version 5";

	UNSOUND(head.version, 2, no_table);
	UNSOUND(head.n_rules, 3, no_table);
	UNSOUND(head.n_rules, UINT32_MAX, no_table);
	UNSOUND(head.n_pages, 5, no_table);
	UNSOUND(head.n_rows, 7, no_table);
	UNSOUND(head.n_rows, 0, no_table);
	UNSOUND(head.first_page, UINT32_MAX,
		"an unwind table of 4 rules, 4 pages from page 4294967295 and 6 rows is too large");
}

HL_TEST(rules)
{
	UNSOUND(rules[1].cfa_kind, HL_CFA_GO + 1, "rule 1 of an unwind table is damaged: kinds 14, 0");
	UNSOUND(rules[2].cfa_off, 16, "rule 2 of an unwind table is damaged: kinds 8, 0");
	UNSOUND(rules[3].cfa_off, 16, "rule 3 of an unwind table is damaged: kinds 3, 3");
	UNSOUND(rules[3].cfa_off, -1, "rule 3 of an unwind table is damaged: kinds 3, 3");
}

HL_TEST(pages)
{
	UNSOUND(pages[0].first_row, 1, "page 0 of an unwind table has rows 1 to 4 of 6");
	UNSOUND(pages[1].first_row, 2, "page 1 of an unwind table has rows 2 to 3 of 6");
	UNSOUND(pages[3].n_rows, 3, "page 3 of an unwind table has rows 4 to 7 of 6");
	UNSOUND(pages[3].n_rows, UINT32_MAX, "page 3 of an unwind table has rows 4 to 3 of 6");
	UNSOUND(pages[3].n_rows, 1, "1 rows of an unwind table are in no page");
	UNSOUND(pages[0].n_rows, 4, "page 0 of an unwind table has damaged rows");
}

HL_TEST(rows)
{
	static const char damaged[] = "page 0 of an unwind table has damaged rows";

	UNSOUND(rows[0], ROW(1, 0), damaged); /* not at 0 */
	UNSOUND(rows[1], ROW(0, 1), damaged); /* not ascending */
	UNSOUND(rows[2], ROW(1, 1), damaged);
	UNSOUND(rows[1], ROW(1, 4), damaged); /* no such rule */
}

HL_TEST(short_tables)
{
	struct hl_unwind_rule rule;
	size_t len;

	/* Each on a heap of its own, for the sanitizer. */
	for (len = 0; len < sizeof(sound); len++) {
		void *bytes = malloc(len ? len : 1);

		memcpy(bytes, &sound, len);
		CHECK_INT(hl_unwind_check(bytes, len, NULL), -EBADMSG);
		CHECK_INT(hl_unwind_lookup(bytes, len, 5 * 4096, &rule), -EBADMSG);
		free(bytes);
	}
	CHECK_INT(hl_unwind_check(NULL, 0, NULL), -EBADMSG);
}

HL_TEST(every_bit)
{
	struct hl_unwind_rule rule;
	size_t bit, place, n_sound = 0;

	/* Odd addresses too: nobody promises alignment. */
	uint8_t *bytes = malloc(sizeof(sound) + 1);

	CHECK(bytes);
	for (bit = 0; bit < sizeof(sound) * 8; bit++) {
		memcpy(bytes + 1, &sound, sizeof(sound));
		bytes[1 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		n_sound += hl_unwind_check(bytes + 1, sizeof(sound), NULL) == 0;
		for (place = 4 * 1024; place < 10 * 1024; place += 100)
			(void)hl_unwind_lookup(bytes + 1, sizeof(sound), place, &rule);
	}
	NOTE("%zu of %zu changes leave a table sound", n_sound, bit);
	CHECK(n_sound < bit / 2 + bit / 4);
	free(bytes);
}
