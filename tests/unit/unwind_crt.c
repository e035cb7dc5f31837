// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/* The rules of _init and _fini, for which there is no call frame information. */

#include "unwind/unwind.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, FRAMES = 0x405000, AT = 0x100 };

/* What the table says around a section @name with @code, @at bytes behind the begin of an FDE of 0x20. */
static const char *text_at(uint32_t at, const char *name, const char *code, size_t len)
{
	static const uint8_t to_24[] = { 0x0e, 24 };
	struct hl_unwind_result table;
	struct hl_err err = { "" };
	struct hl_elf *elf = NULL;
	struct elfwriter w;
	struct cfiwriter f;
	const char *text;
	int fd;

	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT, 0x20, to_24, sizeof(to_24));
	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x400);
	ew_put(&w, TEXT - BIAS + at, code, len);
	(void)ew_section(&w, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT + at, TEXT - BIAS + at, len);
	cw_put_segment(&f, &w, BIAS);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	if (hl_elf_open(fd, "test", &elf, &err) < 0)
		FAIL("%s", err.text);
	close(fd);
	table = table_of(elf);
	CHECK_INT(table.n_fdes, 1);
	text = table_text(&table, TEXT - BIAS + at - 1, 0x80);
	free(table.bytes);
	hl_elf_free(elf);
	return text;
}

static const char *text_of(const char *name, const char *code, size_t len)
{
	return text_at(AT, name, code, len);
}
#define TEXT_OF(name, code) text_of(name, code, sizeof(code) - 1)

#define PUSH "\x48\x83\xec\x08"
#define POP  "\x48\x83\xc4\x08\xc3"

HL_TEST(eight_bytes_more_in_between)
{
	CHECK_STR(TEXT_OF(".fini", PUSH POP), "0 none; 1 rsp+8; 5 rsp+16; 9 rsp+8; a none");
	CHECK_STR(TEXT_OF(".init", PUSH "\x48\x8b\x05\xc1\x2f\x00\x00\x48\x85\xc0\x74\x02\xff\xd0" POP),
		  "0 none; 1 rsp+8; 5 rsp+16; 17 rsp+8; 18 none");
	CHECK_STR(TEXT_OF(".fini", "\xf3\x0f\x1e\xfa" PUSH POP),
		  "0 none; 1 rsp+8; 9 rsp+16; d rsp+8; e none");
}

HL_TEST(what_is_not_as_always_has_no_rule)
{
	char longer[100] = PUSH;

	CHECK_STR(TEXT_OF(".fini", PUSH "\x48\x83\xc4\x08\x90"), "0 none");
	CHECK_STR(TEXT_OF(".fini", "\x48\x83\xec\x18" POP), "0 none");
	CHECK_STR(TEXT_OF(".fini", "\xf3\x0f\x1e\xfa" POP), "0 none");
	CHECK_STR(TEXT_OF(".fini", POP), "0 none");
	memcpy(longer + sizeof(longer) - 5, POP, 5);
	CHECK_STR(text_of(".init", longer, sizeof(longer)), "0 none");
}

/* Where only filling could stand by its size. */
HL_TEST(right_behind_another_function)
{
	CHECK_STR(text_at(0x20, ".fini", PUSH POP, 9), "0 rsp+24; 1 rsp+8; 5 rsp+16; 9 rsp+8; a none");
	/* Of .text, by hand: lea 1(%rdi),%rax; ret; after two bytes of filling. */
	CHECK_STR(text_at(0x20, ".by_hand", "\x66\x90\x48\x8d\x47\x01\xc3", 7),
		  "0 rsp+24; 1 none; 3 rsp+8; 8 none");
}
