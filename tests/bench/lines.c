// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol */

/*
 * lines [FILE [DEBUG]]: what inlined functions and lines of a file cost, beside llvm-symbolizer: until the first
 * address is answered, until 1,000 are, and what a table answers each of them in. Without arguments, of libc with its
 * debug file, and of hotleaf. CPU time (user + system) is the least of several runs.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "elf/elf.h"
#include "symbol/inlines.h"

enum { RUNS = 5, ADDRESSES = 1000, LOOKUPS = 1 << 20 };

struct file {
	const char *path, *debug;
	struct hl_elf *elf, *debug_elf;
	uint64_t addresses[ADDRESSES];
};

static double cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct hl_elf *open_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct hl_err err = { "" };
	struct hl_elf *elf = NULL;

	if (fd < 0 || hl_elf_open(fd, path, &elf, &err) < 0)
		(void)fprintf(stderr, "'%s': %s\n", path, fd < 0 ? "cannot be opened" : err.text);
	if (fd >= 0)
		(void)close(fd);
	return elf;
}

static bool choose(struct file *f)
{
	const struct hl_elf_section *text = hl_elf_section_named(f->elf, ".text");
	uint64_t state = 88172645463325252;

	for (size_t i = 0; text && i < ADDRESSES; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		f->addresses[i] = text->address + state % text->size;
	}
	return text != NULL;
}

static void measure_ours(const struct file *f)
{
	struct hl_inlines_source source = { .elf = f->elf, .debug = f->debug_elf };
	struct hl_inlines_frame frames[HL_INLINES_DEPTH];
	struct hl_inlines_limits limits = { (size_t)2 << 30, 0 };
	struct hl_inlines_header header;
	double build = 0, ns;
	struct hl_err err = { "" };
	size_t len = 0, n = 0;
	uint8_t *table = NULL;

	for (int i = 0; i < RUNS; i++) {
		free(table);
		table = NULL;
		limits.deadline_ns = hl_monotonic_ns() + UINT64_C(300000000000);
		ns = cpu_ns();
		if (hl_inlines_build(&source, &limits, &table, &len, &err) < 0) {
			(void)printf("%s: %s\n", f->path, err.text);
			return;
		}
		ns = cpu_ns() - ns;
		build = i == 0 || ns < build ? ns : build;
	}
	ns = cpu_ns();
	for (size_t i = 0; i < LOOKUPS; i++)
		n += hl_inlines_find(table, f->addresses[i * 7919 % ADDRESSES], frames);
	ns = (cpu_ns() - ns) / LOOKUPS;
	memcpy(&header, table, sizeof(header));
	(void)printf("%-16s %9.0f ms %9.0f ms %8.0f ns %7.1f MB   %u ranges, %.2f frames an address\n",
		     "hotleaf", build / 1e6, (build + ADDRESSES * ns) / 1e6, ns, (double)len / 1e6,
		     header.n_ranges, (double)n / LOOKUPS);
	free(table);
}

/* CPU time of llvm-symbolizer for the first @n addresses, in ns; negative if it cannot be run. */
static double run_llvm(const struct file *f, size_t n)
{
	const char *object = f->debug ? f->debug : f->path;
	struct rusage before, after;
	char command[1024];
	FILE *pipe;
	double ns;

	(void)snprintf(command, sizeof(command), "exec llvm-symbolizer-14 --inlines --obj='%s' >/dev/null",
		       object);
	(void)getrusage(RUSAGE_CHILDREN, &before);
	pipe = popen(command, "w");
	if (!pipe)
		return -1;
	for (size_t i = 0; i < n; i++)
		(void)fprintf(pipe, "0x%llx\n", (unsigned long long)f->addresses[i]);
	if (pclose(pipe) != 0)
		return -1;
	(void)getrusage(RUSAGE_CHILDREN, &after);
	ns = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec -
		      before.ru_stime.tv_sec) *
	     1e9;
	return ns + (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec -
			     before.ru_stime.tv_usec) *
			    1e3;
}

static void measure_llvm(const struct file *f)
{
	double first = 0, all = 0, ns;

	for (int i = 0; i < RUNS; i++) {
		ns = run_llvm(f, 1);
		first = i == 0 || ns < first ? ns : first;
		ns = run_llvm(f, ADDRESSES);
		all = i == 0 || ns < all ? ns : all;
	}
	if (first < 0 || all < 0)
		(void)printf("%-16s cannot be run\n", "llvm-symbolizer");
	else
		(void)printf("%-16s %9.0f ms %9.0f ms %8.0f ns\n", "llvm-symbolizer", first / 1e6, all / 1e6,
			     (all - first) / (ADDRESSES - 1));
}

static void measure(const char *path, const char *debug)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return;
	f->path = path;
	f->debug = debug;
	f->elf = open_elf(path);
	f->debug_elf = debug ? open_elf(debug) : NULL;
	if (f->elf && (!debug || f->debug_elf) && choose(f)) {
		(void)printf("\n%s\n%-16s %12s %12s %11s %10s\n", path, "", "1 address", "1,000", "each more",
			     "table");
		measure_ours(f);
		measure_llvm(f);
	}
	hl_elf_free(f->elf);
	hl_elf_free(f->debug_elf);
	free(f);
}

static void measure_libc(void)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	struct hl_elf *elf = open_elf(libc);
	uint8_t id[HL_ELF_BUILD_ID_MAX];
	char debug[256] = "/usr/lib/debug/.build-id/";
	size_t n = strlen(debug), len = elf ? hl_elf_build_id(elf, id) : 0;

	for (size_t i = 0; i < len && n < sizeof(debug) - 16; i++)
		n += (size_t)snprintf(debug + n, sizeof(debug) - n, i == 1 ? "/%02x" : "%02x", id[i]);
	(void)snprintf(debug + n, sizeof(debug) - n, ".debug");
	hl_elf_free(elf);
	if (access(debug, R_OK) == 0)
		measure(libc, debug);
	else
		(void)printf("no debug file of %s: libc6-dbg is not installed\n", libc);
}

int main(int argc, char **argv)
{
	char own[256];

	if (argc > 1) {
		measure(argv[1], argc > 2 ? argv[2] : NULL);
		return 0;
	}
	measure_libc();
	(void)snprintf(own, sizeof(own), "%s/hotleaf", getenv("O") ? getenv("O") : "build");
	measure(own, NULL);
	return 0;
}
