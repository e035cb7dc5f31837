// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf unwind symbol insn symd */

/*
 * symd [FILE…]: what the sandbox costs. For each file, reading it and naming 100,000 addresses of it, in this
 * process and in the child: CPU time of both processes, the least of ten runs in turn; then starting a
 * child, and an empty round trip. Without arguments, of some large files that are usually there.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "symd/child.h"
#include "symd/client.h"
#include "symd/transport.h"

enum { RUNS = 10, ADDRESSES = 100000, STARTS = 20, TRIPS = 2000 };

_Noreturn static void die(const struct hl_err *err)
{
	(void)fprintf(stderr, "symd: %s\n", err->text);
	exit(1);
}

static struct hl_symd *make(bool local)
{
	struct hl_symd_transport transport;
	struct hl_symd *symd = NULL;
	struct hl_err err = { "" };

	if (!local)
		symd = hl_symd_new(&err);
	else if (!hl_symd_transport_local(&transport, &err))
		symd = hl_symd_new_over(transport, &err);
	if (!symd)
		die(&err);
	return symd;
}

/* CPU time of this process and of the children of @symd so far. */
static double cpu_ms(const struct hl_symd *symd)
{
	struct hl_symd_stats stats = { 0 };
	struct timespec t;

	if (symd)
		hl_symd_stats(symd, &stats);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 + (double)stats.cpu_ns / 1e6;
}

static double ms_since(uint64_t start)
{
	return (double)(hl_monotonic_ns() - start) / 1e6;
}

/* The least of many runs: other work on the host only adds. */
static void keep_least(double *best, double ms)
{
	if (*best == 0 || ms < *best)
		*best = ms;
}

struct cost {
	double load, resolve;
};

/* Every n-th of the file's offsets, so that both ways are asked the same. */
static void measure(struct hl_symd *symd, int fd, struct cost *best)
{
	struct hl_symd_query *queries = calloc(ADDRESSES, sizeof(*queries));
	uint64_t size = (uint64_t)lseek(fd, 0, SEEK_END);
	double start = cpu_ms(symd);
	struct hl_symd_answers answers = { 0 };
	struct hl_symd_file file;
	struct hl_err err = { "" };

	if (!queries || hl_symd_add_file(symd, 1, fd, &file, &err))
		die(&err);
	keep_least(&best->load, cpu_ms(symd) - start);
	for (uint64_t i = 0; i < ADDRESSES; i++)
		queries[i] = (struct hl_symd_query){ .where = i * size / ADDRESSES, .file = 1 };
	start = cpu_ms(symd);
	if (hl_symd_resolve(symd, queries, ADDRESSES, false, &answers, &err))
		die(&err);
	keep_least(&best->resolve, cpu_ms(symd) - start);
	hl_symd_answers_done(&answers);
	free(queries);
}

/* Both servers have run before: what a fresh one costs is told apart. */
static void compare(const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct hl_symd *local = make(true), *child = make(false);
	struct cost here = { 0 }, there = { 0 };

	for (int i = 0; fd >= 0 && i < RUNS; i++) {
		measure(local, fd, &here);
		measure(child, fd, &there);
	}
	hl_symd_free(local);
	hl_symd_free(child);
	if (fd < 0)
		return;
	(void)close(fd);
	printf("%-28.28s %10.1f %10.1f %10.1f %10.1f %9.0f %%\n", slash ? slash + 1 : path, here.load,
	       there.load, here.resolve, there.resolve,
	       100 * ((there.load + there.resolve) / (here.load + here.resolve) - 1));
}

static void measure_process(void)
{
	const struct hl_symd_query query = { .where = 1, .place = HL_SYMD_RAW };
	struct hl_symd_answers answers = { 0 };
	double best_start = 0, best_cpu = 0, best_trip = 0, cpu;
	struct hl_symd *symd;
	uint64_t start;

	for (int i = 0; i < STARTS; i++) {
		cpu = cpu_ms(NULL);
		start = hl_monotonic_ns();
		symd = make(false);
		(void)hl_symd_resolve(symd, &query, 1, false, &answers, NULL);
		keep_least(&best_start, ms_since(start));
		keep_least(&best_cpu, cpu_ms(symd) - cpu);
		hl_symd_free(symd);
	}
	symd = make(false);
	for (int i = 0; i < TRIPS; i++) {
		start = hl_monotonic_ns();
		(void)hl_symd_resolve(symd, &query, 1, false, &answers, NULL);
		keep_least(&best_trip, ms_since(start));
	}
	hl_symd_answers_done(&answers);
	hl_symd_free(symd);
	printf("start, lock in, first answer: %.2f ms, %.2f ms of CPU time; one request: %.0f µs\n",
	       best_start, best_cpu, best_trip * 1000);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/usr/bin/node",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
	};

	/* As hotleaf does, this program is its own child. */
	if (argc > 1 && strcmp(argv[1], "symd") == 0)
		hl_symd_child_run(0);
	printf("%-28s %10s %10s %10s %10s %11s\n", "100,000 addresses, CPU ms", "load here", "in child",
	       "names here", "in child", "sandbox");
	for (int i = 1; i < argc; i++)
		compare(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof(usual) / sizeof(usual[0]); i++)
		compare(usual[i]);
	measure_process();
	return 0;
}
