// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol */

/*
 * symbols FILE…: what the table of functions of each file costs. Without arguments, of some large files that
 * are usually there. CPU time is the least of several runs; lookups are of random addresses in the code.
 */

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "symbol/symbol.h"

enum { RUNS = 9, LOOKUPS = 1 << 20 };

static double cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* @n addresses in executable segments, each as likely as another. */
static void choose(const struct hl_elf *elf, uint64_t *addresses, size_t n)
{
	const struct hl_elf_segment *s = NULL;
	uint64_t total = 0, at, state = 88172645463325252;
	size_t i;

	while ((s = hl_elf_next_code(elf, s)))
		total += s->file_size;
	for (i = 0; i < n; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		at = total ? state % total : 0;
		for (s = hl_elf_next_code(elf, NULL); s && at >= s->file_size; s = hl_elf_next_code(elf, s))
			at -= s->file_size;
		addresses[i] = s ? s->address + at : 0;
	}
}

static double look_up(const struct hl_symbols *symbols, const uint64_t *addresses, double *ret_named,
		      double *ret_bounded)
{
	size_t named = 0, bounded = 0, i;
	struct hl_symbol symbol;
	double start = cpu_ns(), ns;

	for (i = 0; i < LOOKUPS; i++) {
		if (!hl_symbols_find(symbols, addresses[i], &symbol))
			continue;
		bounded++;
		named += symbol.named;
	}
	ns = (cpu_ns() - start) / LOOKUPS;
	*ret_named = 100.0 * (double)named / LOOKUPS;
	*ret_bounded = 100.0 * (double)bounded / LOOKUPS;
	return ns;
}

/* Opens the file and makes its table once; what that took. */
static int build(int fd, struct hl_elf **ret_elf, struct hl_symbols **ret, double *ret_ms, struct hl_err *err)
{
	double start = cpu_ns();
	int r = hl_elf_open(fd, "the file", ret_elf, err);

	if (r < 0)
		return r;
	r = hl_symbols_new(*ret_elf, NULL, ret, err);
	*ret_ms = (cpu_ns() - start) / 1e6;
	if (r < 0)
		hl_elf_free(*ret_elf);
	return r;
}

static void measure(const char *path)
{
	uint64_t *addresses = malloc(LOOKUPS * sizeof(*addresses));
	int fd = open(path, O_RDONLY | O_CLOEXEC), i, r = -1;
	double best = 1e9, ms, ns, named, bounded;
	struct hl_symbols *symbols = NULL;
	struct hl_elf *elf = NULL;
	struct hl_err err = { "" };

	for (i = 0; fd >= 0 && addresses && i < RUNS; i++) {
		hl_symbols_free(symbols);
		hl_elf_free(elf);
		symbols = NULL;
		elf = NULL;
		r = build(fd, &elf, &symbols, &ms, &err);
		if (r < 0)
			break;
		best = ms < best ? ms : best;
	}
	if (r == 0) {
		choose(elf, addresses, LOOKUPS);
		ns = look_up(symbols, addresses, &named, &bounded);
		printf("%-44.44s %6.0f %8zu %7.1f %7.0f %7.2f %7.1f %7.1f\n", path,
		       (double)hl_elf_size(elf) / 1e6, hl_symbols_count(symbols), best, ns,
		       (double)hl_symbols_memory(symbols) / 1e6, named, bounded);
	} else if (fd >= 0) {
		printf("%-44.44s %s\n", path, err.text);
	}
	hl_symbols_free(symbols);
	hl_elf_free(elf);
	if (fd >= 0)
		(void)close(fd);
	free(addresses);
}

static void measure_matching(const char *pattern)
{
	glob_t found = { 0 };
	size_t i;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (i = 0; i < found.gl_pathc; i++)
			measure(found.gl_pathv[i]);
	globfree(&found);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/bin/node",
		"/usr/bin/podman",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"/usr/lib/x86_64-linux-gnu/librustc_driver-*.so",
		"/root/.rustup/toolchains/stable-*/lib/librustc_driver-*.so",
		"/usr/lib/chromium/chromium",
	};
	size_t i;

	printf("%-44s %6s %8s %7s %7s %7s %7s %7s\n", "file", "MB", "ranges", "CPU ms", "ns/find", "MB table",
	       "named %", "known %");
	for (i = 0; argc < 2 && i < sizeof(usual) / sizeof(*usual); i++)
		measure_matching(usual[i]);
	for (i = 1; i < (size_t)argc; i++)
		measure(argv[i]);
	return 0;
}
