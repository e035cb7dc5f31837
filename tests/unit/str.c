// SPDX-License-Identifier: BSD-2-Clause
/* needs: base */
#include "base/str.h"

#include "harness.h"

static const char *clean(const char *text, size_t len)
{
	static struct hl_str s;

	hl_str_clear(&s);
	hl_str_add_clean(&s, text, len);
	return s.data;
}

HL_TEST(grows_and_stays_terminated)
{
	_cleanup_str_ struct hl_str s = { 0 };

	for (int i = 0; i < 1000; i++)
		hl_str_addf(&s, "%d,", i);
	CHECK_INT(hl_str_status(&s), 0);
	CHECK_INT(s.len, 3890);
	CHECK_INT(s.data[s.len], 0);
	CHECK(hl_ends_with(s.data, "998,999,"));
	hl_str_clear(&s);
	CHECK_STR(s.data, "");
}

HL_TEST(borrows_memory_until_it_is_outgrown)
{
	char room[8] = "unused!";
	struct hl_str s = { 0 };

	hl_str_adds(&s, "of its own");
	hl_str_borrow(&s, room, sizeof(room));
	CHECK_INT(s.len, 0);
	hl_str_adds(&s, "1234567");
	CHECK(s.borrowed && s.data == room);
	CHECK_STR(room, "1234567");
	hl_str_adds(&s, "8");
	CHECK(!s.borrowed && s.data != room);
	CHECK_STR(s.data, "12345678");
	CHECK_STR(room, "1234567");
	hl_str_borrow(&s, room, 0);
	hl_str_adds(&s, "x");
	CHECK(!s.borrowed);
	hl_str_done(&s);
	hl_str_borrow(&s, room, sizeof(room));
	hl_str_done(&s); /* frees nothing */
}

HL_TEST(formats_what_is_longer_than_its_first_room)
{
	_cleanup_str_ struct hl_str s = { 0 };

	hl_str_addf(&s, "%0500d", 7);
	CHECK_INT(s.len, 500);
	CHECK_INT(s.data[499], '7');
}

HL_TEST(only_our_marks_stand_in_brackets)
{
	static const char *const names[][2] = {
		{ "[irq]", "\\x5birq]" },
		{ "[]", "\\x5b]" },
		{ "[", "[" },
		{ "]", "]" },
		{ "[irq", "[irq" },
		{ "irq]", "irq]" },
		{ "", "" },
		{ "f_[k]", "f_\\x5bk]" },
		{ "_[i]", "_\\x5bi]" },
		{ "[_[j]", "\\x5b_\\x5bj]" },
		{ "f_[x]", "f_[x]" },
		{ "f_[k", "f_[k" },
		{ "f[k]", "f[k]" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		_cleanup_str_ struct hl_str s = { 0 };

		hl_str_adds(&s, "");
		hl_str_add_unmarked(&s, names[i][0], strlen(names[i][0]));
		CHECK_STR(s.data, names[i][1]);
	}
}

HL_TEST(clean_replaces_invalid_utf8_and_controls)
{
	CHECK_STR(clean("a\377b", 3), "a\357\277\275b");
	CHECK_STR(clean("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
	CHECK_STR(clean("\xc0\x80", 2), "\xef\xbf\xbd\xef\xbf\xbd");                 /* overlong */
	CHECK_STR(clean("\xe2\x82", 2), "\xef\xbf\xbd\xef\xbf\xbd");                 /* cut */
	CHECK_STR(clean("\xf0\x9f\x94\xa5", 4), "\xf0\x9f\x94\xa5");
	CHECK_STR(clean("x\ny\t\x1b[m\x7f", 8), "x\\ny\\t\\x1b[m\\x7f");
	CHECK_STR(clean("\xc2\x9b", 2), "\\x9b"); /* the C1 form of ESC [ */
}

HL_TEST(strings_of_json)
{
	_cleanup_str_ struct hl_str s = { 0 };

	hl_str_add_json(&s, "a\"\\\n\x1b\xc3\xa9", 7);
	CHECK_STR(s.data, "\"a\\\"\\\\\\u000a\\u001b\xc3\xa9\"");
}
