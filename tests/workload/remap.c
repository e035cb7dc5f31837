// SPDX-License-Identifier: BSD-2-Clause
/* remap SECONDS: moves a part of its code to anonymous memory at the same address, as for huge pages, and runs it. */
#include "work.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define MOVED __attribute__((section(".moved"))) OWN_FRAME

MOVED __attribute__((aligned(4096))) static void moved_work(void)
{
	SPIN(200000);
}

MOVED static void call_moved_work(void)
{
	moved_work();
	AFTER_CALL();
}

static bool move(void)
{
	enum { SIZE = 4096 };
	char *from = (char *)((uintptr_t)moved_work & ~(uintptr_t)(SIZE - 1));
	char *to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		return false;
	memcpy(to, from, SIZE);
	return mprotect(to, SIZE, PROT_READ | PROT_EXEC) == 0 &&
	       mremap(to, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, from) == from;
}

int main(int argc, char **argv)
{
	double end = end_of(argc, argv);

	if (!move())
		return 1;
	while (now() < end)
		call_moved_work();
	return 0;
}
