// SPDX-License-Identifier: BSD-2-Clause
/* inlined SECONDS: nearly all of its instructions were inlined twice. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline __attribute__((always_inline)) unsigned int inner(unsigned int x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 1664525u + 1013904223u + (x >> 5);
	return x;
}

static inline __attribute__((always_inline)) unsigned int middle(unsigned int x)
{
	return inner(x) ^ inner(x + 1);
}

__attribute__((noinline)) unsigned int outer(unsigned int x)
{
	return middle(x) + 1;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	unsigned int x = 1;

	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++)
			x = outer(x);
	return x == 42;
}
