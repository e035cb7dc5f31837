// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include "capture/rules.h"

#include <errno.h>
#include <stdlib.h>

#include "harness.h"

enum { MAX = 8 };

static struct hl_unwind_rule items[MAX];

static struct hl_unwind_rule rule_of(int i)
{
	return (struct hl_unwind_rule){ .cfa_kind = HL_CFA_RSP, .cfa_off = 8 * i };
}

/* Takes rule @i and sees that it stands where it is said to. Returns its number, or -errno. */
static int take(struct hl_rules *rules, int i)
{
	struct hl_unwind_rule rule = rule_of(i);
	uint32_t number = 0;
	int code = hl_rules_take(rules, &rule, &number);

	if (code)
		return code;
	CHECK(number < MAX && memcmp(&items[number], &rule, sizeof(rule)) == 0);
	return (int)number;
}

HL_TEST(equal_rules_share_a_number)
{
	struct hl_rules rules;
	int first;

	CHECK_INT(hl_rules_init(&rules, items, MAX), 0);
	first = take(&rules, 1);
	CHECK(take(&rules, 2) != first);
	CHECK_INT(take(&rules, 1), first);
	CHECK_INT(rules.n, 2);
	hl_rules_done(&rules);
}

HL_TEST(numbers_without_users_are_given_again_when_all_are_out)
{
	struct hl_rules rules;
	int number[MAX];

	CHECK_INT(hl_rules_init(&rules, items, MAX), 0);
	for (int i = 0; i < MAX; i++)
		number[i] = take(&rules, i);
	CHECK_INT(take(&rules, 100), -ENOSPC);
	/* One of two users gone: still in use. */
	CHECK_INT(take(&rules, 3), number[3]);
	hl_rules_give(&rules, (uint32_t)number[3]);
	CHECK_INT(take(&rules, 100), -ENOSPC);
	/* Without users, a rule that is wanted again is where it was … */
	hl_rules_give(&rules, (uint32_t)number[3]);
	CHECK_INT(take(&rules, 3), number[3]);
	/* … and one that is not makes room. */
	hl_rules_give(&rules, (uint32_t)number[5]);
	CHECK_INT(take(&rules, 100), number[5]);
	CHECK_INT(take(&rules, 5), -ENOSPC);
	hl_rules_done(&rules);
}

HL_TEST(random_use_agrees_with_a_model)
{
	unsigned int users[2 * MAX] = { 0 }, distinct = 0;
	struct hl_rules rules;

	srandom(2);
	CHECK_INT(hl_rules_init(&rules, items, MAX), 0);
	for (int round = 0; round < 100000; round++) {
		int i = (int)(random() % (2 * MAX)), number;

		if (users[i] && random() % 2) {
			number = take(&rules, i);
			hl_rules_give(&rules, (uint32_t)number);
			hl_rules_give(&rules, (uint32_t)number);
			distinct -= !--users[i];
			continue;
		}
		number = take(&rules, i);
		CHECK_INT(number < 0 ? number : 0, !users[i] && distinct == MAX ? -ENOSPC : 0);
		distinct += number >= 0 && !users[i];
		users[i] += number >= 0;
		/* No rule in use was written over. */
		for (int k = 0; k < 2 * MAX; k++)
			if (users[k]) {
				number = take(&rules, k);
				CHECK(number >= 0);
				hl_rules_give(&rules, (uint32_t)number);
			}
	}
	hl_rules_done(&rules);
}
