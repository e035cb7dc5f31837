// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile insn */
#include "profile/loops.h"

#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "insn/insn.h"
#include "profile/listing.h"

#include "harness.h"

/* Functions that the assembler made, decoded as symd does it. They are never called. */
#define CODE(name, text)                                                                     \
	__asm__(".pushsection .text\n" #name "_begin:\n" text #name "_end:\n.popsection\n"); \
	extern const uint8_t name##_begin[], name##_end[];

static struct hl_listing listing_of(const uint8_t *code, size_t len)
{
	struct hl_decoder *decoder = hl_decoder_new(HL_INSN_MODE_64, HL_INSN_ATT);
	struct hl_listing l = { .rows = calloc(len + 1, sizeof(*l.rows)), .whole = true, .size = len };

	CHECK(decoder && l.rows);
	for (size_t at = 0; at < len;) {
		struct hl_insn insn;

		hl_decoder_decode(decoder, code + at, len - at, at, &insn);
		l.rows[l.n++] = (struct hl_listing_row){
			.address = at,
			.length = insn.length,
			.filler = hl_text_is_filler(insn.text, strlen(insn.text)),
			.target = insn.target,
			.flow = (uint8_t)hl_flow_of(insn.text, strlen(insn.text), insn.has_target),
		};
		at += insn.length;
	}
	hl_decoder_free(decoder);
	return l;
}

/* The loop of each instruction, "." for none; then "START-END" of each in hex, in the order of first use. */
static const char *loops_of(const uint8_t *code, size_t len)
{
	static char text[1000];
	struct hl_listing l = listing_of(code, len);
	struct hl_loops loops;
	uint32_t seen[26], n = 0;
	size_t at = 0;

	CHECK_INT(hl_loops_find(&l, &loops), 0);
	for (size_t i = 0; i < l.n; i++) {
		uint32_t loop = loops.of_row[i], k = 0;

		while (loop != HL_LOOP_NONE && k < n && seen[k] != loop)
			k++;
		if (loop != HL_LOOP_NONE && k == n)
			seen[n++] = loop;
		text[at++] = loop == HL_LOOP_NONE ? '.' : (char)('a' + k);
	}
	for (uint32_t k = 0; k < n; k++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, " %llx-%llx",
				       (unsigned long long)loops.items[seen[k]].start,
				       (unsigned long long)loops.items[seen[k]].end);
	text[at] = '\0';
	hl_loops_done(&loops);
	free(l.rows);
	return text;
}
#define LOOPS(name) loops_of(name##_begin, (size_t)(name##_end - name##_begin))

CODE(straight, "nop\n jne 1f\n nop\n 1: ret\n")
CODE(simple, "nop\n 1: dec %eax\n jne 1b\n ret\n")
/* An inner loop with a branch in it, in an outer one. */
CODE(nested, "nop\n"
	     "1: mov %ecx,%eax\n"
	     "2: test %eax,%eax\n je 3f\n nop\n 3: dec %eax\n jne 2b\n"
	     "dec %ecx\n jne 1b\n ret\n")
/* `while`, as gcc -O1 lays it out: entered at its test, at the bottom. */
CODE(at_bottom, "nop\n jmp 2f\n 1: inc %eax\n 2: cmp %ecx,%eax\n jb 1b\n ret\n")
/* A loop around a switch: its cases are known by nothing but the indirect jump. */
CODE(with_switch, "1: jmp *%rax\n nop\n jmp 2f\n nop\n jmp 2f\n 2: dec %ecx\n jne 1b\n ret\n")
/* Two ways in: no natural loop. */
CODE(two_entries, "jne 2f\n 1: nop\n 2: dec %eax\n jne 1b\n ret\n")
/* A jump backwards that is no loop: code out of the way. */
CODE(cold, "jmp 2f\n 1: nop\n ret\n 2: test %eax,%eax\n jne 1b\n ret\n")
CODE(endless, "nop\n 1: jmp 1b\n")
CODE(calls, "1: call 1b\n ret\n")
/* The part behind a return is reached by a landing pad alone; its loop counts. */
CODE(behind_return, "ret\n 1: dec %eax\n jne 1b\n ret\n")

/* gcc -O2: entered by a jump into the middle, back to the header by falling through, a gap before that. */
CODE(rotated, "jmp 2f\n .nops 5\n 1: inc %eax\n cmp %eax,%ecx\n je 3f\n"
	      "2: test %edx,%eax\n jne 1b\n nop\n jmp 1b\n 3: ret\n")
CODE(rotated_nested,
     "jmp 2f\n .nops 8\n 1: inc %eax\n cmp %eax,%ecx\n je 5f\n"
     "2: jmp 4f\n data16 nop\n 3: dec %edx\n je 1b\n 4: test %edx,%eax\n jne 3b\n jmp 1b\n 5: ret\n")
/* The same behind a switch, whose cases enter it; and filled as in code for old processors. */
CODE(rotated_case, "jmp *%rax\n jmp 2f\n .byte 0x48,0x8d,0xb6,0,0,0,0\n 1: inc %eax\n je 3f\n"
		   "2: test %edx,%eax\n jmp 1b\n 3: ret\n")
/* A loop that is entered by a later case only. */
CODE(later_case, "jmp *%rax\n 1: inc %eax\n je 3f\n 2: test %edx,%eax\n jmp 1b\n 3: ret\n nop\n jmp 2b\n")
/* Code that an exception alone reaches goes on in the loop that it came from. */
CODE(landing_pad, "1: dec %eax\n 2: dec %ecx\n jne 1b\n ret\n mov %eax,%edi\n jmp 2b\n")
CODE(landing_loop, "1: dec %eax\n 2: dec %ecx\n jne 1b\n ret\n 3: dec %edi\n je 3b\n jmp 2b\n")

HL_TEST(rotated_loops)
{
	CHECK_STR(LOOPS(rotated), "..aaaaaaa. 7-14");
	CHECK_STR(LOOPS(rotated_nested), "..aaaa.bbbba. a-1e 14-1c");
	CHECK_STR(LOOPS(rotated_case), "...aaaa. b-13");
	CHECK_STR(LOOPS(later_case), ".aaaa... 2-a");
	CHECK_STR(LOOPS(landing_pad), "aaa... 0-6");
	CHECK_STR(LOOPS(landing_loop), "aaa.bb. 0-6 7-b");
}

/* Which instructions go round in what is no natural loop: "?". */
static const char *tangled_of(const uint8_t *code, size_t len)
{
	static char text[100];
	struct hl_listing l = listing_of(code, len);
	struct hl_loops loops;
	size_t at = 0;

	CHECK_INT(hl_loops_find(&l, &loops), 0);
	for (size_t i = 0; i < l.n; i++)
		text[at++] = loops.tangled[i] ? '?' : '.';
	text[at] = '\0';
	hl_loops_done(&loops);
	free(l.rows);
	return text;
}
#define TANGLED(name) tangled_of(name##_begin, (size_t)(name##_end - name##_begin))

/* Two ways into the outer round; the inner one is a loop, and so is the one behind. */
CODE(tangled_around,
     "jne 2f\n 1: nop\n 2: dec %eax\n jne 2b\n dec %ecx\n jne 1b\n 3: dec %edx\n jne 3b\n ret\n")
/* The same in a loop: that is its loop. */
CODE(tangled_inside, "3: test %eax,%eax\n jne 2f\n 1: nop\n 2: dec %eax\n jne 1b\n dec %ecx\n jne 3b\n ret\n")

HL_TEST(two_ways_in)
{
	CHECK_STR(TANGLED(two_entries), ".???.");
	CHECK_STR(TANGLED(tangled_around), ".?..??...");
	CHECK_STR(LOOPS(tangled_around), "..aa..bb. 3-7 b-f");
	CHECK_STR(TANGLED(tangled_inside), "........");
	CHECK_STR(LOOPS(tangled_inside), "aaaaaaa. 0-d");
	CHECK_STR(TANGLED(rotated_nested), ".............");
	CHECK_STR(TANGLED(with_switch), "........");
}

HL_TEST(fillers)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{ "nop", true },
		{ "nopw 0x0(%rax,%rax,1)", true },
		{ "data16 cs nopw 0x0(%rax,%rax,1)", true },
		{ "nop word ptr [rax+rax*1+0x0]", true },
		{ "xchg %ax,%ax", true },
		{ "xchg ax,ax", true },
		{ "xchg %eax,%edx", false },
		{ "lea 0x0(%esi),%esi", true },
		{ "lea 0x0(%esi,%eiz,1),%esi", true },
		{ "lea 0x0(%rsi),%rdi", false },
		{ "lea 0x8(%rsi),%rsi", false },
		{ "lea 0x0(,%rsi,8),%rsi", false },
		{ "lea esi,[esi+eiz*1+0x0]", true },
		{ "lea esi,[esi+0x0]", true },
		{ "lea esi,[esi+0x10]", false },
		{ "lea edi,[esi+0x0]", false },
		{ "lea ", false },
		{ "lea 0x0(", false },
		{ "lea ,[", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (hl_text_is_filler(rows[i].text, strlen(rows[i].text)) != rows[i].want)
			FAIL("\"%s\" is not %d", rows[i].text, rows[i].want);
}

HL_TEST(flow_of_control)
{
	CHECK_STR(LOOPS(straight), "....");
	CHECK_STR(LOOPS(simple), ".aa. 1-5");
	CHECK_STR(LOOPS(nested), ".abbbbbaa. 1-10 3-c");
	CHECK_STR(LOOPS(at_bottom), "..aaa. 3-9");
	CHECK_STR(LOOPS(with_switch), "aaaaaaa. 0-c");
	CHECK_STR(LOOPS(two_entries), ".....");
	CHECK_STR(LOOPS(cold), "......");
	CHECK_STR(LOOPS(endless), ".a 1-3");
	CHECK_STR(LOOPS(calls), "..");
	CHECK_STR(LOOPS(behind_return), ".aa. 1-5");
}

HL_TEST(nothing_to_look_at)
{
	struct hl_listing l = { 0 };
	struct hl_loops loops;

	CHECK_INT(hl_loops_find(&l, &loops), 0);
	CHECK_INT(loops.n, 0);
	hl_loops_done(&loops);
}

HL_TEST(words_in_front_of_jumps)
{
	static const struct {
		const char *text;
		bool has_target;
		enum hl_flow want;
	} rows[] = {
		{ "jmp 10 <f>", true, HL_FLOW_GOTO },
		{ "bnd jmp 10 <f>", true, HL_FLOW_GOTO },
		{ "notrack jmp *%rax", false, HL_FLOW_INDIRECT },
		{ "jmp *0x10(%rip)", false, HL_FLOW_INDIRECT },
		{ "jrcxz 10", true, HL_FLOW_JUMP },
		{ "loop 10", true, HL_FLOW_JUMP },
		{ "jne 10", true, HL_FLOW_JUMP },
		{ "repz ret", false, HL_FLOW_END },
		{ "bnd ret", false, HL_FLOW_END },
		{ "ud2", false, HL_FLOW_END },
		{ "call 10 <f>", true, HL_FLOW_NEXT },
		{ "rep movsb %ds:(%rsi),%es:(%rdi)", false, HL_FLOW_NEXT },
		{ "cs nopw 0x0(%rax,%rax,1)", false, HL_FLOW_NEXT },
		{ "", false, HL_FLOW_NEXT },
		{ "cs cs cs cs ", false, HL_FLOW_NEXT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (hl_flow_of(rows[i].text, strlen(rows[i].text), rows[i].has_target) != rows[i].want)
			FAIL("\"%s\" is not %d", rows[i].text, (int)rows[i].want);
}

/* Hostile code: bounded time, and a clear answer. */
HL_TEST(entangled_code)
{
	enum { N = 256 << 10 };
	struct hl_listing l = { .rows = calloc(N, sizeof(*l.rows)), .n = N, .whole = true, .size = 2 * N };
	struct hl_loops loops;
	uint32_t random = 1;
	int code;

	CHECK(l.rows);
	for (size_t i = 0; i < N; i++) {
		random = random * 1664525 + 1013904223;
		l.rows[i] = (struct hl_listing_row){
			.address = 2 * i, .length = 2, .target = 2 * (random % N), .flow = HL_FLOW_JUMP
		};
	}
	code = hl_loops_find(&l, &loops);
	CHECK(code == 0 || code == -E2BIG);
	if (!code)
		hl_loops_done(&loops);
	/* A ladder of loops, each around all that follow. */
	for (size_t i = 0; i < N; i++) {
		l.rows[i].flow = i < N / 2 ? HL_FLOW_NEXT : HL_FLOW_JUMP;
		l.rows[i].target = 2 * (N - 1 - i);
	}
	CHECK_INT(hl_loops_find(&l, &loops), -E2BIG);
	free(l.rows);
}

/* What comes before a hot instruction, and what jumps to it. */
HL_TEST(suspects)
{
	struct hl_listing_row rows[] = {
		{ .address = 0, .length = 2, .flow = HL_FLOW_JUMP, .target = 6 },
		{ .address = 2, .length = 2 },
		{ .address = 4, .length = 2, .flow = HL_FLOW_GOTO, .target = 20 },
		{ .address = 6, .length = 2, .samples = 100 },
		{ .address = 8, .length = 2, .samples = 1 },
		{ .address = 10, .length = 2, .samples = 50 },
	};
	struct hl_listing l = { .rows = rows, .n = 6 };
	char marks[7] = "";

	hl_listing_mark(&l);
	for (size_t i = 0; i < 6; i++)
		CHECK(!rows[i].suspect); /* instructions are missing */
	l.whole = true;
	hl_listing_mark(&l);
	for (size_t i = 0; i < 6; i++)
		marks[i] = rows[i].suspect ? '>' : '.';
	CHECK_STR(marks, ">...>.");
}
