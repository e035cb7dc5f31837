// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "base/str.h"
#include "cli/parse.h"

enum { LONGEST = 40 };

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Optimal string alignment: Levenshtein's distance with swaps of neighbours. */
unsigned int hl_cli_distance(const char *a, const char *b)
{
	unsigned int rows[3][LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned int *now = rows[i % 3], *last = rows[(i - 1) % 3], *older = rows[(i + 1) % 3];

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			now[j] = min3(now[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    older[j - 2] + 1 < now[j])
				now[j] = older[j - 2] + 1;
		}
	}
	return rows[la % 3][lb];
}

bool hl_cli_is_near(const char *word, const char *name, unsigned int *best)
{
	size_t len = strlen(word);
	unsigned int limit = len < 4 ? 1 : len < 9 ? 2 : 3, distance;

	distance = len >= 2 && hl_starts_with(name, word) ? 1 : hl_cli_distance(word, name);
	if (distance > limit || distance >= *best)
		return false;
	*best = distance;
	return true;
}
