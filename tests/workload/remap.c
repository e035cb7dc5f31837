// SPDX-License-Identifier: BSD-2-Clause
/*
 * remap SECONDS [HOW [PROGRAM…]]: moves its code to anonymous memory at the same address, as for huge pages,
 * and runs it. HOW is what it moves and what it makes of it: "part", a page of its own; "all", the segment that
 * holds it; "changed", likewise, with one byte changed; "none". Then PROGRAM takes its place, if there is one.
 */
#include "work.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOVED __attribute__((section(".moved"))) OWN_FRAME
#define PAGE  4096

MOVED __attribute__((aligned(PAGE))) static void moved_work(void)
{
	SPIN(200000);
}

MOVED static void call_moved_work(void)
{
	moved_work();
	AFTER_CALL();
}

/* Never run: a byte of it may change. */
__attribute__((noinline, used)) static void unused(void)
{
	SPIN(3);
}

/* No function of libc that may lie in what is not there for a moment: it is moved in one step. */
static bool move(char *from, size_t size, char *changed)
{
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		return false;
	memcpy(to, from, size);
	if (changed)
		to[changed - from] ^= 1;
	return mprotect(to, size, PROT_READ | PROT_EXEC) == 0 &&
	       mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, from) == from;
}

/* The mapping that holds @address. */
static bool find_mapping(const void *address, char **ret_start, size_t *ret_size)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)address >= start &&
			(uintptr_t)address < end;
	if (f)
		(void)fclose(f);
	if (found) {
		*ret_start = (char *)start;
		*ret_size = end - start;
	}
	return found;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "part";
	double end = end_of(argc, argv);
	char *from = (char *)((uintptr_t)moved_work & ~(uintptr_t)(PAGE - 1));
	bool changed = strcmp(how, "changed") == 0;
	size_t size = PAGE;

	if (strcmp(how, "part") != 0 && !find_mapping((void *)moved_work, &from, &size))
		return 1;
	if (strcmp(how, "none") != 0 && !move(from, size, changed ? (char *)unused : NULL))
		return 1;
	if (argc > 3) {
		(void)execv(argv[3], argv + 3);
		return 1;
	}
	while (now() < end)
		call_moved_work();
	return 0;
}
