// SPDX-License-Identifier: BSD-2-Clause
/*
 * plt SECONDS: calls a tiny function. Built as a library (-DLIBRARY) and as its caller (-DCALLER), the calls
 * go through the procedure linkage table.
 */
#include "work.h"

long tiny(long x);

#ifndef CALLER

__attribute__((noinline)) long tiny(long x)
{
	return x * 3 + 1;
}

#endif
#ifndef LIBRARY

OWN_FRAME static long call_often(void)
{
	volatile long sum = 0;

	for (int i = 0; i < 200000; i++)
		sum += tiny(i);
	return sum;
}

int main(int argc, char **argv)
{
	double end = end_of(argc, argv);

	while (now() < end)
		(void)call_often();
	return 0;
}

#endif
