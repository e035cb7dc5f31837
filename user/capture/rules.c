// SPDX-License-Identifier: BSD-2-Clause
/*
 * A rule that has lost its last user stays, since the next table is likely to have it too. Only when all
 * numbers were given are those without users collected, and the index, from which nothing can be taken, is
 * made anew.
 */
#include "capture/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

int hl_rules_init(struct hl_rules *rules, struct hl_unwind_rule *items, uint32_t max)
{
	*rules = (struct hl_rules){ .items = items, .max = max };
	rules->users = calloc(max, sizeof(*rules->users));
	rules->spare = calloc(max, sizeof(*rules->spare));
	if (rules->users && rules->spare)
		return 0;
	hl_rules_done(rules);
	return -ENOMEM;
}

void hl_rules_done(struct hl_rules *rules)
{
	free(rules->users);
	free(rules->spare);
	hl_index_done(&rules->index);
	*rules = (struct hl_rules){ 0 };
}

static uint64_t hash_of(const struct hl_unwind_rule *rule)
{
	return hl_hash(rule, sizeof(*rule), 0);
}

struct wanted {
	const struct hl_unwind_rule *items, *rule;
};

static int is_same(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->items[position], w->rule, sizeof(*w->rule)) == 0;
}

static int sweep(struct hl_rules *rules)
{
	int code = 0;

	hl_index_clear(&rules->index);
	rules->n_spare = 0;
	for (uint32_t i = rules->n; i-- > 0;)
		if (!rules->users[i])
			rules->spare[rules->n_spare++] = i;
		else if (!code)
			code = hl_index_add(&rules->index, hash_of(&rules->items[i]), i);
	return code;
}

int hl_rules_take(struct hl_rules *rules, const struct hl_unwind_rule *rule, uint32_t *ret)
{
	struct wanted wanted = { rules->items, rule };
	uint64_t hash = hash_of(rule);
	uint32_t at = hl_index_find(&rules->index, hash, is_same, &wanted);

	if (at == HL_INDEX_NONE) {
		if (rules->n == rules->max && !rules->n_spare && sweep(rules))
			return -ENOMEM;
		if (rules->n == rules->max && !rules->n_spare)
			return -ENOSPC;
		at = rules->n < rules->max ? rules->n : rules->spare[rules->n_spare - 1];
		if (hl_index_add(&rules->index, hash, at))
			return -ENOMEM;
		if (at == rules->n)
			rules->n++;
		else
			rules->n_spare--;
		rules->items[at] = *rule;
	}
	rules->users[at]++;
	*ret = at;
	return 0;
}

void hl_rules_give(struct hl_rules *rules, uint32_t number)
{
	rules->users[number]--;
}
