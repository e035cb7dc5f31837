// SPDX-License-Identifier: BSD-2-Clause
/* needs: base elf symbol tests/elfwriter */
#include "symbol/symbol.h"

#include <lzma.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"

enum { TEXT = 0x401000, SIZE = 0x1000, AT = 0x8000 };

/* @repeat times @len bytes, as an xz stream of that preset. */
static uint8_t *compress(const uint8_t *bytes, size_t len, size_t repeat, uint32_t preset, size_t *ret_len)
{
	size_t cap = lzma_stream_buffer_bound(len) + (1 << 20), i;
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *out = malloc(cap);

	CHECK(out && lzma_easy_encoder(&stream, preset, LZMA_CHECK_CRC32) == LZMA_OK);
	stream.next_out = out;
	stream.avail_out = cap;
	for (i = 0; i < repeat; i++) {
		stream.next_in = bytes;
		stream.avail_in = len;
		CHECK(lzma_code(&stream, LZMA_RUN) == LZMA_OK && stream.avail_in == 0);
	}
	CHECK(lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END);
	*ret_len = cap - stream.avail_out;
	lzma_end(&stream);
	return out;
}

/* A stripped file with one exported function, and @debugdata. */
static void start(struct elfwriter *w, const uint8_t *debugdata, size_t len)
{
	unsigned int text;

	ew_init(w, true);
	text = ew_code(w, ".text", 0x1000, TEXT, SIZE);
	(void)ew_symbol(w, EW_DYNSYM, "exported", STB_GLOBAL, STT_FUNC, text, TEXT, 0x10);
	ew_put(w, AT, debugdata, len);
	(void)ew_section(w, ".gnu_debugdata", SHT_PROGBITS, 0, 0, AT, len);
}

/* Adds what eu-strip and objcopy leave in such a file: symbols, and headers without bytes. */
static void start_inner(struct elfwriter *w, unsigned int n)
{
	unsigned int text, i;
	char name[32];

	ew_init(w, true);
	ew_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, TEXT, 0);
	text = ew_section(w, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, 0x1000, SIZE);
	for (i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "hidden_%u", i);
		(void)ew_symbol(w, EW_SYMTAB, name, STB_LOCAL, STT_FUNC, text, TEXT + 0x10 + i, 1);
	}
	ew_finish(w);
}

static struct hl_symbols *build(const struct hl_elf *elf)
{
	struct hl_symbols *symbols;
	struct hl_err err = { "" };

	if (hl_symbols_new(elf, NULL, &symbols, &err) < 0)
		FAIL("%s", err.text);
	return symbols;
}

static const char *name_at(const struct hl_symbols *symbols, uint64_t address)
{
	static struct hl_str s;
	struct hl_symbol symbol;

	hl_str_clear(&s);
	if (!hl_symbols_find(symbols, address, &symbol) || !symbol.named ||
	    hl_symbols_add_name(symbols, symbol.name, &s) < 0)
		return "-";
	return s.data;
}

/* A file whose .gnu_debugdata has @n functions has their names. */
static void check_names(unsigned int n, uint32_t preset)
{
	struct elfwriter w, inner;
	struct hl_symbols *symbols;
	struct hl_elf *elf;
	uint8_t *packed;
	char expected[32];
	size_t len;

	start_inner(&inner, n);
	packed = compress(inner.bytes, inner.len, 1, preset, &len);
	ew_done(&inner);
	start(&w, packed, len);
	free(packed);
	elf = ew_open(&w);
	symbols = build(elf);
	CHECK_INT(hl_symbols_refused(symbols), 0);
	CHECK_INT(hl_symbols_count(symbols), n + 1);
	(void)snprintf(expected, sizeof(expected), "hidden_%u", n - 1);
	CHECK_STR(name_at(symbols, TEXT), "exported");
	CHECK_STR(name_at(symbols, TEXT + 0x10 + n - 1), expected);
	hl_elf_suspend(elf); /* those names are in memory */
	CHECK_STR(name_at(symbols, TEXT + 0x10 + n - 1), expected);
	hl_symbols_free(symbols);
	hl_elf_free(elf);
}

HL_TEST(names_of_the_file_inside)
{
	check_names(3, 6);
}

HL_TEST(the_largest_dictionary)
{
	check_names(3, 9);
}

HL_TEST(a_debug_file_makes_it_needless)
{
	struct elfwriter w, debug;
	struct hl_symbols *symbols;
	struct hl_elf *elf, *debug_elf;
	struct hl_err err = { "" };

	start(&w, (const uint8_t *)"damaged", 7);
	elf = ew_open(&w);
	ew_init(&debug, true);
	(void)ew_symbol(&debug, EW_SYMTAB, "whole", STB_LOCAL, STT_FUNC, 1, TEXT + 0x20, 0x10);
	debug_elf = ew_open(&debug);
	CHECK_INT(hl_symbols_new(elf, debug_elf, &symbols, &err), 0);
	CHECK_INT(hl_symbols_refused(symbols), 0);
	CHECK_STR(name_at(symbols, TEXT + 0x20), "whole");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
	hl_elf_free(debug_elf);
}

/* @packed is refused, said so, and the file's other names stay. */
static void check_refused(const uint8_t *packed, size_t len)
{
	struct hl_symbols *symbols;
	struct elfwriter w;
	struct hl_elf *elf;

	start(&w, packed, len);
	elf = ew_open(&w);
	symbols = build(elf);
	CHECK_INT(hl_symbols_refused(symbols), HL_SYMBOLS_REFUSED_DEBUGDATA);
	CHECK_STR(name_at(symbols, TEXT), "exported");
	CHECK_STR(name_at(symbols, TEXT + 0x10), "-");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
}

HL_TEST(damage_is_refused)
{
	struct elfwriter inner;
	uint8_t *packed;
	size_t len, cut;

	start_inner(&inner, 100);
	packed = compress(inner.bytes, inner.len, 1, 6, &len);
	for (cut = 1; cut < len; cut += 37)
		check_refused(packed, cut);
	packed[len / 2] ^= 0x10;
	check_refused(packed, len);
	free(packed);
	/* An xz stream of something else. */
	packed = compress((const uint8_t *)"no ELF file", 11, 1, 0, &len);
	check_refused(packed, len);
	free(packed);
	ew_done(&inner);
}

/* 160 KB that are a gibibyte: memory is bounded, and what is there besides is used. */
HL_TEST_TIMEOUT(a_bomb_is_refused_in_bounded_memory, 300)
{
	enum { MEGABYTE = 1 << 20, ALLOWED = 256 << 20 };
	uint8_t *zeros = calloc(1, MEGABYTE), *packed;
	struct rlimit limit;
	size_t len;

	packed = compress(zeros, MEGABYTE, 1024, 0, &len);
	CHECK(len < MEGABYTE);
	free(zeros);
	limit.rlim_cur = limit.rlim_max = ALLOWED;
#ifndef __SANITIZE_ADDRESS__ /* it reserves terabytes of addresses */
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
#endif
	check_refused(packed, len);
	free(packed);
}

/* An ELF file whose numbers are the largest that the fields hold. */
HL_TEST(huge_counts_inside)
{
	struct elfwriter inner;
	Elf64_Shdr *headers;
	Elf64_Ehdr *header;
	uint8_t *packed;
	size_t len, i;
	struct elfwriter w;
	struct hl_symbols *symbols;
	struct hl_elf *elf;

	start_inner(&inner, 5);
	header = (Elf64_Ehdr *)inner.bytes;
	headers = (Elf64_Shdr *)(inner.bytes + header->e_shoff);
	for (i = 0; i < header->e_shnum; i++)
		if (headers[i].sh_type == SHT_SYMTAB)
			headers[i].sh_size = UINT64_MAX - 23;
	packed = compress(inner.bytes, inner.len, 1, 6, &len);
	start(&w, packed, len);
	elf = ew_open(&w);
	symbols = build(elf);
	CHECK_STR(name_at(symbols, TEXT), "exported");
	CHECK_STR(name_at(symbols, TEXT + 0x10), "-");
	hl_symbols_free(symbols);
	hl_elf_free(elf);
	free(packed);
	ew_done(&inner);
}
