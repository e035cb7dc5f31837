// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/cursor.h"

#include <errno.h>

#include "base/err.h"
#include "harness.h"

HL_TEST(reads_little_endian_fields)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct hl_cursor c = hl_cursor_of(bytes, sizeof(bytes), "bytes");

	CHECK_INT(hl_cursor_u8(&c), 1);
	CHECK_INT(hl_cursor_u16(&c), 0x0302);
	CHECK_INT(hl_cursor_u32(&c), 0x07060504);
	CHECK_INT(hl_cursor_u64(&c), 0x0f0e0d0c0b0a0908);
	CHECK_INT(hl_cursor_left(&c), 0);
	CHECK_INT(hl_cursor_status(&c, NULL), 0);
}

HL_TEST(a_read_past_the_end_is_remembered)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct hl_cursor c = hl_cursor_of(bytes, sizeof(bytes), "section 'x'");
	struct hl_err err = { "" };

	hl_cursor_skip(&c, 1);
	CHECK_INT(hl_cursor_u32(&c), 0);
	CHECK_INT(hl_cursor_u8(&c), 0); /* although a byte is there */
	CHECK_INT(hl_cursor_left(&c), 0);
	hl_cursor_seek(&c, 0);
	CHECK_INT(hl_cursor_u8(&c), 0);
	CHECK_INT(hl_cursor_status(&c, &err), -EBADMSG);
	CHECK_STR(err.text, "section 'x' ends too early: 4 bytes wanted at 0x1 of 0x3");
}

HL_TEST(lengths_near_the_top_of_size_t_do_not_wrap)
{
	static const uint8_t bytes[8];
	struct hl_cursor c = hl_cursor_of(bytes, sizeof(bytes), "bytes");

	hl_cursor_skip(&c, 4);
	CHECK(!hl_cursor_bytes(&c, SIZE_MAX - 2));
	CHECK(c.failed);
	c = hl_cursor_of(bytes, sizeof(bytes), "bytes");
	hl_cursor_seek(&c, SIZE_MAX);
	CHECK(c.failed);
	c = hl_cursor_of(bytes, sizeof(bytes), "bytes");
	hl_cursor_seek(&c, sizeof(bytes));
	CHECK(!c.failed);
}

static uint64_t uleb(const void *bytes, size_t len, bool *failed)
{
	struct hl_cursor c = hl_cursor_of(bytes, len, "leb");
	uint64_t value = hl_cursor_uleb(&c);

	*failed = c.failed;
	return value;
}

static int64_t sleb(const void *bytes, size_t len, bool *failed)
{
	struct hl_cursor c = hl_cursor_of(bytes, len, "leb");
	int64_t value = hl_cursor_sleb(&c);

	*failed = c.failed;
	return value;
}

HL_TEST(leb128)
{
	bool failed;

	CHECK_INT(uleb("\xe5\x8e\x26", 3, &failed), 624485); /* the examples of DWARF 5, 7.6 and figure 22 */
	CHECK_INT(uleb("\x80\x01", 2, &failed), 128);
	CHECK_INT(uleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &failed), (long long)UINT64_MAX);
	CHECK(!failed);
	(void)uleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &failed);
	CHECK(failed);
	CHECK_INT(uleb("\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, &failed), 1); /* padded */
	CHECK(!failed);
	(void)uleb("\x80\x80", 2, &failed);
	CHECK(failed);
	CHECK_INT(sleb("\x7f", 1, &failed), -1);
	CHECK_INT(sleb("\xff\x00", 2, &failed), 127);
	CHECK_INT(sleb("\x80\x7f", 2, &failed), -128);
	CHECK_INT(sleb("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, &failed), INT64_MIN);
	CHECK(!failed);
	(void)sleb("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 12, &failed);
	CHECK(failed);
}

HL_TEST(strings_end_at_their_nul_or_fail)
{
	struct hl_cursor c = hl_cursor_of("ab\0\0cd", 6, "strings");

	CHECK_STR(hl_cursor_string(&c), "ab");
	CHECK_STR(hl_cursor_string(&c), "");
	CHECK_INT(c.pos, 4);
	CHECK(!hl_cursor_string(&c));
	CHECK(c.failed);
}
