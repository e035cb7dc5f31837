// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter */

/* Tables of Go functions that are written here: all four layouts, and lies. */

#include "symbol/symbol.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"

enum { TEXT = 0x401000, SIZE = 0x1000, AT = 0x8000, ADDRESS = 0x508000, N = 3, FIRST = 0x40, LENGTH = 0x20 };
enum { RECORDS = 0x100, NAMES = 0x200, TABLE = 0x300 };

/* A table of N functions of LENGTH bytes, f0, f1, f2, the first at TEXT + FIRST. */
struct table {
	uint8_t bytes[TABLE];
	size_t word; /* bytes */
	size_t array, start_size;
};

static void put(struct table *t, size_t at, uint64_t value, size_t size)
{
	memcpy(t->bytes + at, &value, size);
}

static void put_word(struct table *t, size_t i, uint64_t value)
{
	put(t, 8 + i * t->word, value, t->word);
}

static struct table make(uint8_t magic, bool is_64)
{
	struct table t = { .word = is_64 ? 8 : 4 };
	bool is_old = magic == 0xfb, is_relative = magic == 0xf0 || magic == 0xf1;
	uint64_t records, base = is_relative ? 0 : TEXT;

	memcpy(t.bytes, "?\xff\xff\xff\0\0\1?", 8);
	t.bytes[0] = magic;
	t.bytes[7] = (uint8_t)t.word;
	put_word(&t, 0, N);
	t.array = is_old ? 8 + t.word : 0x80;
	t.start_size = is_relative ? 4 : t.word;
	records = is_old ? RECORDS : RECORDS - t.array;
	if (is_relative) {
		put_word(&t, 2, TEXT);
		put_word(&t, 3, NAMES);
		put_word(&t, 4, NAMES + 0x40);
		put_word(&t, 7, t.array);
	} else if (!is_old) {
		put_word(&t, 2, NAMES);
		put_word(&t, 3, NAMES + 0x40);
		put_word(&t, 6, t.array);
	}
	for (size_t i = 0; i <= N; i++) {
		put(&t, t.array + 2 * i * t.start_size, base + FIRST + i * LENGTH, t.start_size);
		if (i == N)
			break;
		put(&t, t.array + (2 * i + 1) * t.start_size, records + i * 0x10, t.start_size);
		put(&t, RECORDS + i * 0x10, base + FIRST + i * LENGTH, t.start_size);
		put(&t, RECORDS + i * 0x10 + t.start_size, (is_old ? NAMES : 0) + i * 8, 4);
		(void)snprintf((char *)t.bytes + NAMES + i * 8, 8, "main.f%zu", i);
	}
	return t;
}

struct program {
	struct hl_elf *elf;
	struct hl_symbols *symbols;
};

static struct program open_with(const void *bytes, size_t len, const char *section, bool is_64)
{
	struct elfwriter w;
	struct program p;
	struct hl_err err = { "" };

	ew_init(&w, is_64);
	(void)ew_code(&w, ".text", 0x1000, TEXT, SIZE);
	ew_put(&w, AT, bytes, len);
	ew_segment(&w, PT_LOAD, PF_R | PF_W, AT, ADDRESS, len);
	(void)ew_section(&w, section, SHT_PROGBITS, SHF_ALLOC, ADDRESS, AT, len);
	p.elf = ew_open(&w);
	if (hl_symbols_new(p.elf, NULL, &p.symbols, &err) < 0)
		FAIL("%s", err.text);
	return p;
}

static void program_done(struct program *p)
{
	hl_symbols_free(p->symbols);
	hl_elf_free(p->elf);
}

/* "NAME START+SIZE" relative to TEXT, or "-". */
static const char *at(const struct program *p, uint64_t offset)
{
	static struct hl_str s;
	struct hl_symbol symbol;

	hl_str_clear(&s);
	if (!hl_symbols_find(p->symbols, TEXT + offset, &symbol) || !symbol.named ||
	    hl_symbols_add_name(p->symbols, symbol.name, &s) < 0)
		return "-";
	hl_str_addf(&s, " %llx+%llx", (unsigned long long)(symbol.start - TEXT),
		    (unsigned long long)symbol.size);
	return s.data;
}

static void check_functions(const struct program *p)
{
	CHECK_INT(hl_symbols_count(p->symbols), N);
	CHECK_STR(at(p, FIRST - 1), "-");
	CHECK_STR(at(p, FIRST), "main.f0 40+20");
	CHECK_STR(at(p, FIRST + LENGTH), "main.f1 60+20");
	CHECK_STR(at(p, FIRST + N * LENGTH - 1), "main.f2 80+20");
	CHECK_STR(at(p, FIRST + N * LENGTH), "-");
}

HL_TEST(all_layouts_in_all_places)
{
	static const uint8_t magics[] = { 0xfb, 0xfa, 0xf0, 0xf1 };
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro" };
	struct program p;
	struct table t;

	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 6; k++) {
			t = make(magics[i], k % 2);
			p = open_with(t.bytes, sizeof(t.bytes), sections[k / 2], k % 2);
			check_functions(&p);
			program_done(&p);
		}
	}
}

HL_TEST(names_are_not_demangled)
{
	struct table t = make(0xf1, true);
	struct program p;

	strcpy((char *)t.bytes + NAMES, "_Z1fv");
	p = open_with(t.bytes, sizeof(t.bytes), ".gopclntab", true);
	CHECK_STR(at(&p, FIRST), "_Z1fv 40+20");
	program_done(&p);
}

/* The word that says where the text begins may be left to the dynamic loader, or be none any more. */
HL_TEST(a_start_of_the_text_that_is_not_in_the_header)
{
	struct table t = make(0xf1, true);
	Elf64_Rela relocation = { ADDRESS + 8 + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 0x10 };
	struct elfwriter w;
	struct hl_err err = { "" };
	struct program p;

	put_word(&t, 2, 0);
	p = open_with(t.bytes, sizeof(t.bytes), ".gopclntab", true);
	check_functions(&p); /* .text */
	program_done(&p);
	ew_init(&w, true);
	(void)ew_code(&w, ".text", 0x1000, TEXT, SIZE);
	ew_put(&w, AT, t.bytes, sizeof(t.bytes));
	(void)ew_section(&w, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, ADDRESS, AT, sizeof(t.bytes));
	ew_put(&w, 0xa000, &relocation, sizeof(relocation));
	(void)ew_section(&w, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, 0xa000, sizeof(relocation));
	p.elf = ew_open(&w);
	CHECK_INT(hl_symbols_new(p.elf, NULL, &p.symbols, &err), 0);
	CHECK_STR(at(&p, FIRST + 0x10), "main.f0 50+20");
	program_done(&p);
}

/* A name that a symbol table has too is that table's, with its size. */
HL_TEST(a_symbol_goes_first)
{
	struct table t = make(0xf1, true);
	struct elfwriter w;
	struct hl_err err = { "" };
	struct program p;
	unsigned int text;

	ew_init(&w, true);
	text = ew_code(&w, ".text", 0x1000, TEXT, SIZE);
	(void)ew_symbol(&w, EW_SYMTAB, "main.f1.abi0", STB_LOCAL, STT_FUNC, text, TEXT + FIRST + LENGTH,
			0x18);
	ew_put(&w, AT, t.bytes, sizeof(t.bytes));
	(void)ew_section(&w, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, ADDRESS, AT, sizeof(t.bytes));
	p.elf = ew_open(&w);
	CHECK_INT(hl_symbols_new(p.elf, NULL, &p.symbols, &err), 0);
	CHECK_STR(at(&p, FIRST), "main.f0 40+20");
	CHECK_STR(at(&p, FIRST + LENGTH), "main.f1.abi0 60+18");
	program_done(&p);
}

/* Reads what is said of every function: never from outside the table, which a sanitizer would see. */
static void read_all(const struct program *p)
{
	for (uint64_t i = 0; i < SIZE; i += 8)
		CHECK(strlen(at(p, i)) < TABLE + 32);
}

HL_TEST(wild_numbers_anywhere)
{
	static const uint64_t wild[] = { 0,          1,          TABLE - 1,
					 TABLE,      0x7fffffff, 0xffffffff,
					 1ull << 32, 1ull << 60, (1ull << 63) - 1,
					 1ull << 63, UINT64_MAX, TEXT };
	static const uint8_t magics[] = { 0xfb, 0xfa, 0xf0 };
	struct program p;

	for (size_t m = 0; m < 3; m++) {
		for (size_t at_byte = 8; at_byte < TABLE; at_byte += 4) {
			for (size_t k = 0; k < sizeof(wild) / sizeof(wild[0]); k++) {
				struct table t = make(magics[m], true);

				put(&t, at_byte, wild[k], at_byte + 8 <= TABLE && at_byte % 8 == 0 ? 8 : 4);
				p = open_with(t.bytes, sizeof(t.bytes), ".gopclntab", true);
				CHECK(hl_symbols_count(p.symbols) <= 2 * N);
				read_all(&p);
				program_done(&p);
			}
		}
	}
}

HL_TEST(tables_that_end_early)
{
	struct program p;

	for (size_t len = 1; len < TABLE; len += 5) {
		struct table t = make(0xf1, true);

		p = open_with(t.bytes, len, ".gopclntab", true);
		CHECK(hl_symbols_count(p.symbols) <= N);
		program_done(&p);
	}
}

/* Memory that a hostile file may cost, over what the test has already. */
static void limit_memory(size_t bytes)
{
#ifndef __SANITIZE_ADDRESS__ /* it reserves terabytes of addresses */
	struct rlimit limit = { bytes, bytes };

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
#endif
}

/*
 * Nothing but headers, each of which claims all that follows as its table: reading each to the end would be
 * quadratic.
 */
HL_TEST_TIMEOUT(headers_without_end, 20)
{
	enum { MUCH = 16 << 20 };
	uint8_t *bytes = malloc(MUCH);
	struct table t = make(0xf1, true);
	struct program p;

	CHECK(bytes);
	put_word(&t, 7, 0x200);
	put_word(&t, 0, (MUCH - 0x200) / 8 - 1);
	for (size_t i = 0; i + 64 <= MUCH; i += 64)
		memcpy(bytes + i, t.bytes, 64);
	limit_memory(512 << 20);
	p = open_with(bytes, MUCH, ".data.rel.ro", true);
	program_done(&p);
	free(bytes);
}

/* Functions without number, all with one name, which has no end. */
HL_TEST_TIMEOUT(names_without_end, 20)
{
	enum { MUCH = 16 << 20, COUNT = 400000, ARRAY = 0x80, RECORD = MUCH / 2 };
	uint8_t *bytes = malloc(MUCH);
	struct table t = make(0xf1, true);
	struct hl_str name = { 0 };
	struct hl_symbol symbol;
	struct program p;

	CHECK(bytes);
	memset(bytes, 'x', MUCH);
	put_word(&t, 0, COUNT);
	put_word(&t, 3, 0);
	put_word(&t, 4, MUCH);
	memcpy(bytes, t.bytes, ARRAY);
	for (uint32_t i = 0; i <= COUNT; i++) {
		uint32_t element[2] = { i % SIZE, RECORD - ARRAY };

		memcpy(bytes + ARRAY + 8 * (size_t)i, element, 8);
	}
	/* The record: its start, and a name that goes on to the end of the table. */
	memcpy(bytes + RECORD + 4, &(uint32_t){ RECORD + 8 }, 4);
	limit_memory(512 << 20);
	p = open_with(bytes, MUCH, ".gopclntab", true);
	CHECK(hl_symbols_find(p.symbols, TEXT + 5, &symbol) && symbol.named);
	CHECK_INT(hl_symbols_add_name(p.symbols, symbol.name, &name), 0);
	CHECK_INT(name.len, HL_SYMBOL_NAME_MAX + strlen("…"));
	hl_str_done(&name);
	program_done(&p);
	free(bytes);
}
