// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include "profile/hot.h"

#include <stdlib.h>

#include "base/str.h"
#include "profile/listing.h"
#include "render/listing.h"

#include "harness.h"
#include "profiles.h"

struct small {
	struct hl_profile *p;
	uint32_t work; /* after finishing */
};

/* `work` called by a and by b, inlined code in it, a loop, itself; other functions that must not count. */
static struct small small(void)
{
	struct small s = { .p = hl_profile_new() };
	struct hl_profile *p = s.p;
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app"),
		 loop = profiles_named(p, HL_FRAME_PART, "[loop]");
	uint32_t a = profiles_function(p, HL_FRAME_USER, 0x1000, "a"),
		 b = profiles_function(p, HL_FRAME_USER, 0x1100, "b");
	uint32_t work = profiles_function(p, HL_FRAME_USER, 0x2000, "work");
	uint32_t leaf = profiles_function(p, HL_FRAME_USER, 0x3000, "leaf");
	uint32_t inl = profiles_function(p, HL_FRAME_INLINED, 0x2010, "inl");
	uint32_t imul = profiles_insn(p, 0x2010, 0x10, 0, "imul %rdi,%rdi");
	uint32_t divs = profiles_insn(p, 0x2020, 0x20, 4, "div %rsi");
	uint32_t ret = profiles_insn(p, 0x3001, 1, 3, "ret"),
		 mov = profiles_insn(p, 0x1001, 1, 1, "mov (%rax),%eax");

	profiles_add(p, (uint32_t[]){ app, a, work, imul }, 4, 10);
	profiles_add(p, (uint32_t[]){ app, a, work, inl, imul }, 5, 20);
	profiles_add(p, (uint32_t[]){ app, a, work, divs }, 4, 3);
	profiles_add(p, (uint32_t[]){ app, b, work, loop, divs }, 5, 40);
	profiles_add(p, (uint32_t[]){ app, b, work, work, divs }, 5, 5);
	profiles_add(p, (uint32_t[]){ app, work, imul }, 3, 1);
	profiles_add(p, (uint32_t[]){ app, b, work, leaf, ret }, 5, 7);
	profiles_add(p, (uint32_t[]){ app, a, mov }, 3, 9);
	CHECK_INT(hl_profile_finish(p), 0);
	while (strcmp(hl_profile_get_frame(p, s.work)->name, "work") != 0)
		s.work++;
	return s;
}

HL_TEST(samples_by_instruction_and_caller)
{
	struct small s = small();
	uint64_t *samples = hl_hot_functions(s.p);
	_cleanup_str_ struct hl_str text = { 0 };
	struct hl_hot hot;

	CHECK_INT(samples[s.work], 79);
	free(samples);
	CHECK_INT(hl_hot_collect(s.p, s.work, &hot), 0);
	CHECK_INT(hot.samples, 79);
	CHECK_INT(hot.total, 86);
	for (size_t i = 0; i < hot.n_insns; i++)
		hl_str_addf(&text, "%s %d; ", hl_profile_get_frame(s.p, hot.insns[i].frame)->name,
			    (int)hot.insns[i].samples);
	for (size_t i = 0; i < hot.n_callers; i++) {
		const struct hl_hot_caller *c = &hot.callers[i];

		hl_str_addf(&text, "%s %d:", hl_profile_get_frame(s.p, c->frame)->name, (int)c->samples);
		for (size_t k = 0; k < c->n_top; k++)
			hl_str_addf(&text, " %s %d", hl_profile_get_frame(s.p, c->top[k].frame)->name,
				    (int)c->top[k].samples);
		hl_str_adds(&text, "; ");
	}
	CHECK_STR(text.data, "imul %rdi,%rdi 31; div %rsi 48; b 45: div %rsi 45; "
			     "a 33: imul %rdi,%rdi 30 div %rsi 3; app 1: imul %rdi,%rdi 1; ");
	hl_hot_done(&hot);
	hl_profile_free(s.p);
}

HL_TEST(a_listing_as_text)
{
	struct small s = small();
	struct hl_listing_row rows[] = {
		{ .address = 0x200e, .length = 2, .text = "xor %eax,%eax", .text_len = 13, .suspect = true },
		{ .address = 0x2010,
		  .length = 4,
		  .text = "imul %rdi,%rdi",
		  .text_len = 14,
		  .samples = 31,
		  .other = "nop",
		  .other_len = 3 },
		{ .address = 0x2020,
		  .length = 3,
		  .text = "div\x1b[31m %rsi",
		  .text_len = 13,
		  .samples = 48,
		  .overlaps = true },
	};
	const struct hl_listing parts[] = {
		{ .rows = rows, .n = 3, .start = 0x2000, .size = 64, .whole = true, .cut = true },
		{ .rows = rows + 1, .n = 1, .why = "the file is gone" },
	};
	struct hl_hot hot;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	CHECK_INT(hl_hot_collect(s.p, s.work, &hot), 0);
	CHECK_INT(hl_render_listing(s.p, &hot, parts, 2, out), 0);
	CHECK(fclose(out) == 0);
	profiles_check_clean(text, len);
	CHECK_STR(
		text,
		"work in /usr/sbin/app, 0x2000, 64 bytes\n"
		"79 samples in it (83 % of all), 86 with what it calls (91 %)\n"
		"\n"
		"samples     %     address  instruction\n"
		"               >     200e  xor %eax,%eax\n"
		"     31  39.2        2010  imul %rdi,%rdi  (the file has: nop)\n"
		"     48  60.8        2020  div\\x1b[31m %rsi  (the next one begins inside)\n"
		"cut here: the function has 64 bytes\n"
		"\n"
		"> may have taken the time that shows at the instruction after it: the event is not precise\n"
		"\n"
		"only the instructions that were sampled: the file is gone\n"
		"\n"
		"samples     %    address  instruction\n"
		"     31  39.2       2010  imul %rdi,%rdi  (the file has: nop)\n"
		"\n"
		"callers, 3 of 3\n"
		"\n"
		"samples     %  caller  makes these hot                                        "
		"called most from\n"
		"     45  57.0  b       100 % div %rsi [0x2020]                                app\n"
		"     33  41.8  a       91 % imul %rdi,%rdi [0x2010], 9.1 % div %rsi [0x2020]  app\n"
		"      1   1.3  app     100 % imul %rdi,%rdi [0x2010]\n");
	free(text);
	hl_hot_done(&hot);
	hl_profile_free(s.p);
}
