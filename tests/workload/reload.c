// SPDX-License-Identifier: BSD-2-Clause
/*
 * reload SECONDS LIBRARY LIBRARY: two libraries of one size, one after the other at the same place, each for about a
 * millisecond. With -DLIBRARY=NAME it is one of them, whose function NAME() has a frame of FRAME bytes.
 */
#include "work.h"

#ifdef LIBRARY

OWN_FRAME static void LIBRARY(long n)
{
	volatile char space[FRAME];

	space[0] = 1;
	SPIN(n);
}

void work(long n);

void work(long n)
{
	LIBRARY(n);
	AFTER_CALL();
}

#else

#include <dlfcn.h>
#include <stdio.h>

OWN_FRAME static void use(void *library)
{
	void (*work)(long) = (void (*)(long))dlsym(library, "work");

	work(1000000);
	AFTER_CALL();
}

int main(int argc, char **argv)
{
	double end = end_of(argc, argv);

	for (int turn = 2; argc == 4 && now() < end; turn ^= 1) {
		void *library = dlopen(argv[turn], RTLD_NOW);

		if (!library) {
			(void)fprintf(stderr, "reload: %s\n", dlerror());
			return 1;
		}
		use(library);
		(void)dlclose(library);
	}
	return 0;
}

#endif
