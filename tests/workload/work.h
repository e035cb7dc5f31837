/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_WORKLOAD_WORK_H
#define HL_TESTS_WORKLOAD_WORK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <time.h>

/* A function that keeps its name, its frame and its callers. */
#define OWN_FRAME    __attribute__((noinline, noclone))
/* Behind a call, so that it does not become a jump. */
#define AFTER_CALL() __asm__ volatile("" ::: "memory")

/*
 * Takes time in proportion to @rounds: each waits for the product of the one before, so that it does not
 * matter how the loop is aligned. The variable in memory makes gcc keep the frame of a function that has
 * nothing else there.
 */
#define SPIN(rounds)                                                                        \
	do {                                                                                \
		long frame_ = 0, product_ = 1;                                              \
		for (long i_ = 0; i_ < (rounds); i_++)                                      \
			__asm__ volatile("imul $3, %0, %0" : "+r"(product_) : "m"(frame_)); \
	} while (0)

static inline double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The CPU time of the process in seconds: a program that ends by it has its samples on a loaded host too. */
static inline double cpu_time(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* When a program that was told to run for argv[1] seconds has to end. */
static inline double end_of(int argc, char **argv)
{
	return now() + (argc > 1 ? atof(argv[1]) : 10);
}

#endif
