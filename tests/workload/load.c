// SPDX-License-Identifier: BSD-2-Clause
/*
 * load SECONDS: a small mixed load for demonstrations: multiplies, divides, chases pointers through more
 * memory than the caches hold, sorts, and makes system calls, each in a function of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CHAIN = 1 << 20, KEYS = 1 << 14 };

static uint32_t chain[CHAIN];
static uint32_t keys[KEYS];

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static uint64_t hash_bytes(uint64_t x, long n)
{
	while (n--)
		x = (x ^ (uint64_t)n) * 0x9e3779b97f4a7c15;
	return x;
}

__attribute__((noinline)) static uint64_t average(uint64_t sum, uint64_t n)
{
	for (int i = 0; i < 100000; i++)
		sum += sum / (n + (uint64_t)i);
	return sum;
}

__attribute__((noinline)) static uint32_t chase(uint32_t at, long n)
{
	while (n--)
		at = chain[at];
	return at;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

__attribute__((noinline)) static void sort_keys(uint32_t seed)
{
	for (int i = 0; i < KEYS; i++)
		keys[i] = seed = seed * 1664525 + 1013904223;
	qsort(keys, KEYS, sizeof(keys[0]), by_value);
}

__attribute__((noinline)) static void ask_kernel(void)
{
	for (int i = 0; i < 2000; i++)
		(void)getppid();
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 10);
	uint64_t x = 1;
	uint32_t at = 0;

	/* Sattolo's shuffle: one cycle through all of them. */
	for (uint32_t i = 0; i < CHAIN; i++)
		chain[i] = i;
	for (uint32_t i = CHAIN - 1, r = 1, k, t; i > 0; i--) {
		r = r * 1664525 + 1013904223;
		k = r % i;
		t = chain[i];
		chain[i] = chain[k];
		chain[k] = t;
	}
	while (now() < end) {
		x = hash_bytes(x, 1000000);
		x = average(x, x | 1);
		at = chase(at, 20000);
		sort_keys((uint32_t)x);
		ask_kernel();
	}
	printf("%llx %x\n", (unsigned long long)x, at);
	return 0;
}
