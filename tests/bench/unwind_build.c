// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind */

/*
 * unwind_build FILE…: what compiling the unwind table of each file costs. Without arguments, of some large
 * files that are usually there. CPU time is the least of five runs. "no FDE": code without call frame
 * information; "derived": for how much of it rules were derived from the instructions.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "sample/unwind_table.h"
#include "unwind/unwind.h"

enum { RUNS = 5 };

static double cpu_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Opens the file and compiles it once. */
static int build(int fd, struct hl_unwind_result *ret, double *ret_ms, struct hl_err *err)
{
	struct hl_elf *elf;
	double start;
	int r = hl_elf_open(fd, "the file", &elf, err);

	if (r < 0)
		return r;
	start = cpu_ms();
	r = hl_unwind_compile(elf, ret, err);
	*ret_ms = cpu_ms() - start;
	hl_elf_free(elf);
	return r;
}

static void measure(const char *path)
{
	struct hl_unwind_result result = { 0 };
	struct hl_err err = { "" };
	double best = 0, ms, checking;
	int fd = open(path, O_RDONLY | O_CLOEXEC), i, r = -1;

	if (fd < 0)
		return;
	for (i = 0; i < RUNS; i++) {
		free(result.bytes);
		result.bytes = NULL;
		r = build(fd, &result, &ms, &err);
		if (r < 0)
			break;
		best = i == 0 || ms < best ? ms : best;
	}
	(void)close(fd);
	if (r < 0) {
		printf("%-52s %s\n", path, err.text);
		return;
	}
	checking = cpu_ms();
	r = hl_unwind_check(result.bytes, result.len, &err);
	checking = cpu_ms() - checking;
	printf("%-52s %8u %8u %6u %7u %8.1f %8.2f %8.2f %9llu %8.1f%s%s%s\n", path, result.n_fdes,
	       result.n_rows, result.n_rules, result.n_unsupported, best, checking,
	       (double)result.len / (double)result.n_rows, (unsigned long long)result.uncovered >> 10,
	       result.uncovered ? 100.0 * (double)result.derived / (double)result.uncovered : 0,
	       result.left_out ? " cut" : "", r < 0 ? " " : "", err.text);
	free(result.bytes);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/bin/perf",
		"/usr/bin/python3.11",
		"/usr/bin/node",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	};
	size_t i;

	printf("%-52s %8s %8s %6s %7s %8s %8s %8s %9s %8s\n", "file", "FDEs", "rows", "rules", "unsupp.",
	       "CPU ms", "check ms", "bytes/row", "no FDE KB", "derived%");
	for (i = 0; argc < 2 && i < sizeof(usual) / sizeof(*usual); i++)
		measure(usual[i]);
	for (i = 1; i < (size_t)argc; i++)
		measure(argv[i]);
	return 0;
}
