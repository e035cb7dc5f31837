// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/* Where call frame information is found in a file, and what is made of its entries as a whole. */

#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, TEXT_SIZE = 0x4000, FRAMES = 0x405000 };

/* Programs that can be told apart. */
static const uint8_t to_16[] = { 0x0e, 16 }, to_24[] = { 0x0e, 24 }, to_32[] = { 0x0e, 32 };

static void add_text(struct elfwriter *w)
{
	ew_init(w, true);
	(void)ew_code(w, ".text", TEXT - BIAS, TEXT, TEXT_SIZE);
}

static struct hl_unwind_result compile(struct elfwriter *w)
{
	struct hl_elf *elf = ew_open(w);
	struct hl_unwind_result table = table_of(elf);

	hl_elf_free(elf);
	return table;
}

/* What cannot be compiled, and why. */
static void check_failure(struct elfwriter *w, int code, const char *sentence)
{
	struct hl_elf *elf = ew_open(w);
	struct hl_unwind_result table = { .len = 77 };
	struct hl_err err = { "" };

	CHECK_INT(hl_unwind_compile(elf, &table, &err), code);
	CHECK_STR(err.text, sentence);
	CHECK_INT(table.len, 77);
	CHECK(!table.bytes);
	hl_elf_free(elf);
}

/* What the table of TEXT says from @start on. */
static const char *text_at(const struct hl_unwind_result *table, uint64_t start, uint64_t size)
{
	return table_text(table, TEXT - BIAS + start, size);
}

HL_TEST(by_segment_and_by_section)
{
	struct hl_unwind_result tables[2];
	struct elfwriter w;
	struct cfiwriter f;

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT + 0x10, 0x20, to_16, 2);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	tables[0] = compile(&w);
	add_text(&w);
	cw_put_section(&f, &w, BIAS);
	tables[1] = compile(&w);
	CHECK_STR(text_at(&tables[0], 0, 0x100), "0 none; 10 rsp+16; 30 none");
	CHECK_INT(tables[0].len, tables[1].len);
	CHECK(memcmp(tables[0].bytes, tables[1].bytes, tables[0].len) == 0);
	free(tables[0].bytes);
	free(tables[1].bytes);
}

/* A header may lie about where .eh_frame is: outside the file, at code, at itself, or at an FDE. */
HL_TEST(by_section_where_the_header_lies)
{
	enum { HEADER = FRAMES - 12 - 8 * 2, FIELD = HEADER + 4 };
	static const int32_t lies[] = { 0x7fff0000, TEXT - FIELD, 0, FRAMES + 24 - FIELD };
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct hl_unwind_result table;

		cw_init(&f, FRAMES, false);
		cie = cw_usual_cie(&f);
		cw_fde(&f, cie, TEXT + 0x10, 0x20, to_16, 2);
		cw_fde(&f, cie, TEXT + 0x100, 0x20, to_24, 2);
		add_text(&w);
		cw_put_segment(&f, &w, BIAS);
		cw_put_section(&f, &w, BIAS);
		ew_put(&w, FIELD - BIAS, &lies[i], sizeof(lies[i]));
		table = compile(&w);
		CHECK_STR(text_at(&table, 0, 0x200), "0 none; 10 rsp+16; 30 none; 100 rsp+24; 120 none");
		CHECK_INT(table.n_fdes, 2);
		free(table.bytes);
	}
}

HL_TEST(rows_pages_and_rules)
{
	struct hl_unwind_result table;
	struct hl_unwind_table head;
	struct elfwriter w;
	struct cfiwriter f;
	uint32_t rows[6];

	/* One function over the first three pages of four: each begins with a row of its own. */
	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT, 0x2a00, to_16, 2);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_INT(table.n_rows, 5);
	CHECK_INT(table.n_rules, 3); /* none and unsupported are always there */
	CHECK_INT(table.n_fdes, 1);
	memcpy(&head, table.bytes, sizeof(head));
	CHECK_INT(head.version, HL_UNWIND_VERSION);
	CHECK_INT(head.first_page, (TEXT - BIAS) >> 12);
	CHECK_INT(head.n_pages, 4);
	CHECK_INT(head.n_rows, 5);
	CHECK_INT(table.len, 32 + 3 * 8 + 4 * 8 + 5 * 4);
	memcpy(rows, table.bytes + table.len - sizeof(uint32_t) * 5, sizeof(uint32_t) * 5);
	CHECK_INT(rows[0], 2);
	CHECK_INT(rows[1], 2);
	CHECK_INT(rows[2], 2);
	CHECK_INT(rows[3], 0xa00u << 20 | 0);
	CHECK_INT(rows[4], 0);
	free(table.bytes);
}

HL_TEST(overlaps_gaps_and_order)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	cw_init(&f, FRAMES, false);
	cie = cw_usual_cie(&f);
	cw_fde(&f, cie, TEXT + 0x200, 0x40, to_24, 2); /* not in order */
	cw_fde(&f, cie, TEXT + 0x100, 0x40, to_16, 2);
	cw_fde(&f, cie, TEXT + 0x14f, 0x11, to_24, 2); /* 15 bytes behind: bridged */
	cw_fde(&f, cie, TEXT + 0x170, 0x10, to_32, 2); /* 16 bytes behind: a gap */
	cw_fde(&f, cie, TEXT + 0x200, 0x40, to_32, 2); /* the second at one place */
	cw_fde(&f, cie, TEXT + 0x230, 0x20, to_16, 2); /* overlaps: what is left of it */
	cw_fde(&f, cie, TEXT + 0x210, 0x10, to_32, 2); /* covered */
	cw_fde(&f, cie, TEXT + 0x300, 0, to_16, 2);
	cw_fde(&f, cie, 0, 0x1000, to_16, 2);
	cw_fde(&f, cie, TEXT + 0xff0, 0x7fffffff, to_16, 2); /* to the end of the segment */
	cw_fde(&f, cie, TEXT + TEXT_SIZE, 0x10, to_16, 2);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0, TEXT_SIZE),
		  "0 none; 100 rsp+16; 14f rsp+24; 160 none; 170 rsp+32; 180 none; 200 rsp+24; 240 rsp+16; "
		  "250 none; ff0 rsp+16");
	free(table.bytes);
}

HL_TEST(a_row_that_says_nothing_new_is_none)
{
	static const uint8_t then_16[] = { 0x48, 0x0e, 16 };
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	/* Of the second, all that is left at 0x140 is what the first said: both its rows fall together there. */
	cw_init(&f, FRAMES, false);
	cie = cw_usual_cie(&f);
	cw_fde(&f, cie, TEXT + 0x100, 0x40, to_16, 2);
	cw_fde(&f, cie, TEXT + 0x130, 0x20, then_16, 3);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0, 0x400), "0 none; 100 rsp+16; 150 none");
	CHECK_INT(table.n_rows, 3 + 3);
	free(table.bytes);
}

HL_TEST(places_are_file_offsets_in_every_segment)
{
	struct hl_unwind_result table;
	struct hl_unwind_rule rule;
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	/* Three segments; the last is the first by address and shares a page of the file with the second. */
	cw_init(&f, FRAMES, false);
	cie = cw_usual_cie(&f);
	cw_fde(&f, cie, TEXT + 0xff8, 0x10, to_16, 2);
	cw_fde(&f, cie, 0x700000, 0x100, to_24, 2);
	cw_fde(&f, cie, 0x300100, 0x100, to_32, 2);
	add_text(&w);
	ew_put(&w, 0x6000, NULL, 0x200);
	ew_segment(&w, PT_LOAD, PF_R | PF_X, 0x6000, 0x700000, 0x100);
	ew_segment(&w, PT_LOAD, PF_R | PF_X, 0x6100, 0x300100, 0x100);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0xff0, 0x10), "0 none; 8 rsp+16");
	CHECK_STR(table_text(&table, 0x6000, 0x200), "0 rsp+24; 100 rsp+32");
	/* Between the segments there is no code, before and behind them no page. */
	CHECK_INT(hl_unwind_lookup(table.bytes, table.len, 0x5000, &rule), -ENOENT);
	CHECK_INT(hl_unwind_lookup(table.bytes, table.len, 0x5fff, &rule), -ENOENT);
	CHECK_INT(hl_unwind_lookup(table.bytes, table.len, 0xfff, &rule), -ENOENT);
	CHECK_INT(hl_unwind_lookup(table.bytes, table.len, 0x7000, &rule), -ENOENT);
	CHECK_INT(hl_unwind_lookup(table.bytes, table.len, UINT64_MAX, &rule), -ENOENT);
	free(table.bytes);
}

HL_TEST(debug_frame_alone_and_beside)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f, d;
	size_t cie;

	cw_init(&d, 0x406000, true);
	cie = cw_usual_cie(&d);
	cw_fde(&d, cie, TEXT + 0x100, 0x40, to_24, 2);
	cw_number(&d, 0, 4); /* ends nothing here */
	cw_fde(&d, cie, TEXT + 0x300, 0x40, to_32, 2);
	add_text(&w);
	cw_put_section(&d, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0xf0, 0x300), "0 none; 10 rsp+24; 50 none; 210 rsp+32; 250 none");
	free(table.bytes);

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT + 0x100, 0x40, to_16, 2);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	cw_put_section(&d, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0xf0, 0x300), "0 none; 10 rsp+16; 50 none; 210 rsp+32; 250 none");
	free(table.bytes);
}

HL_TEST(debug_frame_of_version_4_and_64_bits)
{
	static const uint8_t head[] = { 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter d;
	int is_bad;

	for (is_bad = 0; is_bad < 2; is_bad++) {
		cw_init(&d, 0x406000, true);
		cw_number(&d, UINT32_MAX, 4);
		cw_number(&d, 8 + sizeof(head), 8);
		cw_number(&d, UINT64_MAX, 8);
		cw_bytes(&d, head, sizeof(head));
		cw_number(&d, UINT32_MAX, 4);
		cw_number(&d, 8 + 16 + 2, 8);
		cw_number(&d, 0, 8); /* the CIE's place */
		cw_number(&d, TEXT + 0x100, 8);
		cw_number(&d, 0x40, 8);
		cw_bytes(&d, to_16, 2);
		d.bytes[22] = is_bad ? 4 : 8; /* of an address */
		add_text(&w);
		cw_put_section(&d, &w, BIAS);
		if (is_bad) {
			check_failure(&w, -ENODATA, "'test' has no call frame information for its code");
			break;
		}
		table = compile(&w);
		CHECK_STR(text_at(&table, 0x100, 0x80), "0 rsp+16; 40 none");
		free(table.bytes);
	}
}

HL_TEST(zero_lengths_inside)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	cw_init(&f, FRAMES, false);
	cie = cw_usual_cie(&f);
	cw_fde(&f, cie, TEXT + 0x100, 0x40, to_16, 2);
	cw_number(&f, 0, 4);
	cw_fde(&f, cie, TEXT + 0x200, 0x40, to_24, 2);
	cw_number(&f, 0, 4);
	/* Here the table in the header ends: whatever follows is no longer call frame information. */
	f.n_fdes = 2;
	cw_fde(&f, cie, TEXT + 0x300, 0x40, to_32, 2);
	f.n_fdes = 2;
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x280), "0 rsp+16; 40 none; 100 rsp+24; 140 none");
	free(table.bytes);
	/* Without a table the first ends it. */
	add_text(&w);
	cw_put_section(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x280), "0 rsp+16; 40 none");
	free(table.bytes);
}

/* An FDE of TEXT + 0x100 whose CIE has @encoding; start and size are given as bytes. */
static void add_encoded(struct cfiwriter *f, uint8_t encoding, uint64_t start, uint64_t size, size_t width)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	size_t cie;

	cw_init(f, FRAMES, false);
	cie = cw_cie(f, "zR", &encoding, 1, program, sizeof(program));
	(void)cw_begin(f);
	cw_number(f, f->len - cie, 4);
	cw_number(f, encoding & 0x10 ? start - (FRAMES + f->len) : start, width);
	cw_number(f, size, width);
	cw_number(f, 0, 1);
	cw_bytes(f, to_16, 2);
	cw_end(f);
}

HL_TEST(encodings_of_addresses)
{
	static const struct {
		uint8_t encoding;
		size_t width; /* 0: refused */
	} cases[] = { { 0x00, 8 }, { 0x03, 4 }, { 0x04, 8 }, { 0x0b, 4 }, { 0x0c, 8 },
		      { 0x1b, 4 }, { 0x1c, 8 }, { 0x10, 8 }, { 0x14, 8 }, { 0x3b, 0 },
		      { 0x9b, 0 }, { 0x5b, 0 }, { 0xff, 0 }, { 0x05, 0 } };
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		add_encoded(&f, cases[i].encoding, TEXT + 0x100, 0x40, cases[i].width ? cases[i].width : 4);
		add_text(&w);
		cw_put_section(&f, &w, BIAS);
		if (!cases[i].width) {
			check_failure(&w, -ENODATA, "'test' has no call frame information for its code");
			continue;
		}
		table = compile(&w);
		CHECK_STR(text_at(&table, 0x100, 0x80), "0 rsp+16; 40 none");
		free(table.bytes);
	}
	/* LEB128, as small as it gets: 0x401100 in four bytes. */
	cw_init(&f, FRAMES, false);
	add_encoded(&f, 0x01, 0x0182a280, 0x40, 4);
	memcpy(f.bytes + f.entry + 8, "\x80\xa2\x80\x02\x40\0\x0e\x10", 8);
	add_text(&w);
	cw_put_section(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x80), "0 rsp+16; 40 none");
	free(table.bytes);
}

HL_TEST(lengths_of_64_bits)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t cie;

	cw_init(&f, FRAMES, false);
	cie = cw_usual_cie(&f);
	cw_number(&f, UINT32_MAX, 4);
	cw_number(&f, 15, 8);
	cw_number(&f, f.len - cie, 4); /* the id has four bytes nevertheless (LSB) */
	cw_number(&f, TEXT + 0x100 - (FRAMES + f.len), 4);
	cw_number(&f, 0x40, 4);
	cw_number(&f, 0, 1);
	cw_bytes(&f, to_16, 2);
	cw_fde(&f, cie, TEXT + 0x140, 0x40, to_24, 2);
	add_text(&w);
	cw_put_section(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x100), "0 rsp+16; 40 rsp+24; 80 none");
	free(table.bytes);
}

HL_TEST(headers_of_other_forms)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t header, i;
	static const struct {
		uint8_t at, value;
	} damage[] = {
		{ 0, 2 }, { 1, 0xff }, { 1, 0x9b }, { 2, 0xff }, { 3, 0xff }, { 3, 0x50 }, { 11, 0xff }
	};

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT + 0x100, 0x40, to_16, 2);
	header = FRAMES - 12 - 8 - BIAS;
	for (i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		/* A header without use leaves the section; one without a table is used. */
		add_text(&w);
		cw_put_segment(&f, &w, BIAS);
		ew_put(&w, header + damage[i].at, &damage[i].value, 1);
		cw_put_section(&f, &w, BIAS);
		table = compile(&w);
		CHECK_STR(text_at(&table, 0x100, 0x80), "0 rsp+16; 40 none");
		free(table.bytes);
	}
	/* An address relative to the header. */
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	ew_put(&w, header, "\x01\x3b\xff\xff\x14\0\0\0", 8);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x80), "0 rsp+16; 40 none");
	free(table.bytes);
}

HL_TEST(files_without_tables)
{
	struct elfwriter w;

	add_text(&w);
	check_failure(&w, -ENODATA, "'test' has no call frame information for its code");
	ew_init(&w, true);
	check_failure(&w, -ENODATA, "'test' has no code");
	ew_init(&w, false);
	(void)ew_code(&w, ".text", TEXT - BIAS, TEXT, TEXT_SIZE);
	check_failure(&w, -ENODATA, "'test' is no 64-bit x86 file: it is not unwound by table");
	add_text(&w);
	w.machine = EM_AARCH64;
	check_failure(&w, -ENODATA, "'test' is no 64-bit x86 file: it is not unwound by table");
}

HL_TEST(another_column_of_the_return_address)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT + 0x100, 0x40, to_16, 2);
	CHECK_INT(f.bytes[14], 16);
	f.bytes[14] = 17;
	add_text(&w);
	cw_put_section(&f, &w, BIAS);
	table = compile(&w);
	CHECK_STR(text_at(&table, 0x100, 0x80), "0 unsupported; 40 none");
	CHECK_INT(table.n_unsupported, 1);
	free(table.bytes);
}

/* A program with a second segment at @offset of a file of @size bytes, mostly a hole. */
static struct hl_elf *open_large(uint64_t offset, uint64_t size)
{
	struct hl_elf *elf = NULL;
	struct elfwriter w;
	struct cfiwriter f;
	int fd;

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), 0x10000000 + offset, 0x40, to_16, 2);
	add_text(&w);
	cw_put_segment(&f, &w, BIAS);
	ew_segment(&w, PT_LOAD, PF_R | PF_X, offset, 0x10000000 + offset, 0x1000);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	CHECK(ftruncate(fd, (off_t)size) == 0);
	CHECK_INT(hl_elf_open(fd, "test", &elf, NULL), 0);
	close(fd);
	return elf;
}

HL_TEST(code_over_1_GiB_is_too_much)
{
	uint64_t limit = TEXT - BIAS + (UINT64_C(1) << 30);
	struct hl_elf *elf = open_large(limit - 0x1000, limit);
	struct hl_unwind_result table = table_of(elf);
	struct hl_err err = { "" };

	CHECK_STR(table_text(&table, limit - 0x1000, 0x80), "0 rsp+16; 40 none");
	free(table.bytes);
	hl_elf_free(elf);
	elf = open_large(limit - 0xfff, limit + 1);
	CHECK_INT(hl_unwind_compile(elf, &table, &err), -E2BIG);
	CHECK_STR(err.text, "'test' has its code over 1025 MiB; an unwind table spans at most 1024");
	hl_elf_free(elf);
	/* A segment that only claims to be there is cut to what the file has. */
	elf = open_large(limit, limit - 0x2000);
	CHECK_INT(hl_unwind_compile(elf, &table, &err), -ENODATA);
	hl_elf_free(elf);
}

HL_TEST(more_rules_than_a_table_has_room_for)
{
	enum { RULES = 8192 + 100 };
	static uint8_t program[RULES * 6];
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	size_t n = 0, i;

	for (i = 0; i < RULES; i++) {
		program[n++] = 0x41;
		program[n++] = 0x0e;
		program[n++] = (uint8_t)(0x80 | (i + 16));
		program[n++] = (uint8_t)(0x80 | (i + 16) >> 7);
		program[n++] = (uint8_t)((i + 16) >> 14);
	}
	cw_init(&f, 0x409000, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT, RULES + 10, program, n);
	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x4000);
	cw_put_segment(&f, &w, BIAS);
	table = compile(&w);
	CHECK_INT(table.n_rules, 8192);
	CHECK_INT(table.n_unsupported, 1);
	CHECK_STR(text_at(&table, 0, 3), "0 rsp+8; 1 rsp+16; 2 rsp+17");
	CHECK_STR(text_at(&table, 8189, 10), "0 rsp+8204; 1 unsupported");
	free(table.bytes);
}
