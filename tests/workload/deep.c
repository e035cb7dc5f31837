// SPDX-License-Identifier: BSD-2-Clause
/*
 * deep SECONDS DEPTH: main calls descend DEPTH calls deep, then bottom, which works.
 * deep SECONDS DEPTH wide: at each level one of two functions calls on, so that there are 2^DEPTH stacks.
 */
#include "work.h"

static double end;

OWN_FRAME static void bottom(void)
{
	while (now() < end)
		SPIN(100000);
}

OWN_FRAME static void descend(long depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		bottom();
	AFTER_CALL();
}

OWN_FRAME static void fork_in_road(long depth, unsigned long turns);

OWN_FRAME static void left(long depth, unsigned long turns)
{
	fork_in_road(depth, turns);
	AFTER_CALL();
}

OWN_FRAME static void right(long depth, unsigned long turns)
{
	fork_in_road(depth, turns);
	__asm__ volatile("nop"); /* else the two are one to gcc */
}

OWN_FRAME static void fork_in_road(long depth, unsigned long turns)
{
	if (depth == 0)
		SPIN(20000);
	else if (turns & 1)
		left(depth - 1, turns >> 1);
	else
		right(depth - 1, turns >> 1);
	AFTER_CALL();
}

OWN_FRAME static void wander(long depth)
{
	unsigned long turns = 1;

	while (now() < end) {
		turns = turns * 6364136223846793005UL + 1442695040888963407UL;
		fork_in_road(depth, turns >> 33);
	}
}

int main(int argc, char **argv)
{
	long depth = argc > 2 ? atol(argv[2]) : 100;

	end = end_of(argc, argv);
	if (argc > 3)
		wander(depth);
	else if (depth)
		descend(depth);
	else
		bottom();
	AFTER_CALL();
	return 0;
}
