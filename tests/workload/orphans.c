// SPDX-License-Identifier: BSD-2-Clause
/*
 * orphans SECONDS: two threads work on after the first one has ended, at a fifth of the time. /proc/PID/maps
 * is empty then, and /proc/PID/exe cannot be read.
 */
#include "work.h"

#include <pthread.h>

static double end;

OWN_FRAME static void orphan_work(void)
{
	SPIN(200000);
}

OWN_FRAME static void *orphan(void *unused)
{
	while (now() < end)
		orphan_work();
	return unused;
}

int main(int argc, char **argv)
{
	double start = now(), leave;
	pthread_t threads[2];

	end = end_of(argc, argv);
	leave = start + (end - start) / 5;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, orphan, NULL))
			return 1;
	while (now() < leave)
		SPIN(100000);
	pthread_exit(NULL);
}
