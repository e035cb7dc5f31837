// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/* Where Go's runtime switches between the stacks of goroutines and of C, and what its rules say of rbp. */

#include "unwind/unwind.h"

#include <stdlib.h>

#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, TEXT_SIZE = 0x1000, AT = 0x100, SIZE = 0x100 };

static void put_hex(struct elfwriter *w, uint64_t offset, const char *hex)
{
	unsigned int byte;
	uint8_t value;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += hex[2] ? 3 : 2) {
		value = (uint8_t)byte;
		ew_put(w, offset++, &value, 1);
	}
}

/* The table of a function with the code @hex, of which call frame information, if @has_frames, says rsp + 8. */
static const char *table_of_code(const char *hex, bool is_go, bool has_frames)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	struct cfiwriter f;
	struct hl_elf *elf;
	const char *text;
	size_t cie;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT - BIAS, TEXT, TEXT_SIZE);
	put_hex(&w, TEXT - BIAS + AT, hex);
	if (is_go) {
		ew_put(&w, 0x3000, NULL, 16);
		(void)ew_section(&w, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x403000, 0x3000, 16);
	}
	cw_init(&f, 0x404000, true);
	cie = cw_cie(&f, "", NULL, 0, "\x0c\x07\x08\x90\x01", 5);
	cw_fde(&f, cie, TEXT, 0x10, "\x0e\x20", 2);
	if (has_frames)
		cw_fde(&f, cie, TEXT + AT, SIZE, NULL, 0);
	cw_put_section(&f, &w, BIAS);
	elf = ew_open(&w);
	table = table_of(elf);
	CHECK_INT(table.n_fdes, has_frames ? 2 : 1);
	text = table_text(&table, TEXT - BIAS, TEXT_SIZE);
	free(table.bytes);
	hl_elf_free(elf);
	return text;
}

#define SWITCH "48 8b 66 38 " /* mov 0x38(%rsi),%rsp */
#define KEEP   "48 89 7c 24 30 48 8b 7f 08 48 29 d7 48 89 7c 24 28 "
#define CALL   "ff d0 "
#define SET_G  "64 48 89 3c 25 f8 ff ff ff "
#define BACK   "48 8b 7c 24 30 48 8b 77 08 48 2b 74 24 28 " SET_G "48 89 f4 "
#define END    "89 44 24 18 c3"

HL_TEST(c_is_called_on_another_stack)
{
	/* Behind the end, the same on the thread's stack already. */
	CHECK_STR(table_of_code("90 90 " SWITCH KEEP CALL BACK END
				" 48 89 54 24 28 ff d0 48 8b 74 24 28 48 89 f4 " END,
				true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 rsp+8; 106 unsupported; 117 *(*(rsp+48)+8)-*(rsp+40)+8; "
		  "133 rsp+8; 13d *(rsp+40)+8; 147 rsp+8; 200 none");
	/* Slots without a displacement, and the offset of the thread's variables before the first, in two forms. */
	CHECK_STR(table_of_code(CALL
				"48 8b 0d 11 22 33 44 48 8b 7c 24 08 48 8b 77 08 48 2b 34 24 64 48 89 39 "
				"48 89 f4 " END,
				true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 *(*(rsp+8)+8)-*(rsp+0)+8; 11d rsp+8; 200 none");
	CHECK_STR(table_of_code(CALL "48 c7 c1 f8 ff ff ff " BACK END, true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 *(*(rsp+48)+8)-*(rsp+40)+8; 123 rsp+8; 200 none");
	/* asmcgocall_no_g */
	CHECK_STR(table_of_code(CALL "48 8b 54 24 08 48 89 d4 c3", true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 *(rsp+8)+8; 10a rsp+8; 200 none");
}

HL_TEST(of_a_stripped_program_only_that_is_known)
{
	CHECK_STR(table_of_code("90 90 " CALL BACK END, true, false),
		  "0 rsp+32 fp=cfa-16; 10 none; 102 *(*(rsp+48)+8)-*(rsp+40)+8; 11e none");
}

HL_TEST(go_is_called_on_another_stack)
{
	CHECK_STR(table_of_code("48 29 e0 48 29 c7 48 89 fc 48 89 1c 24 ff d0 48 8d 44 24 28 " SWITCH "c3",
				true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 rsp+8; 109 rbp+16 fp=cfa-16; 118 rsp+8; 200 none");
}

HL_TEST(a_thread_of_go_begins_in_assembly)
{
	/* runtime.clone */
	CHECK_STR(table_of_code("90 90 41 ff d4 bf 6f 00 00 00 b8 3c 00 00 00 0f 05 eb f4", true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 rsp+8; 102 stop; 111 rsp+8; 200 none");
	CHECK_STR(table_of_code("53 55 41 54 41 55 41 56 41 57 48 89 fb 48 89 d7 ff d6 ff d3 "
				"41 5f 41 5e 41 5d 41 5c 5d 5b c3",
				true, false),
		  "0 rsp+32 fp=cfa-16; 10 none; 10a rsp+56 fp=cfa-24; 114 none");
	/* It has more on its stack than was saved. */
	CHECK_STR(table_of_code("53 55 41 54 41 55 41 56 41 57 48 83 ec 08 ff d6 48 83 c4 08 "
				"41 5f 41 5e 41 5d 41 5c 5d 5b c3",
				true, false),
		  "0 rsp+32 fp=cfa-16; 10 none");
}

HL_TEST(what_is_not_gos_stays_as_it_is)
{
	CHECK_STR(table_of_code(SWITCH KEEP CALL BACK END, false, true),
		  "0 rsp+32; 10 none; 100 rsp+8; 200 none");
	/* Go, but something else is loaded, or a pattern is cut. */
	CHECK_STR(table_of_code(CALL "48 8b 7c 24 30 48 8b 77 10 48 2b 74 24 28 48 89 f4 " END, true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 rsp+8; 200 none");
	CHECK_STR(table_of_code(CALL "48 8b 7c 24 30 48 8b 77 08 48 2b 74 24 28 " END, true, true),
		  "0 rsp+32 fp=cfa-16; 10 none; 100 rsp+8; 200 none");
}
