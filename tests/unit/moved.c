// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include "process/moved.h"

#include "harness.h"

static const struct hl_process_key one = { .start_time = 5, .tgid = 10, .exec_id = 1 };
static const struct hl_process_key replaced = { .start_time = 5, .tgid = 10, .exec_id = 2 };

#define FRAME(file, offset) ((uint64_t)(file) << HL_FRAME_FILE_SHIFT | (offset))

static void add(struct hl_moved_code *moved, uint64_t start, uint64_t end, uint64_t offset, uint32_t file)
{
	struct hl_moved_key key = { one, start };
	struct hl_moved where = { .end = end, .offset = offset, .file = file };

	CHECK_INT(hl_moved_code_add(moved, &key, &where), 0);
}

HL_TEST(frames_of_moved_code)
{
	struct hl_moved_code *moved = hl_moved_code_new();

	add(moved, 0x2000, 0x4000, 0x1000, 7);
	add(moved, 0x8000, 0x9000, 0x3000, 8);
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2000, &one), FRAME(7, 0x1000));
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x3fff, &one), FRAME(7, 0x2fff));
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x8010, &one), FRAME(8, 0x3010));
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x4000, &one), HL_FRAME_RAW | 0x4000);
	/* Another program since. */
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2000, &replaced), HL_FRAME_RAW | 0x2000);
	CHECK_INT(hl_moved_code_translate(moved, FRAME(3, 0x2000), &one), FRAME(3, 0x2000));
	add(moved, 0x2000, 0x3000, 0x5000, 9); /* moved anew */
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2001, &one), FRAME(9, 0x5001));
	hl_moved_code_free(moved);
}

HL_TEST(copies_stay)
{
	struct hl_moved_code *moved = hl_moved_code_new(), *copy;

	add(moved, 0x2000, 0x4000, 0x1000, 7);
	add(moved, 0x8000, 0x9000, 0x3000, 8);
	copy = hl_moved_code_copy(moved);
	hl_moved_code_clear(moved);
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2000, &one), HL_FRAME_RAW | 0x2000);
	CHECK_INT(hl_moved_code_file(moved, 0), HL_FILE_NONE);
	add(moved, 0x2000, 0x4000, 0x1000, 9);
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2000, &one), FRAME(9, 0x1000));
	hl_moved_code_free(moved);
	CHECK_INT(hl_moved_code_translate(copy, HL_FRAME_RAW | 0x8010, &one), FRAME(8, 0x3010));
	CHECK_INT(hl_moved_code_file(copy, 0), 7);
	CHECK_INT(hl_moved_code_file(copy, 1), 8);
	CHECK_INT(hl_moved_code_file(copy, 2), HL_FILE_NONE);
	hl_moved_code_free(copy);
}

HL_TEST(files_expire)
{
	struct hl_moved_code *moved = hl_moved_code_new();

	add(moved, 0x2000, 0x4000, 0x1000, 7);
	add(moved, 0x6000, 0x7000, 0x1000, 8);
	add(moved, 0x8000, 0x9000, 0x3000, 7);
	hl_moved_code_forget(moved, 5);
	CHECK_INT(hl_moved_code_file(moved, 2), 7);
	hl_moved_code_forget(moved, 7);
	CHECK_INT(hl_moved_code_file(moved, 1), HL_FILE_NONE);
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x2000, &one), HL_FRAME_RAW | 0x2000);
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x6000, &one), FRAME(8, 0x1000));
	CHECK_INT(hl_moved_code_translate(moved, HL_FRAME_RAW | 0x8000, &one), HL_FRAME_RAW | 0x8000);
	hl_moved_code_free(moved);
}

HL_TEST(looks_become_rare)
{
	struct hl_moved_code *moved = hl_moved_code_new();
	uint32_t pause = 0, next;

	for (int i = 0; i < 20; i++) {
		next = hl_moved_code_look(moved, &one, 100, false);
		CHECK(next - 100 >= pause);
		pause = next - 100;
	}
	CHECK(pause > 50000 && pause < 100000);
	CHECK(hl_moved_code_look(moved, &replaced, 100, false) - 100 < 3000);
	CHECK(hl_moved_code_look(moved, &one, 100, true) - 100 < 2000);
	hl_moved_code_free(moved);
}
