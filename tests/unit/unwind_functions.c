// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind symbol tests/elfwriter */

/* Where functions begin that have neither names nor call frame information: they gather their samples. */

#include "unwind/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "symbol/symbol.h"

enum { BIAS = 0x400000, TEXT = 0x401000, SIZE = 0x200 };

static void put(struct elfwriter *w, unsigned int at, const char *code, size_t len)
{
	ew_put(w, TEXT - BIAS + at, code, len);
}
#define PUT(at, code) put(&w, at, code, sizeof(code) - 1)

/* A program with functions every 0x20 bytes, of which only the first, which is exported, has a name. */
static struct hl_elf *make(bool is_named_all)
{
	struct elfwriter w;
	unsigned int text;

	ew_init(&w, true);
	text = ew_code(&w, ".text", TEXT - BIAS, TEXT, SIZE);
	for (unsigned int i = 0; i < SIZE; i++)
		PUT(i, "\x90");
	/* push %rbx; call 20; pop %rbx; jmp 60 */
	PUT(0x00, "\x53\xe8\x1a\x00\x00\x00\x5b\xe9\x54\x00\x00\x00");
	/* push %rbx; call 40; pop %rbx; ret */
	PUT(0x20, "\x53\xe8\x1a\x00\x00\x00\x5b\xc3");
	/* xor %eax,%eax; jmp 4c; (nops); inc %eax; (at 50, a loop of a leaf) dec %ecx; jne 50; ret */
	PUT(0x40, "\x31\xc0\xeb\x08");
	PUT(0x4c, "\xff\xc0\x66\x90\xff\xc9\x75\xfc\xc3");
	/* (jumped to, as the last call of another) push %rbp; test %edi,%edi; je 68; hlt; pop %rbp; ret */
	PUT(0x60, "\x55\x85\xff\x74\x01\xf4\x5d\xc3");
	/* (nothing leads there) push %rbx; sub $16,%rsp; add $16,%rsp; pop %rbx; ret */
	PUT(0x80, "\x53\x48\x83\xec\x10\x48\x83\xc4\x10\x5b\xc3");
	/* no code */
	for (unsigned int i = 0xa0; i < SIZE; i++)
		PUT(i, "\x06");
	(void)ew_symbol(&w, EW_DYNSYM, "first", STB_GLOBAL, STT_FUNC, text, TEXT, 0x0c);
	if (is_named_all)
		(void)ew_symbol(&w, EW_DYNSYM, "all", STB_GLOBAL, STT_FUNC, text, TEXT + 0x0c, SIZE - 0x0c);
	return ew_open(&w);
}

HL_TEST(calls_jumps_and_code_behind_filling)
{
	static const struct hl_elf_span want[] = {
		{ TEXT, 0x0c },     { TEXT + 0x20, 8 },  { TEXT + 0x40, 0x15 },
		{ TEXT + 0x60, 8 }, { TEXT + 0x80, 11 },
	};
	struct hl_elf *elf = make(false);
	struct hl_elf_span *spans = NULL;
	size_t n = 0;

	CHECK_INT(hl_unwind_functions(elf, &spans, &n), 0);
	for (size_t i = 0; i < n; i++)
		NOTE("%llx+%llx", (unsigned long long)(spans[i].start - TEXT),
		     (unsigned long long)spans[i].size);
	CHECK_INT(n, sizeof(want) / sizeof(want[0]));
	CHECK(memcmp(spans, want, sizeof(want)) == 0);
	free(spans);
	hl_elf_free(elf);
}

static unsigned int times_asked;

static int count_and_find(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n)
{
	times_asked++;
	return hl_unwind_functions(elf, ret, ret_n);
}

/* "START+SIZE", with a name if there is one, of the function at @at; "-": none. */
static const char *at(const struct hl_symbols *symbols, unsigned int place)
{
	static char text[64];
	struct hl_symbol symbol;

	if (!hl_symbols_find(symbols, TEXT + place, &symbol))
		return "-";
	(void)snprintf(text, sizeof(text), "%llx+%llx%s", (unsigned long long)(symbol.start - TEXT),
		       (unsigned long long)symbol.size, symbol.named ? " named" : "");
	return text;
}

HL_TEST(nameless_functions_have_starts)
{
	struct hl_symbols *symbols;
	struct hl_elf *elf = make(false);

	CHECK_INT(hl_symbols_new_with(elf, NULL, count_and_find, &symbols, NULL), 0);
	CHECK_INT(times_asked, 1);
	CHECK_STR(at(symbols, 0x0b), "0+c named");
	CHECK_STR(at(symbols, 0x0c), "-"); /* never the name of what stands before */
	CHECK_STR(at(symbols, 0x21), "20+8");
	CHECK_STR(at(symbols, 0x54), "40+15");
	CHECK_STR(at(symbols, 0x67), "60+8");
	CHECK_STR(at(symbols, 0x8a), "80+b");
	CHECK_STR(at(symbols, 0x8b), "-");
	CHECK_STR(at(symbols, 0xc0), "-");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
}

HL_TEST(code_with_names_is_not_gone_through)
{
	struct hl_symbols *symbols;
	struct hl_elf *elf = make(true);

	CHECK_INT(hl_symbols_new_with(elf, NULL, count_and_find, &symbols, NULL), 0);
	CHECK_INT(times_asked, 0);
	CHECK_STR(at(symbols, 0x21), "c+1f4 named");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
}

/* What is found may be anything: the table stays one. */
static int find_nonsense(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n)
{
	static const struct hl_elf_span spans[] = {
		{ 0, 1 },
		{ TEXT - 1, 8 },
		{ TEXT + 0x20, 0 },
		{ TEXT + 0x20, 0x100 },
		{ TEXT + 0x30, 0x100 },
		{ TEXT + 0x30, 4 },
		{ TEXT + 0x40, 1ull << 40 },
		{ TEXT + (1ull << 33), 16 },
		{ UINT64_MAX, UINT64_MAX },
	};

	(void)elf;
	*ret = malloc(sizeof(spans));
	CHECK(*ret);
	memcpy(*ret, spans, sizeof(spans));
	*ret_n = sizeof(spans) / sizeof(spans[0]);
	return 0;
}

HL_TEST(bounds_that_make_no_sense)
{
	struct hl_symbols *symbols;
	struct hl_elf *elf = make(false);

	CHECK_INT(hl_symbols_new_with(elf, NULL, find_nonsense, &symbols, NULL), 0);
	CHECK_STR(at(symbols, 0x1f), "-");
	CHECK_STR(at(symbols, 0x2f), "20+10");
	CHECK_STR(at(symbols, 0x33), "30+4");
	CHECK_STR(at(symbols, 0x34), "-");
	CHECK_STR(at(symbols, 0x60), "-");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
}
