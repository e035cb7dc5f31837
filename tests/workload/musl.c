// SPDX-License-Identifier: BSD-2-Clause
/*
 * musl SECONDS: time spent inside a C library, called from known functions: strings, sorting with a callback,
 * memory, printing, system calls, threads, signals. musl SECONDS threads: threads alone that live for
 * microseconds. Built with musl's compiler wrapper.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char text[1 << 16], copy[1 << 16];
static volatile size_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

__attribute__((noinline)) static void do_strings(void)
{
	for (int i = 0; i < 40; i++) {
		memcpy(copy, text, sizeof(text));
		sink += strlen(copy) + (strstr(copy, "never") != NULL) + (size_t)strcmp(copy, text);
	}
}

__attribute__((noinline)) static void do_sort(void)
{
	int numbers[1000];

	for (int i = 0; i < 1000; i++)
		numbers[i] = rand();
	qsort(numbers, 1000, sizeof(int), compare);
	sink += (size_t)numbers[0];
}

__attribute__((noinline)) static void do_malloc(void)
{
	void *blocks[200];

	for (int i = 0; i < 200; i++)
		blocks[i] = malloc((size_t)(i * 37 % 4000) + 1);
	for (int i = 0; i < 200; i++)
		free(blocks[i]);
}

__attribute__((noinline)) static void do_print(void)
{
	char line[256];

	for (int i = 0; i < 100; i++)
		sink += (size_t)snprintf(line, sizeof(line), "%d %s %08lx %.6f %c\n", i, "word", (long)i,
					 i / 7.0, 'x');
}

__attribute__((noinline)) static void do_system(void)
{
	for (int i = 0; i < 100; i++)
		sink += (size_t)getppid() + (size_t)write(1, "", 0);
}

__attribute__((noinline)) static void *run_thread(void *arg)
{
	do_strings();
	do_sort();
	return arg;
}

__attribute__((noinline)) static void do_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void *run_briefly(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sink++;
	return arg;
}

/* Half of them are joined, the others unmap their own stacks. */
__attribute__((noinline)) static void do_brief_threads(void)
{
	static const struct timespec pause = { .tv_nsec = 100000 };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, run_briefly, threads) != 0)
			_exit(1);
	for (int i = 0; i < 4; i++)
		(void)(i % 2 ? pthread_join(threads[i], NULL) : pthread_detach(threads[i]));
	nanosleep(&pause, NULL);
}

__attribute__((noinline)) static void on_signal(int number)
{
	(void)number;
	do_print();
	do_strings();
}

__attribute__((noinline)) static void do_signals(void)
{
	raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	double deadline = now() + (argc > 1 ? atof(argv[1]) : 1);

	memset(text, 'a', sizeof(text) - 1);
	signal(SIGUSR1, on_signal);
	while (argc > 2 && now() < deadline)
		do_brief_threads();
	while (now() < deadline) {
		do_strings();
		do_sort();
		do_malloc();
		do_print();
		do_system();
		do_threads();
		do_signals();
	}
	return 0;
}
