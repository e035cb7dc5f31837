// SPDX-License-Identifier: BSD-2-Clause
/*
 * A batch holds queries about many files, and one of them killed the server. So they are asked again, each
 * file's alone: then that file is to blame, and is denied. Where that does not help, as with the bytes of
 * generated code, the queries are halved down to the one that kills, which is left unanswered.
 */
#include "symd/client_rescue.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "symd/client.h"

/* So many servers may die of one batch; after that the rest of it is left unanswered. */
enum { MAX_FAILURES = 64 };

struct turn {
	uint64_t source; /* a file, the code of a process, or the kernel */
	uint32_t index;  /* in the batch */
};

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* The order by files; the queries in that order are put into @ret. */
static void sort(const struct hl_symd_query *queries, size_t n, struct turn *turns, struct hl_symd_query *ret)
{
	for (size_t i = 0; i < n; i++)
		turns[i] = (struct turn){ (uint64_t)queries[i].place << 32 | queries[i].file, (uint32_t)i };
	qsort(turns, n, sizeof(*turns), compare_turns);
	for (size_t i = 0; i < n; i++)
		ret[i] = queries[turns[i].index];
}

static size_t count_alike(const struct turn *turns, size_t n)
{
	size_t alike = 0;

	while (alike < n && turns[alike].source == turns[0].source)
		alike++;
	return alike;
}

static void ask_in_parts(struct hl_symd *symd, const struct hl_symd_query *queries, const struct turn *turns,
			 size_t n, uint32_t flags, struct hl_symd_answers *ret)
{
	size_t at = 0, part = count_alike(turns, n);
	unsigned int failures = 0;

	while (at < n) {
		if (failures < MAX_FAILURES && !hl_symd_ask(symd, queries + at, part, flags, ret, NULL)) {
			at += part;
			part = count_alike(turns + at, n - at);
		} else if (failures < MAX_FAILURES && part > 1) {
			failures++;
			part /= 2;
		} else {
			failures++;
			hl_symd_leave_unanswered(symd, &queries[at++], ret);
			part = count_alike(turns + at, n - at);
		}
	}
}

int hl_symd_rescue(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		   struct hl_symd_answers *ret, struct hl_err *err)
{
	_cleanup_free_ struct turn *turns = calloc(n, sizeof(*turns));
	_cleanup_free_ struct hl_symd_query *sorted = calloc(n, sizeof(*sorted));
	_cleanup_free_ struct hl_symd_answer *answers = calloc(n, sizeof(*answers));
	struct hl_symd_answer *place = ret->items + ret->n;

	if (!turns || !sorted || !answers)
		return hl_err_errno(err, -ENOMEM, "no room for %zu answers", n);
	sort(queries, n, turns, sorted);
	ask_in_parts(symd, sorted, turns, n, flags, ret);
	memcpy(answers, place, n * sizeof(*answers));
	for (size_t i = 0; i < n; i++)
		place[turns[i].index] = answers[i];
	return 0;
}
