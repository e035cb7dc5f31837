// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/*
 * Rules of functions without call frame information that nothing but a pointer leads to. Those here never return, so
 * they would not be believed for what they look like.
 */

#include "unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "tabletext.h"

enum { TEXT = 0x1000, DATA = 0x2000, FRAMES = 0x3000, AT = 0x100, SIZE = 0x400 };

/* push %rbx; 1: call *%rax; jmp 1b */
static const char endless[] = "\x53\xff\xd0\xeb\xfc";

/* A file linked at @base, with that code at AT, and nothing else that is no filling. */
static void begin(struct elfwriter *w, uint64_t base, const char *code, size_t len)
{
	ew_init(w, true);
	/* What a file begins with is loaded, too. */
	ew_segment(w, PT_LOAD, PF_R, 0, base, TEXT);
	(void)ew_code(w, ".text", TEXT, base + TEXT, SIZE);
	ew_put(w, TEXT + AT, code, len);
}

/* What the table says of @len bytes from AT on; @entry: where the program starts; 0: nowhere. */
static const char *rows_of(struct elfwriter *w, uint64_t entry, size_t len)
{
	struct hl_unwind_result table = { 0 };
	struct hl_err err = { "" };
	struct hl_elf *elf = NULL;
	const char *text;
	int fd, code;

	ew_finish(w);
	memcpy(w->bytes + offsetof(Elf64_Ehdr, e_entry), &entry, sizeof(entry));
	fd = ew_file(w->bytes, w->len);
	ew_done(w);
	if (hl_elf_open(fd, "test", &elf, &err) < 0)
		FAIL("%s", err.text);
	close(fd);
	code = hl_unwind_compile(elf, &table, &err);
	text = code == -ENODATA ? "nothing" : table_text(&table, TEXT + AT, len);
	free(table.bytes);
	hl_elf_free(elf);
	return text;
}

static void put_word(struct elfwriter *w, uint64_t base, uint64_t word)
{
	ew_segment(w, PT_LOAD, PF_R | PF_W, DATA, base + DATA, 0x100);
	ew_put(w, DATA + 8, &word, sizeof(word));
	(void)ew_section(w, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, base + DATA, DATA, 0x100);
}

HL_TEST(nothing_leads_there)
{
	struct elfwriter w;

	begin(&w, 0x400000, endless, sizeof(endless) - 1);
	CHECK_STR(rows_of(&w, 0, 5), "nothing");
}

HL_TEST(a_pointer_in_the_data)
{
	struct elfwriter w;

	begin(&w, 0x400000, endless, sizeof(endless) - 1);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 5), "0 rsp+8; 1 rsp+16");
	/* In a file that is loaded anywhere it is a number. */
	begin(&w, 0, endless, sizeof(endless) - 1);
	put_word(&w, 0, TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 5), "nothing");
	/* So it is where symbols name the functions. */
	begin(&w, 0x400000, endless, sizeof(endless) - 1);
	ew_put(&w, TEXT + 0x200, "\xc3", 1);
	(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, STT_FUNC, 1, 0x400000 + TEXT + 0x200, 1);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 5), "0 none");
}

/* mov %edi,%eax; push %rbx; call *%rax; pop %rbx; ret, and a number that is the address of the call in it */
HL_TEST(a_number_that_is_the_address_of_no_function)
{
	static const char code[] = "\x89\xf8\x53\xff\xd0\x5b\xc3";
	struct elfwriter w;

	begin(&w, 0x400000, code, sizeof(code) - 1);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT + 3);
	CHECK_STR(rows_of(&w, 0, 7), "0 rsp+8; 3 rsp+16; 6 rsp+8");
}

/* call leaf; ret: compilers do not align the stack for what they see needs no alignment. */
HL_TEST(an_unaligned_call_within_the_file)
{
	static const char code[] = "\xe8\x1b\x00\x00\x00\xc3";
	struct elfwriter w;

	begin(&w, 0x400000, code, sizeof(code) - 1);
	ew_put(&w, TEXT + AT + 0x20, "\xc3", 1);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 6), "0 rsp+8");
	/* call *%rax; ret: what is not seen may need it, so this is the end of a function */
	begin(&w, 0x400000, "\xff\xd0\xc3", 3);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 3), "nothing");
	/* call leaf; ud2: it does not return, and nothing else proves it */
	begin(&w, 0x400000, "\xe8\x1b\x00\x00\x00\x0f\x0b", 7);
	ew_put(&w, TEXT + AT + 0x20, "\xc3", 1);
	put_word(&w, 0x400000, 0x400000 + TEXT + AT);
	CHECK_STR(rows_of(&w, 0, 5), "0 none");
}

HL_TEST(a_relocation)
{
	Elf64_Rela rela = { .r_offset = DATA, .r_addend = TEXT + AT };
	static const struct {
		uint64_t type;
		const char *rows;
	} cases[] = { { R_X86_64_RELATIVE, "0 rsp+8; 1 rsp+16" },
		      { R_X86_64_IRELATIVE, "0 rsp+8; 1 rsp+16" },
		      { R_X86_64_64, "nothing" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elfwriter w;

		begin(&w, 0, endless, sizeof(endless) - 1);
		rela.r_info = ELF64_R_INFO(0, cases[i].type);
		ew_put(&w, DATA, &rela, sizeof(rela));
		(void)ew_section(&w, ".rela.dyn", SHT_RELA, SHF_ALLOC, DATA, DATA, sizeof(rela));
		CHECK_STR(rows_of(&w, 0, 5), cases[i].rows);
	}
}

HL_TEST(main_that_the_start_of_the_program_hands_on)
{
	/* xor %ebp,%ebp; lea main(%rip),%rdi; call *%rax; hlt */
	static const char start[] = "\x31\xed\x48\x8d\x3d\xf7\x00\x00\x00\xff\xd0\xf4";
	struct elfwriter w;
	struct cfiwriter f;

	begin(&w, 0, endless, sizeof(endless) - 1);
	ew_put(&w, TEXT, start, sizeof(start) - 1);
	cw_init(&f, FRAMES, false);
	cw_fde(&f, cw_usual_cie(&f), TEXT, 0x20, "", 0);
	cw_put_section(&f, &w, 0);
	CHECK_STR(rows_of(&w, TEXT, 5), "0 rsp+8; 1 rsp+16");
}
