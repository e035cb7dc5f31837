// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "harness.h"

static const char *demangled(const char *name)
{
	static struct hl_str s;

	hl_str_clear(&s);
	hl_str_adds(&s, "");
	return hl_demangle(name, &s) ? s.data : "(no)";
}

HL_TEST(what_it_knows)
{
	CHECK_STR(demangled("_Z1ai"), "a(int)");
	CHECK_STR(demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
		  "std::vector<int, std::allocator<int> >::push_back(int const&)");
	CHECK_STR(demangled("_ZN3foo3barEv.part.0"), "foo::bar() [clone .part.0]");
	CHECK_STR(demangled("_RNvC6_123foo3bar"), "123foo::bar");
	CHECK_STR(demangled("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"),
		  "core::fmt::Write::write_str");
	CHECK_STR(demangled("main"), "(no)");
	CHECK_STR(demangled(""), "(no)");
	CHECK_STR(demangled("_"), "(no)");
	CHECK_STR(demangled("_Z"), "(no)");
	CHECK_STR(demangled("_RNvC1"), "(no)");
}

HL_TEST(what_was_there_before_stays)
{
	_cleanup_str_ struct hl_str s = { 0 };

	hl_str_adds(&s, "x ");
	CHECK(hl_demangle("_Z1fv", &s));
	CHECK(!hl_demangle("_RINvC1aNvC1bp", &s));
	CHECK(!hl_demangle("puts", &s));
	CHECK_STR(s.data, "x f()");
}

static double cpu_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A name whose parameters each stand for twice the text of the one before. */
static void make_bomb(struct hl_str *s, int levels)
{
	int i;

	hl_str_adds(s, "_Z1fN1AIiiE1BE");
	for (i = 0; i < levels; i++) {
		/* S<n>_ is the last substitution; base 36 with one digit less one. */
		int last = i * 3 + 2; /* each level adds A, A<…> and A<…>::B */
		char ref[16];

		if (last == 0)
			strcpy(ref, "S_");
		else if (last - 1 < 36)
			(void)snprintf(ref, sizeof(ref), "S%c_",
				       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last - 1]);
		else
			(void)snprintf(ref, sizeof(ref), "S%c%c_",
				       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(last - 1) / 36],
				       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(last - 1) % 36]);
		hl_str_addf(s, "N1AI%s%sE1BE", ref, ref);
	}
}

HL_TEST(bombs_end_at_the_limit)
{
	_cleanup_str_ struct hl_str bomb = { 0 }, out = { 0 };
	double before = cpu_seconds();
	int levels, given_up = 0;

	for (levels = 1; levels < 100; levels++) {
		hl_str_clear(&bomb);
		hl_str_clear(&out);
		make_bomb(&bomb, levels);
		if (!hl_demangle(bomb.data, &out))
			given_up++;
		CHECK(out.len <= HL_DEMANGLE_OUTPUT_MAX);
		CHECK(out.cap <= 2 * HL_DEMANGLE_OUTPUT_MAX + 64);
	}
	CHECK(given_up > 50); /* it is a bomb: at 100 levels the text would be longer than 2¹⁰⁰ */
	CHECK(cpu_seconds() - before < 1);
}

HL_TEST(small_bombs_are_demangled)
{
	_cleanup_str_ struct hl_str bomb = { 0 }, out = { 0 };

	make_bomb(&bomb, 3);
	CHECK(hl_demangle(bomb.data, &out));
	CHECK(out.len > 100);
}

HL_TEST(deep_and_long_names)
{
	_cleanup_free_ char *deep = malloc(200001), *rust = malloc(200001);
	_cleanup_str_ struct hl_str out = { 0 };
	double before = cpu_seconds();
	size_t i;

	CHECK(deep && rust);
	memset(deep, 'P', 200000);
	memcpy(deep, "_Z1f", 4);
	deep[199999] = 'i';
	deep[200000] = '\0';
	CHECK(!hl_demangle(deep, &out));
	deep[8000] = '\0';
	(void)hl_demangle(deep, &out);
	strcpy(rust, "_RINvC1a");
	for (i = 8; i + 6 < 8000; i += 6)
		memcpy(rust + i, "INvC1a", 6);
	rust[i] = '\0';
	CHECK(!hl_demangle(rust, &out));
	CHECK(cpu_seconds() - before < 1);
}

HL_TEST(names_are_cut_with_a_mark)
{
	_cleanup_str_ struct hl_str out = { 0 };
	_cleanup_free_ char *name = malloc(100001);

	CHECK(name);
	memset(name, 'L', 100000);
	name[100000] = '\0';
	hl_demangle_or_copy(name, 100000, 4096, &out);
	CHECK_INT(out.len, 4096 + 3);
	CHECK_STR(out.data + 4095, "L…");
	hl_str_clear(&out);
	hl_demangle_or_copy("ab\xf0\x9f\x94\xa5", 6, 4, &out); /* not inside a character */
	CHECK_STR(out.data, "ab…");
	hl_str_clear(&out);
	hl_demangle_or_copy("abcd", 4, 4, &out);
	CHECK_STR(out.data, "abcd");
	hl_str_clear(&out);
	hl_demangle_or_copy("raw\xff\n", 5, 100, &out); /* bytes stay as they are */
	CHECK_STR(out.data, "raw\xff\n");
}
