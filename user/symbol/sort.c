// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { DIGIT_BITS = 11, DIGITS = 6, VALUES = 1 << DIGIT_BITS };

static uint64_t key_of(const char *item)
{
	uint64_t key;

	memcpy(&key, item, sizeof(key));
	return key;
}

static size_t digit_of(uint64_t key, int digit)
{
	return key >> (digit * DIGIT_BITS) & (VALUES - 1);
}

/* Moves all items from @from to @to in the order of one digit; @counts becomes positions. */
static void scatter(const char *from, char *to, size_t n, size_t size, int digit, uint32_t *counts)
{
	uint32_t at = 0, here;
	size_t i;

	for (i = 0; i < VALUES; i++) {
		here = counts[i];
		counts[i] = at;
		at += here;
	}
	for (i = 0; i < n; i++)
		memcpy(to + size * counts[digit_of(key_of(from + i * size), digit)]++, from + i * size, size);
}

/*
 * Least significant digit first. Addresses of one file differ in two or three digits only; the others cost
 * nothing but their counting.
 */
int hl_radix_sort(void *items, size_t n, size_t size)
{
	_cleanup_free_ uint32_t(*counts)[VALUES] = calloc(DIGITS, sizeof(*counts));
	_cleanup_free_ char *spare = NULL;
	char *from = items, *to, *swap;
	bool sorted = true;
	uint64_t key, last = 0;
	size_t i;
	int d;

	if (!counts)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		key = key_of(from + i * size);
		sorted = sorted && key >= last;
		last = key;
		for (d = 0; d < DIGITS; d++)
			counts[d][digit_of(key, d)]++;
	}
	if (sorted)
		return 0;
	spare = to = calloc(n, size);
	if (!spare)
		return -ENOMEM;
	for (d = 0; d < DIGITS; d++) {
		if (counts[d][digit_of(key_of(from), d)] == n)
			continue;
		scatter(from, to, n, size, d, counts[d]);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * size);
	return 0;
}
