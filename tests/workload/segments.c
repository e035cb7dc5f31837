// SPDX-License-Identifier: BSD-2-Clause
/*
 * segments SECONDS: a quarter of the time in one_part(), which stands in the usual text section, and three
 * quarters in three_parts(), which stands in a section ".apart" that a linker option can move to a segment
 * of its own. With -DLIBRARY it is a library with one_part_more(), with -DWITH_LIBRARY it calls that.
 */
#include "work.h"

#define APART __attribute__((section(".apart")))

void one_part_more(long n);

#ifdef LIBRARY

OWN_FRAME void one_part_more(long n)
{
	SPIN(n);
}

#else

OWN_FRAME static void one_part(long n)
{
	SPIN(n);
}

APART OWN_FRAME static void three_parts(long n)
{
	SPIN(3 * n);
}

APART OWN_FRAME static void caller_apart(long n)
{
	three_parts(n);
	AFTER_CALL();
}

int main(int argc, char **argv)
{
	double end = end_of(argc, argv);

	while (now() < end) {
		one_part(300000);
		caller_apart(300000);
#ifdef WITH_LIBRARY
		one_part_more(300000);
#endif
	}
	return 0;
}

#endif
