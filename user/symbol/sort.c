// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"

enum { DIGIT_BITS = 11, DIGITS = 6, VALUES = 1 << DIGIT_BITS };

void *hl_huge_array(size_t n, size_t size)
{
	enum { HUGE = 2 << 20 };
	void *items;
	size_t len;

	if (__builtin_mul_overflow(n, size, &len))
		return NULL;
	if (len < HUGE)
		return malloc(len ? len : 1);
	if (posix_memalign(&items, HUGE, len) != 0)
		return NULL;
	(void)madvise(items, len, MADV_HUGEPAGE);
	return items;
}

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

/*
 * Moves all items from @from to @to in the order of one digit; @counts becomes positions. Inlined, so that a
 * constant @size makes of each move two or three words.
 */
static inline __attribute__((always_inline)) void scatter(const char *from, char *to, size_t n, size_t size,
							  int digit, uint32_t *counts)
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

static void scatter_any(const char *from, char *to, size_t n, size_t size, int digit, uint32_t *counts)
{
	if (size == 16)
		scatter(from, to, n, 16, digit, counts);
	else if (size == 24)
		scatter(from, to, n, 24, digit, counts);
	else
		scatter(from, to, n, size, digit, counts);
}

/* True if the @n items are in order; else @ret_differ has the bits in which their keys differ. */
static bool is_sorted(const char *items, size_t n, size_t size, uint64_t *ret_differ)
{
	uint64_t first = n ? key_of(items) : 0, last = first, key, differ = 0;
	bool sorted = true;
	size_t i;

	for (i = 1; i < n; i++) {
		key = key_of(items + i * size);
		sorted = sorted && key >= last;
		differ |= key ^ first;
		last = key;
	}
	*ret_differ = differ;
	return sorted;
}

/* Least significant digit first. Addresses of one file differ in two or three digits only. */
int hl_radix_sort(void *items, size_t n, size_t size)
{
	_cleanup_free_ uint32_t *counts = NULL;
	_cleanup_free_ char *spare = NULL;
	char *from = items, *to, *swap;
	uint64_t differ;
	size_t i;
	int d;

	if (is_sorted(items, n, size, &differ))
		return 0;
	counts = malloc(VALUES * sizeof(*counts));
	spare = to = hl_huge_array(n, size);
	if (!counts || !spare)
		return -ENOMEM;
	for (d = 0; d < DIGITS; d++) {
		if (digit_of(differ, d) == 0)
			continue;
		memset(counts, 0, VALUES * sizeof(*counts));
		for (i = 0; i < n; i++)
			counts[digit_of(key_of(from + i * size), d)]++;
		scatter_any(from, to, n, size, d, counts);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * size);
	return 0;
}
