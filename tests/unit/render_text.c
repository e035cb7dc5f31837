// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render */
#include "render/common.h"

#include "harness.h"

static const char *fit(const char *text, size_t columns, enum hl_render_cut cut)
{
	static struct hl_str s;
	size_t used;

	hl_str_clear(&s);
	hl_str_adds(&s, "");
	used = hl_render_fit(&s, text, strlen(text), columns, cut);
	CHECK(used <= columns);
	CHECK_INT(used, hl_render_columns(s.data, s.len));
	return s.data;
}

HL_TEST(fit_cuts_between_characters)
{
	CHECK_STR(fit("abcdef", 6, HL_RENDER_CUT_END), "abcdef");
	CHECK_STR(fit("abcdef", 5, HL_RENDER_CUT_END), "abcd\xe2\x80\xa6");
	CHECK_STR(fit("abcdefghij", 7, HL_RENDER_CUT_MIDDLE), "abcd\xe2\x80\xa6ij");
	CHECK_STR(fit("\xe6\xb0\xb4\xe6\xb0\xb4\xe6\xb0\xb4", 4, HL_RENDER_CUT_END),
		  "\xe6\xb0\xb4\xe2\x80\xa6");
	CHECK_STR(fit("abc", 0, HL_RENDER_CUT_END), "");
	CHECK_STR(fit("abc", 1, HL_RENDER_CUT_MIDDLE), "\xe2\x80\xa6");
}

HL_TEST(fit_shortens_names_inside_their_brackets)
{
	CHECK_STR(fit("std::map<int, std::less<int>>::insert(int&)", 25, HL_RENDER_CUT_NAME),
		  "std::map<int\xe2\x80\xa6>::insert(\xe2\x80\xa6)");
	CHECK_STR(fit("std::map<int, std::less<int>>::insert(int&)", 35, HL_RENDER_CUT_NAME),
		  "std::map<int, std::les\xe2\x80\xa6>::insert(\xe2\x80\xa6)");
	CHECK_STR(fit("a::operator<<(std::ostream&, int)", 20, HL_RENDER_CUT_NAME),
		  "a::operator<<(std:\xe2\x80\xa6)");
	CHECK_STR(fit("f::operator()(long, long)", 20, HL_RENDER_CUT_NAME),
		  "f::operator()(long\xe2\x80\xa6)");
	CHECK_STR(fit("unpaired<<<name", 10, HL_RENDER_CUT_NAME), "unpair\xe2\x80\xa6"
								  "ame");
}

HL_TEST(clean_cuts_long_names)
{
	_cleanup_str_ struct hl_str s = { 0 };

	hl_render_clean(&s, "abcdefgh", 8, 8);
	CHECK_STR(s.data, "abcdefgh");
	hl_str_clear(&s);
	hl_render_clean(&s, "abcdefghi", 9, 8);
	CHECK_STR(s.data, "abcde\xe2\x80\xa6");
	hl_str_clear(&s);
	hl_render_clean(&s, "abc\xe6\xb0\xb4wxyz", 10, 8);
	CHECK_STR(s.data, "abc\xe2\x80\xa6");
	hl_str_clear(&s);
	hl_render_clean(&s, "ab\n\n\n\n", 6, 8);
	CHECK_STR(s.data, "ab\\n\xe2\x80\xa6");
}

HL_TEST(numbers_do_not_depend_on_the_locale)
{
	_cleanup_str_ struct hl_str s = { 0 };

	hl_render_decimal(&s, 1.0049, 2);
	hl_str_addc(&s, ' ');
	hl_render_decimal(&s, 0.06, 1);
	hl_str_addc(&s, ' ');
	hl_render_percent(&s, 44, 100);
	hl_str_addc(&s, ' ');
	hl_render_percent(&s, 1, 30);
	hl_str_addc(&s, ' ');
	hl_render_share(&s, 1, 0);
	hl_str_addc(&s, ' ');
	hl_render_time(&s, 1796040000123000000);
	CHECK_STR(s.data, "1.00 0.1 44 % 3.3 % 0.0 2026-11-30T12:00:00.123Z");
}
