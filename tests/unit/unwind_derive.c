// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/tabletext */

/* Rules derived from small pieces of code, one function each, without call frame information. */

#include "unwind/unwind.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, AT = 0x100, SECOND = 0x40 };

/* Completes and opens the file; what its table says of @len bytes from @offset on, and in @ret the rest. */
static const char *rows_at(struct elfwriter *w, uint64_t offset, size_t len, struct hl_unwind_result *ret)
{
	struct hl_elf *elf = ew_open(w);
	const char *rows;

	*ret = table_of(elf);
	rows = table_text(ret, offset, len);
	free(ret->bytes);
	hl_elf_free(elf);
	return rows;
}

/* What the table says of a function of @len bytes at the start of 64; another stands behind them. */
static const char *text_of(const char *code, size_t len, unsigned int type)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	unsigned int text;
	const char *rows;

	ew_init(&w, true);
	text = ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x400);
	ew_put(&w, TEXT - BIAS + AT, code, len);
	ew_put(&w, TEXT - BIAS + AT + SECOND, "\xc3", 1);
	(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, type, text, TEXT + AT, len);
	(void)ew_symbol(&w, EW_SYMTAB, "g", STB_GLOBAL, STT_FUNC, text, TEXT + AT + SECOND, 1);
	rows = rows_at(&w, TEXT - BIAS + AT, len, &table);
	CHECK_INT(table.n_fdes, 0);
	CHECK(table.derived > 0 && table.uncovered == 0x400 && table.left_out == 0);
	return rows;
}
#define ROWS(code)    text_of(code, sizeof(code) - 1, STT_FUNC)
#define GUESSED(code) text_of(code, sizeof(code) - 1, STT_NOTYPE)

HL_TEST(a_leaf)
{
	CHECK_STR(ROWS("\x31\xc0\xc3"), "0 rsp+8"); /* xor %eax,%eax; ret */
}

HL_TEST(push_and_pop)
{
	/* push %rbp; push %rbx; sub $24,%rsp; add $24,%rsp; pop %rbx; pop %rbp; ret */
	CHECK_STR(ROWS("\x55\x53\x48\x83\xec\x18\x48\x83\xc4\x18\x5b\x5d\xc3"),
		  "0 rsp+8; 1 rsp+16 fp=cfa-16; 2 rsp+24 fp=cfa-16; 6 rsp+48 fp=cfa-16; a rsp+24 fp=cfa-16; "
		  "b rsp+16 fp=cfa-16; c rsp+8");
}

HL_TEST(an_early_return_in_the_middle)
{
	/* test %edi,%edi; push %rbx; je 1f; pop %rbx; ret; 1: xor %eax,%eax; pop %rbx; ret */
	CHECK_STR(ROWS("\x85\xff\x53\x74\x02\x5b\xc3\x31\xc0\x5b\xc3"),
		  "0 rsp+8; 3 rsp+16; 6 rsp+8; 7 rsp+16; a rsp+8");
}

HL_TEST(a_frame_pointer)
{
	/* push %rbp; mov %rsp,%rbp; sub %rdi,%rsp; call *%rax; leave; ret: what alloca needs */
	CHECK_STR(ROWS("\x55\x48\x89\xe5\x48\x29\xfc\xff\xd0\xc9\xc3"),
		  "0 rsp+8; 1 rsp+16 fp=cfa-16; 4 rbp+16 fp=cfa-16; a rsp+8");
	/* ... and $-32,%rsp; call *%rax; lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret: realigned */
	CHECK_STR(ROWS("\x55\x48\x89\xe5\x53\x48\x83\xe4\xe0\xff\xd0\x48\x8d\x65\xf8\x5b\x5d\xc3"),
		  "0 rsp+8; 1 rsp+16 fp=cfa-16; 4 rbp+16 fp=cfa-16; 11 rsp+8");
}

HL_TEST(a_realigned_stack_without_a_known_size)
{
	/*
	 * lea 8(%rsp),%r10; and $-64,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; sub $0x68,%rsp;
	 * sub %rax,%rsp; call *%rax; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret
	 */
	CHECK_STR(ROWS("\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52"
		       "\x48\x83\xec\x68\x48\x29\xc4\xff\xd0\x4c\x8b\x55\xf8\xc9\x49\x8d\x62\xf8\xc3"),
		  "0 rsp+8; 9 r10+0; 11 r10+0 fp=*(rbp+0); 13 *(rbp-8)+0 fp=*(rbp+0); 21 r10+0; 25 rsp+8");
	/*
	 * push %r13; lea 16(%rsp),%r13; and $-32,%rsp; push -8(%r13); push %rbp; mov %rsp,%rbp; push %r13; push %rbx;
	 * call *%rax; pop %rbx; pop %r13; pop %rbp; lea -16(%r13),%rsp; pop %r13; ret
	 */
	CHECK_STR(ROWS("\x41\x55\x4c\x8d\x6c\x24\x10\x48\x83\xe4\xe0\x41\xff\x75\xf8\x55\x48\x89\xe5"
		       "\x41\x55\x53\xff\xd0\x5b\x41\x5d\x5d\x49\x8d\x65\xf0\x41\x5d\xc3"),
		  "0 rsp+8; 2 rsp+16; b r13+0; 13 r13+0 fp=*(rbp+0); 15 *(rbp-8)+0 fp=*(rbp+0); 1c r13+0; "
		  "20 rsp+16; 22 rsp+8");
	/* The same as the first, but the call comes before r10 is kept; and one that keeps it over its caller's rbp. */
	CHECK_STR(ROWS("\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\xff\xd0\x55\x48\x89\xe5\xc9\x49\x8d\x62\xf8"
		       "\xc3"),
		  "0 rsp+8; 9 r10+0; b none");
	CHECK_STR(ROWS("\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5"
		       "\x4c\x89\x55\x00\xff\xd0\x4c\x8b\x55\x00\xc9\x49\x8d\x62\xf8\xc3"),
		  "0 rsp+8; 9 r10+0; 11 r10+0 fp=*(rbp+0); 15 none");
}

HL_TEST(rbp_saved_by_a_move)
{
	/* sub $24,%rsp; mov %rbp,8(%rsp); xor %ebp,%ebp; mov 8(%rsp),%rbp; add $24,%rsp; ret */
	CHECK_STR(
		ROWS("\x48\x83\xec\x18\x48\x89\x6c\x24\x08\x31\xed\x48\x8b\x6c\x24\x08\x48\x83\xc4\x18\xc3"),
		"0 rsp+8; 4 rsp+32; 9 rsp+32 fp=cfa-24; 14 rsp+8");
}

HL_TEST(a_loop)
{
	/* push %rbx; 1: dec %edi; jne 1b; pop %rbx; ret */
	CHECK_STR(ROWS("\x53\xff\xcf\x75\xfc\x5b\xc3"), "0 rsp+8; 1 rsp+16; 6 rsp+8");
	/* 1: push %rax; dec %edi; jne 1b; ret: another depth each time */
	CHECK_STR(ROWS("\x50\xff\xcf\x75\xfb\xc3"), "0 none");
}

HL_TEST(two_depths_that_meet)
{
	/* test %edi,%edi; je 1f; push %rax; 1: nop; ret */
	CHECK_STR(ROWS("\x85\xff\x74\x01\x50\x90\xc3"), "0 none");
}

HL_TEST(a_tail_jump)
{
	/* push %rax; pop %rax; jmp g */
	CHECK_STR(ROWS("\x50\x58\xe9\x39\x00\x00\x00"), "0 rsp+8; 1 rsp+16; 2 rsp+8");
}

HL_TEST(a_switch)
{
	/* push %rbx; cmp $3,%edi; ja 1f; jmp *(%rax,%rdi,8); inc %eax; pop %rbx; ret; 1: pop %rbx; ret */
	CHECK_STR(ROWS("\x53\x83\xff\x03\x77\x07\xff\x24\xf8\xff\xc0\x5b\xc3\x5b\xc3"),
		  "0 rsp+8; 1 rsp+16; c rsp+8; d rsp+16; e rsp+8");
}

HL_TEST(a_call_at_the_end_that_does_not_return)
{
	/* push %rbx; test %edi,%edi; je 1f; pop %rbx; ret; 1: call *%rax: behind it is nothing */
	CHECK_STR(ROWS("\x53\x85\xff\x74\x02\x5b\xc3\xff\xd0"), "0 rsp+8; 1 rsp+16; 6 rsp+8; 7 rsp+16");
	/* Without the symbol, the next function is not taken for the rest of this one. */
	CHECK_STR(GUESSED("\x53\x85\xff\x74\x02\x5b\xc3\xff\xd0"), "0 rsp+8; 1 rsp+16; 6 rsp+8; 7 rsp+16");
}

/* A file with a function f at AT, whose size is not told, and @code there; its rows from @from on. */
static const char *rows_from(const char *code, size_t len, uint32_t from)
{
	struct hl_unwind_result table;
	struct elfwriter w;
	unsigned int text;

	ew_init(&w, true);
	text = ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x400);
	ew_put(&w, TEXT - BIAS + from, code, len);
	(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, STT_FUNC, text, TEXT + AT, 0);
	return rows_at(&w, TEXT - BIAS + from, len, &table);
}

HL_TEST(a_function_that_never_returns)
{
	/*
	 * push %rbx; call *%rax; call *%rax, which does not return; then another function: push %rbp; call *%rax;
	 * pop %rbp; ret. That one's stack is not aligned as the first one's calls have it.
	 */
	static const char code[] = "\x53\xff\xd0\xff\xd0\x55\xff\xd0\x5d\xc3";

	CHECK_STR(rows_from(code, sizeof(code) - 1, AT),
		  "0 rsp+8; 1 rsp+16; 5 rsp+8; 6 rsp+16 fp=cfa-16; 9 rsp+8");
}

HL_TEST(a_tail_call_of_a_function_that_never_returns)
{
	/* push %rbx; call *%rax; call *%rax; push %rbp; pop %rbp; ret: two functions; f, at AT: jmp to the first */
	char code[AT] = "\x53\xff\xd0\xff\xd0\x55\x5d\xc3";

	memset(code + 8, 0x90, sizeof(code) - 8);
	memcpy(code + AT - 0x40, "\xe9\x3b\xff\xff\xff", 5);
	CHECK_STR(rows_from(code, sizeof(code), 0x40),
		  "0 rsp+8; 1 rsp+16; 5 rsp+8; 6 rsp+16 fp=cfa-16; 7 rsp+8; 8 none; c0 rsp+8; c5 none");
}

HL_TEST(the_stack_pointer_is_lost)
{
	/* push %rbx; mov (%rdi),%rsp; pop %rbx; ret */
	CHECK_STR(ROWS("\x53\x48\x8b\x27\x5b\xc3"), "0 rsp+8; 1 rsp+16; 4 none");
	/* xchg %rax,%rsp; nop */
	CHECK_STR(ROWS("\x48\x94\x90"), "0 rsp+8; 2 none");
	/* mov %rax,(%rsp); pop %rax; ret: it returns to elsewhere */
	CHECK_STR(ROWS("\x48\x89\x04\x24\x58\xc3"), "0 rsp+8; 4 none");
}

HL_TEST(the_return_address_in_a_register)
{
	/* pop %rdx; mov $58,%eax; syscall; push %rdx; ret: vfork */
	CHECK_STR(ROWS("\x5a\xb8\x3a\x00\x00\x00\x0f\x05\x52\xc3"), "0 rsp+8; 1 rsp+0 ra=r1; 9 rsp+8");
}

HL_TEST(the_first_function_of_a_thread)
{
	/* syscall; test %eax,%eax; jne 1f; xor %ebp,%ebp; pop %rdi; call *%r9; hlt; 1: ret: clone */
	CHECK_STR(ROWS("\x0f\x05\x85\xc0\x75\x07\x31\xed\x5f\x41\xff\xd1\xf4\xc3"),
		  "0 rsp+8; 8 rsp+8 fp=?; 9 stop; c none; d rsp+8");
}

HL_TEST(the_new_thread_on_its_own_stack)
{
	/*
	 * xor %eax,%eax; mov $56,%al; mov %rcx,(%rsi); syscall; test %eax,%eax; jne 1f; xor %ebp,%ebp; pop %rdi;
	 * call *%r9; hlt; 1: ret
	 */
	CHECK_STR(
		ROWS("\x31\xc0\xb0\x38\x48\x89\x0e\x0f\x05\x85\xc0\x75\x07\x31\xed\x5f\x41\xff\xd1\xf4\xc3"),
		"0 rsp+8; 9 thread rsp+8; f thread rsp+8 fp=?; 10 stop; 13 none; 14 thread rsp+8");
	/* mov $57,%eax; syscall; ret: the child has its parent's stack; int $0x80: another call */
	CHECK_STR(ROWS("\xb8\x39\x00\x00\x00\x0f\x05\xc3"), "0 rsp+8");
	CHECK_STR(ROWS("\xb8\x38\x00\x00\x00\xcd\x80\xc3"), "0 rsp+8");
	/* mov $56,%eax; syscall; mov %eax,%esi; ret: known only as long as rsi is */
	CHECK_STR(ROWS("\xb8\x38\x00\x00\x00\x0f\x05\x89\xc6\xc3"), "0 rsp+8; 7 thread rsp+8; 9 rsp+8");
	/* mov $56,%eax; mov %edi,%eax; syscall; ret */
	CHECK_STR(ROWS("\xb8\x38\x00\x00\x00\x89\xf8\x0f\x05\xc3"), "0 rsp+8");
}

HL_TEST(the_thread_that_unmaps_its_stack)
{
	/* mov $11,%eax; syscall; xor %edi,%edi; mov $60,%eax; syscall; hlt */
	CHECK_STR(ROWS("\xb8\x0b\x00\x00\x00\x0f\x05\x31\xff\xb8\x3c\x00\x00\x00\x0f\x05\xf4"),
		  "0 rsp+8; 7 thread rsp+8");
	/* mov $11,%eax; syscall; ret: munmap */
	CHECK_STR(ROWS("\xb8\x0b\x00\x00\x00\x0f\x05\xc3"), "0 rsp+8");
}

HL_TEST(the_return_of_signal_handlers)
{
	/* nop; mov $15,%rax; syscall: the byte before it is where a caller is looked for */
	CHECK_STR(ROWS("\x90\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"), "0 signal");
}

HL_TEST(a_wrong_return_is_no_function)
{
	CHECK_STR(ROWS("\x53\xc3"), "0 none");        /* push %rbx; ret */
	CHECK_STR(GUESSED("\x5b\x5d\xc3"), "0 none"); /* pop %rbx; pop %rbp; ret: the end of another */
	CHECK_STR(GUESSED("\x90\x90\x90\xcc\xcc"), "0 none"); /* filling */
	CHECK_STR(GUESSED("\x06\x06\x06"), "0 none");         /* no instructions */
}

HL_TEST(functions_with_conventions_of_their_own)
{
	/* pop %rcx; add $16,%rsp; push %rcx; ret: takes arguments along; so no depth behind a call is certain */
	static const char code[] = "\x59\x48\x83\xc4\x10\x51\xc3";
	struct hl_unwind_result table;
	struct hl_err err = { "" };
	struct elfwriter w;
	struct hl_elf *elf;
	unsigned int text;

	ew_init(&w, true);
	text = ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x400);
	ew_put(&w, TEXT - BIAS + AT, code, sizeof(code) - 1);
	(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, STT_FUNC, text, TEXT + AT, sizeof(code) - 1);
	elf = ew_open(&w);
	CHECK_INT(hl_unwind_compile(elf, &table, &err), -ENODATA);
	hl_elf_free(elf);
}
