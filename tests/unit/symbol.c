// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter */
#include "symbol/symbol.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"

enum { TEXT = 0x401000, SIZE = 0x1000 };

struct built {
	struct hl_elf *elf, *debug;
	struct hl_symbols *symbols;
};

static struct built build(struct elfwriter *w, struct elfwriter *debug)
{
	struct built b = { .elf = ew_open(w), .debug = debug ? ew_open(debug) : NULL };
	struct hl_err err = { "" };

	if (hl_symbols_new(b.elf, b.debug, &b.symbols, &err) < 0)
		FAIL("%s", err.text);
	return b;
}

static void built_done(struct built *b)
{
	hl_symbols_free(b->symbols);
	hl_elf_free(b->elf);
	hl_elf_free(b->debug);
}

/* "NAME START+SIZE" of what covers @address, relative to TEXT; "-" for nothing. */
static const char *at(const struct built *b, uint64_t address)
{
	static struct hl_str s;
	struct hl_symbol symbol;

	hl_str_clear(&s);
	hl_str_adds(&s, "");
	if (!hl_symbols_find(b->symbols, address, &symbol))
		return "-";
	if (symbol.named && hl_symbols_add_name(b->symbols, symbol.name, &s) < 0)
		hl_str_adds(&s, "(gone)");
	hl_str_addf(&s, " %llx+%llx", (unsigned long long)(symbol.start - TEXT),
		    (unsigned long long)symbol.size);
	return s.data;
}

static unsigned int start(struct elfwriter *w, bool is_64)
{
	ew_init(w, is_64);
	return ew_code(w, ".text", 0x1000, TEXT, SIZE);
}

#define SYM(name, binding, type, at, size) \
	((void)ew_symbol(&w, EW_SYMTAB, name, STB_##binding, STT_##type, text, TEXT + (at), size))
#define DYN(name, binding, type, at, size) \
	((void)ew_symbol(&w, EW_DYNSYM, name, STB_##binding, STT_##type, text, TEXT + (at), size))

HL_TEST(aliases_have_one_winner)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("unsized", GLOBAL, FUNC, 0, 0); /* sized over unsized */
	SYM("sized", LOCAL, NOTYPE, 0, 16);
	SYM("label", GLOBAL, NOTYPE, 0x20, 16); /* functions over labels */
	SYM("function", LOCAL, FUNC, 0x20, 16);
	SYM("local", LOCAL, FUNC, 0x40, 16); /* global over weak over local */
	SYM("weak", WEAK, FUNC, 0x40, 16);
	SYM("the_global", GLOBAL, FUNC, 0x40, 16);
	SYM("weaker", WEAK, FUNC, 0x60, 16);
	SYM("locals", LOCAL, FUNC, 0x60, 16);
	SYM("__read", GLOBAL, FUNC, 0x80, 16); /* fewer underscores */
	SYM("read", GLOBAL, FUNC, 0x80, 16);
	SYM("_read", GLOBAL, FUNC, 0x80, 16);
	SYM("short", GLOBAL, FUNC, 0xa0, 8); /* larger */
	SYM("z_large", GLOBAL, FUNC, 0xa0, 16);
	SYM("bcd", GLOBAL, FUNC, 0xc0, 16); /* strcmp */
	SYM("abc", GLOBAL, FUNC, 0xc0, 16);
	SYM("in_symtab", GLOBAL, FUNC, 0xe0, 16); /* .symtab over .dynsym */
	DYN("a_dynsym", GLOBAL, FUNC, 0xe0, 16);
	DYN("resolver", GLOBAL, GNU_IFUNC, 0x100, 16);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 1), "sized 0+10");
	CHECK_STR(at(&b, TEXT + 0x21), "function 20+10");
	CHECK_STR(at(&b, TEXT + 0x41), "the_global 40+10");
	CHECK_STR(at(&b, TEXT + 0x61), "weaker 60+10");
	CHECK_STR(at(&b, TEXT + 0x81), "read 80+10");
	CHECK_STR(at(&b, TEXT + 0xaf), "z_large a0+10");
	CHECK_STR(at(&b, TEXT + 0xc1), "abc c0+10");
	CHECK_STR(at(&b, TEXT + 0xe1), "in_symtab e0+10");
	CHECK_STR(at(&b, TEXT + 0x100), "resolver 100+10");
	CHECK_INT(hl_symbols_count(b.symbols), 9);
	CHECK(!hl_symbols_need_file(b.symbols));
	built_done(&b);
}

HL_TEST(the_order_of_symbols_does_not_matter)
{
	static const char *const names[] = { "b", "_a", "a", "c", "__a" };
	struct elfwriter w;
	unsigned int text;
	struct built b;
	int turn, i;

	for (turn = 0; turn < 5; turn++) {
		text = start(&w, true);
		for (i = 0; i < 5; i++)
			SYM(names[(i + turn) % 5], GLOBAL, FUNC, 0x10, 8);
		b = build(&w, NULL);
		CHECK_STR(at(&b, TEXT + 0x10), "a 10+8");
		built_done(&b);
	}
}

HL_TEST(a_symbol_without_size_reaches_to_the_next_or_to_the_sections_end)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("first", LOCAL, FUNC, 0, 0);
	SYM("second", LOCAL, NOTYPE, 0x30, 0);
	SYM("sized", LOCAL, FUNC, 0x50, 0x30);
	SYM("inside", LOCAL, NOTYPE, 0x60, 0); /* does not cut a function that has a size */
	SYM("last", LOCAL, FUNC, 0x100, 0);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x2f), "first 0+30");
	CHECK_STR(at(&b, TEXT + 0x4f), "second 30+20");
	CHECK_STR(at(&b, TEXT + 0x60), "sized 50+30");
	CHECK_STR(at(&b, TEXT + 0x80), "-");
	CHECK_STR(at(&b, TEXT + SIZE - 1), "last 100+f00");
	CHECK_STR(at(&b, TEXT + SIZE), "-");
	CHECK_STR(at(&b, TEXT - 1), "-");
	built_done(&b);
}

HL_TEST(a_dynamic_symbol_without_size_names_its_own_address_only)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	DYN("exported_label", GLOBAL, NOTYPE, 0x40, 0);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x40), "exported_label 40+1");
	CHECK_STR(at(&b, TEXT + 0x41), "-");
	built_done(&b);
}

HL_TEST(overlaps_are_cut)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("outer", GLOBAL, FUNC, 0, 0x100);
	SYM("inner", GLOBAL, FUNC, 0x40, 0x20);
	SYM("innermost", GLOBAL, FUNC, 0x48, 8);
	SYM("crossing", GLOBAL, FUNC, 0xf0, 0x20);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT), "outer 0+100");
	CHECK_STR(at(&b, TEXT + 0x47), "inner 40+20");
	CHECK_STR(at(&b, TEXT + 0x4f), "innermost 48+8");
	CHECK_STR(at(&b, TEXT + 0x50), "inner 40+20");
	CHECK_STR(at(&b, TEXT + 0x60), "outer 0+100"); /* it goes on behind the inner one */
	CHECK_STR(at(&b, TEXT + 0xf0), "crossing f0+20");
	CHECK_STR(at(&b, TEXT + 0x10f), "crossing f0+20");
	CHECK_STR(at(&b, TEXT + 0x110), "-");
	built_done(&b);
}

HL_TEST(a_size_that_reaches_past_the_section_swallows_nothing)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("huge", GLOBAL, FUNC, 0x10, 0x7fffffff);
	SYM("wrapping", GLOBAL, FUNC, 0x20, UINT64_MAX);
	SYM("unsized", GLOBAL, FUNC, 0x30, 0);
	SYM("next", GLOBAL, FUNC, 0x40, 8);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x1f), "huge 10+10");
	CHECK_STR(at(&b, TEXT + 0x2f), "wrapping 20+10");
	CHECK_STR(at(&b, TEXT + 0x3f), "unsized 30+10");
	CHECK_STR(at(&b, TEXT + 0x47), "next 40+8");
	CHECK_STR(at(&b, TEXT + 0x48), "-");
	built_done(&b);
}

HL_TEST(what_is_no_function_is_left_out)
{
	struct elfwriter w;
	unsigned int text = start(&w, true), data;
	struct built b;

	ew_put(&w, 0x3000, NULL, 0x100);
	data = ew_section(&w, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0x500000, 0x3000, 0x100);
	SYM("object", GLOBAL, OBJECT, 0, 8);
	SYM("$x", LOCAL, NOTYPE, 0x10, 0);
	SYM("$d.17", LOCAL, NOTYPE, 0x20, 0);
	SYM("__pfx_f", LOCAL, FUNC, 0x30, 8);
	SYM("", LOCAL, FUNC, 0x40, 8);
	(void)ew_symbol(&w, EW_SYMTAB, "undefined", STB_GLOBAL, STT_FUNC, SHN_UNDEF, TEXT + 0x50, 8);
	(void)ew_symbol(&w, EW_SYMTAB, "VERS_1.0", STB_GLOBAL, STT_NOTYPE, SHN_ABS, TEXT + 0x60, 8);
	(void)ew_symbol(&w, EW_SYMTAB, "label_in_data", STB_GLOBAL, STT_NOTYPE, data, 0x500010, 8);
	SYM("etext", GLOBAL, NOTYPE, SIZE, 0);
	SYM("$xyz", LOCAL, FUNC, 0x70, 8); /* a name as any other */
	SYM("thread_local", GLOBAL, TLS, 0x80, 8);
	SYM(".text", LOCAL, SECTION, 0x90, 0);
	SYM("a.c", LOCAL, FILE, 0xa0, 0);
	b = build(&w, NULL);
	CHECK_INT(hl_symbols_count(b.symbols), 1);
	CHECK_STR(at(&b, TEXT + 0x70), "$xyz 70+8");
	built_done(&b);
}

HL_TEST(two_segments_with_different_distances)
{
	struct elfwriter w;
	unsigned int text = start(&w, true), far;
	uint64_t address;
	struct built b;

	far = ew_code(&w, ".far", 0x4000, 0x4800000, 0x40);
	SYM("near_one", GLOBAL, FUNC, 0x20, 0x10);
	(void)ew_symbol(&w, EW_SYMTAB, "far_one", STB_GLOBAL, STT_FUNC, far, 0x4800010, 0x10);
	b = build(&w, NULL);
	CHECK(hl_elf_address(b.elf, 0x4010, &address));
	CHECK_INT(address, 0x4800010);
	CHECK(hl_starts_with(at(&b, address), "far_one "));
	CHECK(hl_elf_address(b.elf, 0x1020, &address));
	CHECK_STR(at(&b, address), "near_one 20+10");
	built_done(&b);
}

HL_TEST(elf32)
{
	struct elfwriter w;
	unsigned int text = start(&w, false);
	struct built b;

	SYM("thirty_two", GLOBAL, FUNC, 0x20, 0x10);
	DYN("dynamic", WEAK, FUNC, 0x40, 0x10);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x2f), "thirty_two 20+10");
	CHECK_STR(at(&b, TEXT + 0x40), "dynamic 40+10");
	built_done(&b);
}

HL_TEST(names_of_the_debug_file)
{
	struct elfwriter w, debug;
	unsigned int text = start(&w, true), i;
	struct built b;

	DYN("exported", GLOBAL, FUNC, 0, 0x10);
	ew_init(&debug, true);
	/* The debug file's own segments and offsets must not count. */
	ew_segment(&debug, PT_LOAD, PF_R | PF_X, 0x9000, 0x77000, 0);
	i = ew_section(&debug, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, 0x9000, SIZE);
	(void)ew_symbol(&debug, EW_SYMTAB, "secret_leaf", STB_LOCAL, STT_FUNC, i, TEXT + 0x20, 0x10);
	(void)ew_symbol(&debug, EW_SYMTAB, "elsewhere", STB_LOCAL, STT_FUNC, i, 0x77000, 0x10);
	b = build(&w, &debug);
	CHECK_STR(at(&b, TEXT + 0x2f), "secret_leaf 20+10");
	CHECK_STR(at(&b, TEXT), "exported 0+10");
	CHECK_INT(hl_symbols_count(b.symbols), 2);
	built_done(&b);
}

HL_TEST(versions_are_not_shown_and_mangling_is_undone)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("versioned@@VER_2.0", GLOBAL, FUNC, 0, 0x10);
	SYM("_Z4addsi", GLOBAL, FUNC, 0x10, 0x10);
	SYM("memcpy@GLIBC_2.2.5", LOCAL, FUNC, 0x20, 0x10);
	SYM("_Z4addsd@@V1", GLOBAL, FUNC, 0x30, 0x10);
	SYM("puts@plt", LOCAL, FUNC, 0x40, 0x10);
	SYM("?f@@YAXXZ", GLOBAL, FUNC, 0x50, 0x10);
	SYM("a@b c", GLOBAL, FUNC, 0x60, 0x10); /* no version: a name as any other */
	SYM("@@V", GLOBAL, FUNC, 0x70, 0x10);
	SYM("end@@", GLOBAL, FUNC, 0x80, 0x10);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT), "versioned 0+10");
	CHECK_STR(at(&b, TEXT + 0x10), "adds(int) 10+10");
	CHECK_STR(at(&b, TEXT + 0x20), "memcpy 20+10");
	CHECK_STR(at(&b, TEXT + 0x30), "adds(double) 30+10");
	CHECK_STR(at(&b, TEXT + 0x40), "puts@plt 40+10");
	CHECK_STR(at(&b, TEXT + 0x50), "?f@@YAXXZ 50+10");
	CHECK_STR(at(&b, TEXT + 0x60), "a@b c 60+10");
	CHECK_STR(at(&b, TEXT + 0x70), "@@V 70+10");
	CHECK_STR(at(&b, TEXT + 0x80), "end@@ 80+10");
	built_done(&b);
}

HL_TEST(names_of_split_functions_stay_whole)
{
	static const char *const names[] = {
		"f.cold", "f.part.0", "f.constprop.1", "f.isra.0", "f.constprop.0.isra.0", "f.lto_priv.0"
	};
	struct elfwriter w;
	unsigned int text = start(&w, true), i;
	char expected[64];
	struct built b;

	SYM("f", GLOBAL, FUNC, 0, 0x10);
	for (i = 0; i < 6; i++)
		SYM(names[i], LOCAL, FUNC, 0x10 + 0x10 * i, 0x10);
	SYM("_Z4addsi.cold", LOCAL, FUNC, 0x100, 0x10);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT), "f 0+10");
	for (i = 0; i < 6; i++) {
		(void)snprintf(expected, sizeof(expected), "%s %x+10", names[i], 0x10 + 0x10 * i);
		CHECK_STR(at(&b, TEXT + 0x1f + 0x10 * i), expected);
	}
	CHECK_STR(at(&b, TEXT + 0x100), "adds(int) [clone .cold] 100+10");
	built_done(&b);
}

HL_TEST(a_section_number_that_does_not_fit_is_no_reason_to_lose_a_name)
{
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	(void)text;
	/* With 65,280 sections and more, st_shndx is SHN_XINDEX; .symtab_shndx has the number. */
	(void)ew_symbol(&w, EW_SYMTAB, "far_away", STB_GLOBAL, STT_FUNC, SHN_XINDEX, TEXT + 0x20, 0x10);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x20), "far_away 20+10");
	built_done(&b);
}

HL_TEST(many_names_stay_in_the_file)
{
	struct elfwriter w;
	unsigned int text = start(&w, true), i;
	char name[600];
	struct built b;

	for (i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "f%0*u", i == 999 ? 590 : 500, i);
		SYM(name, GLOBAL, FUNC, i * 4, 4);
	}
	b = build(&w, NULL);
	CHECK(hl_symbols_need_file(b.symbols));
	CHECK(hl_symbols_memory(b.symbols) < 20000);
	CHECK(strstr(at(&b, TEXT + 4 * 998), "0998 f98+4"));
	CHECK_INT(strlen(at(&b, TEXT + 4 * 999)), 591 + 6); /* longer than one read */
	hl_elf_suspend(b.elf);
	CHECK_STR(at(&b, TEXT + 4 * 999), "(gone) f9c+4");
	built_done(&b);
}

/* An .eh_frame_hdr at @header and an .eh_frame behind it, with one FDE for each start and size. */
static void add_frames(struct elfwriter *w, uint64_t header, const uint32_t (*functions)[2], uint32_t n)
{
	static const uint8_t version[] = { 1, 0x1b, 0x03, 0x3b };
	uint64_t frames = header + 12 + 8ull * n, fde;
	uint32_t i, word;

	ew_put(w, header, version, 4);
	word = (uint32_t)(frames - header - 4);
	ew_put(w, header + 4, &word, 4);
	ew_put(w, header + 8, &n, 4);
	/* The CIE says how addresses are written: 32-bit distances from the field. */
	ew_put(w, frames, "\x10\0\0\0\0\0\0\0\1zR\0\1\x78\x10\1\x1b\0\0\0", 20);
	for (i = 0; i < n; i++) {
		uint32_t row[2], record[5] = { 16 };

		fde = frames + 20 + 20ull * i;
		row[0] = (uint32_t)(TEXT + functions[i][0] - header);
		row[1] = (uint32_t)(fde - header);
		ew_put(w, header + 12 + 8ull * i, row, 8);
		record[1] = (uint32_t)(fde + 4 - frames);
		record[2] = (uint32_t)(TEXT + functions[i][0] - (fde + 8));
		record[3] = functions[i][1];
		ew_put(w, fde, record, 20);
	}
	ew_put(w, frames + 20 + 20ull * n, NULL, 4);
	ew_segment(w, PT_GNU_EH_FRAME, PF_R, header, header, 12 + 8ull * n);
	ew_segment(w, PT_LOAD, PF_R, header, header, 12 + 8ull * n + 20 + 20ull * n + 4);
}

HL_TEST(frames_bound_functions_without_a_name)
{
	static const uint32_t functions[][2] = { { 0, 0x20 },    { 0x20, 0x30 },   { 0x80, 0x40 },
						 { 0xa0, 0x40 }, { 0x100, 0x100 }, { 0x300, 0x7fffffff } };
	struct elfwriter w;
	unsigned int text = start(&w, true);
	struct built b;

	SYM("named", GLOBAL, FUNC, 0, 0x20);
	SYM("part", GLOBAL, FUNC, 0x120, 0x20);
	SYM("unsized", LOCAL, FUNC, 0x20, 0);
	add_frames(&w, 0x5000, functions, 6);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + 0x1f), "named 0+20");
	CHECK_STR(at(&b, TEXT + 0x4f), "unsized 20+30"); /* to the end of its FDE, not to the next symbol */
	CHECK_STR(at(&b, TEXT + 0x50), "-");
	CHECK_STR(at(&b, TEXT + 0x9f), " 80+20"); /* cut by the next */
	CHECK_STR(at(&b, TEXT + 0xdf), " a0+40");
	CHECK_STR(at(&b, TEXT + 0x110), " 100+20");
	CHECK_STR(at(&b, TEXT + 0x130), "part 120+20");
	CHECK_STR(at(&b, TEXT + 0x150), " 140+c0");
	CHECK_STR(at(&b, TEXT + 0x200), "-");
	CHECK_STR(at(&b, TEXT + 0xfff), " 300+d00");
	built_done(&b);
}

/* The 16 bytes @code at TEXT + @at, whose operand at @operand is the distance from its end to @slot. */
static void put_entry(struct elfwriter *w, uint64_t at, const char *code, size_t operand, uint64_t slot)
{
	int32_t distance = (int32_t)(slot - (TEXT + at + operand + 4));

	ew_put(w, 0x1000 + at, code, 16);
	ew_put(w, 0x1000 + at + operand, &distance, 4);
}

HL_TEST(plt_entries_are_named_by_the_relocation_of_their_slot)
{
	enum { PLT = 0x400, SEC = 0x500, GOT_PLT = 0x600, SLOTS = 0x601000 };
	struct elfwriter w;
	unsigned int text = start(&w, true), puts_, read_, exit_;
	Elf64_Rela relocations[4] = { { .r_offset = SLOTS + 0x18 },
				      { .r_offset = SLOTS + 0x10 },
				      { .r_offset = SLOTS + 0x20 },
				      { .r_offset = SLOTS + 0x28 } };
	struct built b;

	puts_ = ew_symbol(&w, EW_DYNSYM, "puts", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
	read_ = ew_symbol(&w, EW_DYNSYM, "read", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
	exit_ = ew_symbol(&w, EW_DYNSYM, "exit", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0);
	DYN("strlen", GLOBAL, GNU_IFUNC, 0x40, 8);
	relocations[0].r_info = ELF64_R_INFO(puts_, R_X86_64_JUMP_SLOT);
	relocations[1].r_info = ELF64_R_INFO(read_, R_X86_64_JUMP_SLOT);
	relocations[2].r_info = ELF64_R_INFO(exit_, R_X86_64_GLOB_DAT);
	relocations[3].r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE);
	relocations[3].r_addend = TEXT + 0x40;
	ew_put(&w, 0x3000, relocations, sizeof(relocations));
	(void)ew_section(&w, ".rela.plt", SHT_RELA, SHF_ALLOC, 0, 0x3000, sizeof(relocations));
	/* .plt: the common head (no slot of a symbol), then puts, plain. */
	ew_put(&w, 0x1000 + PLT, "\xff\x35\0\0\0\0\xff\x25\0\0\0\0\x0f\x1f\x40\0", 16);
	put_entry(&w, PLT + 0x10, "\xff\x25....\x68\0\0\0\0\xe9\0\0\0\0", 2, SLOTS + 0x18);
	/* .plt.sec: endbr64; bnd jmp. Its order is not that of the relocations. */
	put_entry(&w, SEC, "\xf3\x0f\x1e\xfa\xf2\xff\x25....\x0f\x1f\x44\0\0", 7, SLOTS + 0x10);
	put_entry(&w, SEC + 0x10, "\xf3\x0f\x1e\xfa\xf2\xff\x25....\x0f\x1f\x44\0\0", 7, SLOTS + 0x28);
	/* .plt.got: eight bytes an entry. */
	put_entry(&w, GOT_PLT, "\xff\x25....\x66\x90\x90\x90\x90\x90\x90\x90\x90\x90", 2, SLOTS + 0x20);
	w.sections[text].size = PLT;
	(void)ew_section(&w, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT + PLT, 0x1000 + PLT, 0x20);
	(void)ew_section(&w, ".plt.sec", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT + SEC, 0x1000 + SEC,
			 0x20);
	(void)ew_section(&w, ".plt.got", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT + GOT_PLT,
			 0x1000 + GOT_PLT, 8);
	b = build(&w, NULL);
	CHECK_STR(at(&b, TEXT + PLT), "-");
	CHECK_STR(at(&b, TEXT + PLT + 0x1f), "puts@plt 410+10");
	CHECK_STR(at(&b, TEXT + SEC + 4), "read@plt 500+10");
	CHECK_STR(at(&b, TEXT + SEC + 0x14), "strlen@plt 510+10");
	CHECK_STR(at(&b, TEXT + GOT_PLT + 6), "exit@plt 600+8");
	built_done(&b);
}
