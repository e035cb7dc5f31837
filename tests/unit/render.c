// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include "render/render.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "render/common.h"

#include "harness.h"
#include "profiles.h"

static const struct hl_loss losses[] = {
	{ "stack map full", "raise \"stack-slots\"", 3, HL_LOSS_LOST },
	{ "nothing of this", "not shown", 0, HL_LOSS_CUT },
	{ "cut", "deeper than 127 frames", 20, HL_LOSS_CUT },
};
static const char *const notes[] = { "a note that a reader must know" };

static const struct hl_profile_meta meta = {
	.host = "web-1",
	.kernel = "6.18.5",
	.version = "0.1.0",
	.event = "cpu-clock",
	.decoders = "capstone 4.0.2",
	.unit = "nanoseconds",
	.frequency = 99,
	.cpus = 2,
	.start_ns = 1796040000000000000,
	.end_ns = 1796040060500000000,
	.expected = 200,
	.seen = 199,
	.idle = 150,
	.busy_cpus = 0.5,
	.cost_programs = 0.00421,
	.cost_process = -1,
	.losses = losses,
	.n_losses = 3,
	.notes = notes,
	.n_notes = 1,
};

/* A profile with every kind of frame; @backwards adds the same in another order. */
static struct hl_profile *small(bool backwards)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app"),
		 mark = profiles_named(p, HL_FRAME_MARK, "[unwind: no table]");
	uint32_t mains = profiles_function(p, HL_FRAME_USER, 0x1000, "main");
	uint32_t parse = profiles_function(p, HL_FRAME_USER, 0x1100, "parse_header");
	uint32_t inl = profiles_function(p, HL_FRAME_INLINED, 0x1040, "skip<int>");
	uint32_t jit = profiles_named(p, HL_FRAME_JIT, "Lfoo;bar()");
	uint32_t irq = profiles_named(p, HL_FRAME_MARK, "[irq]");
	uint32_t sys = profiles_function(p, HL_FRAME_KERNEL, 0xffffffff81000000, "do_syscall_64");
	struct {
		uint32_t frames[6];
		size_t n;
		uint64_t count;
	} stacks[] = {
		{ { app, mains, parse, profiles_insn(p, 0x114d, 0x4d, 4, "idiv %rcx") }, 4, 44 },
		{ { app, mains, parse, profiles_insn(p, 0x1150, 0x50, 1, "mov (%rax),%rdx") }, 4, 13 },
		{ { app, mains, parse, profiles_insn(p, 0x1120, 0x20, 3, "jne 1140") }, 4, 4 },
		{ { app, mains, parse, profiles_insn(p, 0x1122, 0x22, 0, "nop") }, 4, 2 },
		{ { app, mains, inl, profiles_insn(p, 0x1044, 0x44, 2, "mov %al,(%rdi)") }, 4, 7 },
		{ { app, mains, irq, sys, profiles_insn(p, 0xffffffff81001234, 0x1234, 0, "mov %rax,%rbx") },
		  5,
		  6 },
		{ { app, mark, jit }, 3, 5 },
		{ { app, mains, parse, mains, profiles_insn(p, 0x1008, 0x8, 6, "lock incl (%rax)") }, 5, 9 },
	};
	size_t n = sizeof(stacks) / sizeof(stacks[0]);

	for (size_t i = 0; i < n; i++) {
		size_t k = backwards ? n - 1 - i : i;

		profiles_add(p, stacks[k].frames, stacks[k].n, stacks[k].count);
	}
	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	return p;
}

HL_TEST(folded_of_every_kind_of_frame)
{
	struct hl_profile *p = small(false);
	size_t len;
	char *text = profiles_render(p, "folded", &len);

	CHECK_STR(text, "app;[unwind: no table];Lfoo\\x3bbar()_[j] 5\n"
			"app;main;[irq];do_syscall_64_[k];mov %rax,%rbx [0xffffffff81001234]_[k] 6\n"
			"app;main;parse_header;main;lock incl (%rax) [0x1008] 9\n"
			"app;main;parse_header;jne 1140 [0x1120] 4\n"
			"app;main;parse_header;nop [0x1122] 2\n"
			"app;main;parse_header;idiv %rcx [0x114d] 44\n"
			"app;main;parse_header;mov (%rax),%rdx [0x1150] 13\n"
			"app;main;skip<int>_[i];mov %al,(%rdi) [0x1044] 7\n");
	free(text);
	hl_profile_free(p);
}

/* Two functions of one name, and no instructions to tell them apart: one line, as its readers expect. */
HL_TEST(folded_has_one_line_a_text)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app");
	uint32_t first = profiles_function(p, HL_FRAME_USER, 0x1000, "same");
	uint32_t other = profiles_function(p, HL_FRAME_USER, 0x2000, "same");
	uint32_t leaf = profiles_function(p, HL_FRAME_USER, 0x3000, "leaf");
	size_t len;
	char *text;

	profiles_add(p, (uint32_t[]){ app, first, leaf }, 3, 3);
	profiles_add(p, (uint32_t[]){ app, first }, 2, 1);
	profiles_add(p, (uint32_t[]){ app, other, leaf }, 3, 4);
	profiles_add(p, (uint32_t[]){ app, other }, 2, 2);
	CHECK_INT(hl_profile_finish(p), 0);
	text = profiles_render(p, "folded", &len);
	CHECK_STR(text, "app;same 3\napp;same;leaf 7\n");
	free(text);
	hl_profile_free(p);
}

HL_TEST(txt_of_every_kind_of_frame)
{
	struct hl_profile *p = small(false);
	size_t len;
	char *text = profiles_render(p, "txt", &len);

	CHECK_STR(text,
		  "web-1, 2026-11-30T12:00:00Z, 60.500 s\n"
		  "\n"
		  "host     web-1, kernel 6.18.5, 2 CPUs\n"
		  "time     2026-11-30T12:00:00Z to 2026-11-30T12:01:00.500Z, 60.500 s\n"
		  "event    cpu-clock, 99 Hz on every CPU, not precise: a leaf may be the instruction after "
		  "the slow one\n"
		  "busy     0.50 of 2 CPUs on average; hotleaf itself: 0.0042 CPUs in its kernel programs\n"
		  "samples  90 shown (0.900 s of CPU time), 200 expected, 199 seen, 150 idle\n"
		  "lost     3 (1.5 %) stack map full: raise \"stack-slots\"\n"
		  "cut      20 (22 %) cut: deeper than 127 frames\n"
		  "notes    a note that a reader must know\n"
		  "made by  hotleaf 0.1.0, decoders capstone 4.0.2\n"
		  "\n"
		  "top functions, 5 of 5\n"
		  "\n"
		  "self     %  total     %  module   function\n"
		  "  63  70.0     72  80.0  app      parse_header\n"
		  "   9  10.0     85  94.4  app      main\n"
		  "   7   7.8      7   7.8  app      skip<int>_[i]\n"
		  "   6   6.7      6   6.7  vmlinux  do_syscall_64_[k]\n"
		  "   5   5.6      5   5.6           Lfoo;bar()_[j]\n"
		  "\n"
		  "top instructions, 6 of 6\n"
		  "\n"
		  "samples  % all  % function  module   function+offset             instruction\n"
		  "     44   48.9        69.8  app      parse_header+0x4d           idiv %rcx\n"
		  "     13   14.4        20.6  app      parse_header+0x50           mov (%rax),%rdx\n"
		  "      9   10.0       100.0  app      main+0x8                    lock incl (%rax)\n"
		  "      7    7.8       100.0  app      skip<int>_[i] at main+0x44  mov %al,(%rdi)\n"
		  "      6    6.7         9.5  app      parse_header                [2 more instructions]\n"
		  "      6    6.7       100.0  vmlinux  do_syscall_64_[k]+0x1234    mov %rax,%rbx\n"
		  "\n"
		  "classes of instructions\n"
		  "\n"
		  "class   samples     %\n"
		  "load         13  14.4\n"
		  "store         7   7.8\n"
		  "branch        4   4.4\n"
		  "divide       44  48.9\n"
		  "locked        9  10.0\n"
		  "other         8   8.9\n");
	free(text);
	hl_profile_free(p);
}

HL_TEST(svg_labels_and_folds_leaves)
{
	struct hl_profile *p = small(false);
	size_t len;
	char *text = profiles_render(p, "svg", &len);

	CHECK(strstr(text, "<g class=\"i4\"><title>idiv %rcx [0x114d] (/usr/sbin/app)\n"
			   "44 samples, 49 % of all, 70 % of parse_header\n"
			   "class: divide</title><rect x="));
	CHECK(strstr(text, ">idiv %rcx \xc2\xb7 70 % of parse_header \xc2\xb7 +0x4d</text>"));
	CHECK(strstr(
		text,
		"[2 more instructions] with fewer than 5 samples each\n6 samples, 6.7 % of all</title>"));
	CHECK(strstr(text, "\n7 samples, 7.8 % of all, 100 % of skip&lt;int&gt;\n"));
	CHECK(!strstr(text, "jne 1140"));
	CHECK(!strstr(text, "hidden"));
	CHECK(strstr(text, ">lost     3 (1.5 %) stack map full: raise &quot;stack-slots&quot;</text>"));
	CHECK(strstr(text, ">cut      20 (22 %) cut: deeper than 127 frames</text>"));
	/* 85 of 90 samples of 1180 px, after the 5 of the mark: main's box. */
	CHECK(strstr(text, "<rect x=\"75.6\" y=\"34\" width=\"1114.4\" height=\"16\"/>"));
	free(text);
	hl_profile_free(p);
}

HL_TEST(every_format_is_independent_of_the_order_of_adding)
{
	struct hl_profile *p = small(false), *q = small(true);
	size_t len_p, len_q, formats = 0;

	for (const struct hl_writer *const *w = hl_writers; *w; w++, formats++) {
		char *a = profiles_render(p, (*w)->format, &len_p),
		     *b = profiles_render(q, (*w)->format, &len_q);

		CHECK_INT(len_p, len_q);
		CHECK(memcmp(a, b, len_p) == 0);
		free(a);
		free(b);
	}
	CHECK(formats >= 3);
	CHECK(!hl_writer_find("no such format"));
	hl_profile_free(p);
	hl_profile_free(q);
}

HL_TEST(every_format_reports_a_full_disk)
{
	struct hl_profile *p = small(false);
	struct hl_render_options options = { 0 };

	for (const struct hl_writer *const *w = hl_writers; *w; w++) {
		struct hl_err err = { "" };
		FILE *full = fopen("/dev/full", "w");

		CHECK(full);
		CHECK_INT((*w)->write(p, &options, full, &err), -ENOSPC);
		CHECK(strstr(err.text, "No space left"));
		(void)fclose(full);
	}
	hl_profile_free(p);
}

HL_TEST(every_format_of_an_empty_profile)
{
	struct hl_profile *p = hl_profile_new();
	size_t len;

	CHECK_INT(hl_profile_finish(p), 0);
	for (const struct hl_writer *const *w = hl_writers; *w; w++)
		free(profiles_render(p, (*w)->format, &len));
	hl_profile_free(p);
}

/* ---- extremes ------------------------------------------------------------------------------------------ */

HL_TEST(svg_says_what_it_leaves_out)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app"),
		 f = profiles_function(p, HL_FRAME_USER, 1, "seen");
	size_t len;
	char *text;

	profiles_add(p, (uint32_t[]){ app, f }, 2, 5000);
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t g = profiles_function(p, HL_FRAME_USER, 0x10 + i, "g");

		profiles_add(p, (uint32_t[]){ app, g, f }, 3, 2); /* 0.34 px */
	}
	CHECK_INT(hl_profile_finish(p), 0);
	text = profiles_render(p, "svg", &len);
	CHECK(strstr(text, "2000 frames below 0.5 px hidden (2000 samples, 29 %)"));
	profiles_check_svg(text, len);
	CHECK(len < 10000);
	free(text);
	hl_profile_free(p);
}

static struct hl_profile *deep(size_t levels)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t *stack = malloc(levels * sizeof(*stack)), f = profiles_function(p, HL_FRAME_USER, 1, "f");

	for (size_t i = 0; i < levels; i++)
		stack[i] = f;
	profiles_add(p, stack, levels, 7);
	free(stack);
	CHECK_INT(hl_profile_finish(p), 0);
	return p;
}

HL_TEST(svg_5000_deep_keeps_every_row)
{
	struct hl_profile *p = deep(5000);
	size_t len, boxes = 0;
	char *text = profiles_render(p, "svg", &len);

	CHECK(strstr(text, "5001 rows deep"));
	for (const char *at = text; (at = strstr(at, "<g class=\"user\"><title>")); at++)
		boxes++;
	CHECK_INT(boxes, 5000);
	profiles_check_svg(text, len);
	free(text);
	hl_profile_free(p);
}

HL_TEST(folded_30000_deep)
{
	struct hl_profile *p = deep(30000);
	size_t len;
	char *text = profiles_render(p, "folded", &len);

	CHECK_INT(len, 2 * 30000 - 1 + strlen(" 7\n"));
	free(text);
	text = profiles_render(p, "txt", &len);
	CHECK(strstr(text, "   0   0.0      7  100.0") || strstr(text, "   7  100.0      7  100.0"));
	free(text);
	hl_profile_free(p);
}
