// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include "process/remapped.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

static struct hl_remapped_finder finder;

static void map(uint64_t start, uint64_t end, uint64_t offset, uint64_t inode, bool exec)
{
	struct hl_proc_mapping m = { .start = start,
				     .end = end,
				     .offset = offset,
				     .inode = inode,
				     .device = 1,
				     .exec = exec,
				     .path = inode ? "/usr/bin/it" : "" };

	hl_remapped_take(&finder, &m);
}

static void check_guesses(size_t which, const uint64_t *offsets, size_t n)
{
	struct hl_remapped_guess guesses[HL_REMAPPED_GUESSES];

	CHECK_INT(hl_remapped_guess(&finder.found[which], guesses), n);
	for (size_t i = 0; i < n; i++)
		CHECK_INT(guesses[i].offset, offsets[i]);
}

HL_TEST(code_between_two_parts_of_a_file)
{
	struct hl_remapped_guess guesses[HL_REMAPPED_GUESSES];

	map(0x1000, 0x2000, 0, 7, false);
	map(0x2000, 0x3000, 0x1000, 7, true);
	map(0x3000, 0x5000, 0, 0, true);
	map(0x5000, 0x6000, 0, 0, true); /* in two pieces */
	map(0x6000, 0x7000, 0x5000, 7, true);
	map(0x7000, 0x8000, 0, 0, false); /* data */
	map(0x8000, 0x9000, 0x7000, 7, false);
	hl_remapped_take(&finder, NULL);
	CHECK_INT(finder.n, 2);
	CHECK_INT(finder.found[0].at.start, 0x3000);
	CHECK_INT(finder.found[1].at.start, 0x5000);
	CHECK_INT(hl_remapped_guess(&finder.found[0], guesses), 1);
	CHECK_INT(guesses[0].beside_start, 0x2000);
	CHECK_INT(guesses[0].beside_end, 0x3000);
	check_guesses(0, (uint64_t[]){ 0x2000 }, 1);
	check_guesses(1, (uint64_t[]){ 0x4000 }, 1);
}

/* lld, mold: each segment is a page further from its place than the one before. */
HL_TEST(segments_that_drift)
{
	map(0x400000, 0x402000, 0, 7, false);
	map(0x402000, 0x408000, 0, 0, true);
	map(0x408000, 0x409000, 0x6000, 7, false);
	hl_remapped_take(&finder, NULL);
	check_guesses(0, (uint64_t[]){ 0x2000, 0x1000, 0 }, 3);
}

/* The whole of a file's first segment, or its last. */
HL_TEST(only_one_side_is_left)
{
	map(0x1000, 0x2000, 0, 0, true);
	map(0x2000, 0x3000, 0x1000, 7, false);
	map(0x3000, 0x4000, 0, 0, true);
	map(0x4000, 0x5000, 0x9000, 8, false); /* another file: it may be either's */
	map(0x8000, 0x9000, 0, 0, true);
	hl_remapped_take(&finder, NULL);
	CHECK_INT(finder.n, 3);
	check_guesses(0, (uint64_t[]){ 0 }, 1);
	check_guesses(1, (uint64_t[]){ 0x8000, 0x2000 }, 2);
	check_guesses(2, (uint64_t[]){ 0xd000 }, 1);
}

/* A runtime has thousands, and one of them is asked for. */
HL_TEST(the_one_asked_for_is_found_among_many)
{
	const uint64_t pages = 400, asked = 0x1000 * 399;
	bool found = false;

	finder.asked = asked;
	for (uint64_t i = 1; i < pages; i++)
		map(i * 0x1000, (i + 1) * 0x1000, i, i % 10 ? 0 : 7, true);
	hl_remapped_take(&finder, NULL);
	CHECK_INT(finder.n, HL_REMAPPED_MAX);
	for (size_t i = 0; i < finder.n; i++)
		found = found || finder.found[i].at.start == asked;
	CHECK(found);
}

enum { SIZE = 5 * 4096 + 16384 };

static char *memory;
static int mem_fd, file_fd;

/* Memory, and a file that holds it from its byte 4096 on. */
static void set_up(void)
{
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (char)(i % 251 + 1);
	mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	file_fd = memfd_create("code", MFD_CLOEXEC);
	CHECK(mem_fd >= 0 && file_fd >= 0);
	CHECK_INT(pwrite(file_fd, memory, SIZE, 4096), SIZE);
}

static bool is_equal(uint64_t offset)
{
	uint64_t start = (uintptr_t)memory;

	return hl_remapped_is_equal(mem_fd, start, start + SIZE, file_fd, offset);
}

HL_TEST(equal_bytes)
{
	set_up();
	CHECK(is_equal(4096));
	CHECK(!is_equal(0));
	CHECK(!is_equal(8192)); /* the file ends before */
	CHECK(!hl_remapped_is_equal(mem_fd, 4096, 4096, file_fd, 0));
	CHECK(!hl_remapped_is_equal(mem_fd, 0, 4096, file_fd, 0)); /* nothing is there */
	CHECK(!is_equal(UINT64_MAX - 4095));
}

HL_TEST(any_changed_byte)
{
	const size_t places[] = { 0, 4095, 16383, 16384, SIZE - 4097, SIZE - 4096, SIZE - 2 };

	set_up();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		memory[places[i]]++;
		CHECK(!is_equal(4096));
		memory[places[i]]--;
	}
	CHECK(is_equal(4096));
}

/* What lies behind the code in its last page need not have been copied. */
HL_TEST(zeros_at_the_end)
{
	set_up();
	memset(memory + SIZE - 4000, 0, 4000);
	CHECK(is_equal(4096));
	memory[SIZE - 1] = 1;
	CHECK(!is_equal(4096));
	memset(memory + SIZE - 5000, 0, 5000);
	CHECK(!is_equal(4096));
}
