// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include "process/remapped.h"

#include "harness.h"

static struct hl_remapped_finder finder;

static void map(uint64_t start, uint64_t end, uint64_t offset, uint64_t inode, bool exec)
{
	struct hl_proc_mapping m = {
		.start = start, .end = end, .offset = offset, .inode = inode, .device = 1, .exec = exec
	};

	hl_remapped_take(&finder, &m);
}

HL_TEST(code_between_two_parts_of_a_file)
{
	map(0x1000, 0x2000, 0, 7, false);
	map(0x2000, 0x3000, 0x1000, 7, true);
	map(0x3000, 0x5000, 0, 0, true);
	map(0x5000, 0x6000, 0, 0, true); /* in two pieces */
	map(0x6000, 0x7000, 0x5000, 7, true);
	map(0x7000, 0x8000, 0, 0, true);
	map(0x8000, 0x9000, 0x7000, 7, false); /* to its end */
	CHECK_INT(finder.n, 2);
	CHECK_INT(finder.found[0].start, 0x3000);
	CHECK_INT(finder.found[0].end, 0x6000);
	CHECK_INT(finder.found[0].offset, 0x2000);
	CHECK_INT(finder.found[0].beside_start, 0x2000);
	CHECK_INT(finder.found[0].beside_end, 0x3000);
	CHECK_INT(finder.found[1].start, 0x7000);
	CHECK_INT(finder.found[1].offset, 0x6000);
}

HL_TEST(code_that_is_no_part_of_a_file)
{
	map(0x1000, 0x2000, 0, 7, true);
	map(0x2000, 0x3000, 0, 0, true);
	map(0x3000, 0x4000, 0x1000, 7, true); /* the file has no gap there */
	map(0x4000, 0x5000, 0, 0, true);
	map(0x5000, 0x6000, 0x3000, 8, true); /* another file */
	map(0x6000, 0x7000, 0, 0, false);     /* data */
	map(0x7000, 0x8000, 0x5000, 8, true);
	map(0x9000, 0xa000, 0, 0, true); /* not beside the file */
	map(0xa000, 0xb000, 0x8000, 8, true);
	map(0xb000, 0xc000, 0, 0, true);
	map(0xd000, 0xe000, 0xb000, 8, true); /* … nor this */
	map(0xe000, 0xf000, 0, 0, true);      /* nothing behind it */
	CHECK_INT(finder.n, 0);
}

HL_TEST(more_than_there_is_room_for)
{
	for (uint64_t i = 0; i < 3 * HL_REMAPPED_MAX; i++)
		map(i * 0x1000, (i + 1) * 0x1000, i % 2 ? 0 : i * 0x1000, i % 2 ? 0 : 7, true);
	CHECK_INT(finder.n, HL_REMAPPED_MAX);
}
