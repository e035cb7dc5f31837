// SPDX-License-Identifier: BSD-2-Clause
/*
 * borrowed SECONDS MODE: work below assembly that uses %rbp for something that a simple walker does not expect.
 *   stack      it is on another stack, and %rbp keeps the place on the old one
 *   register   its caller's %rbp is where no walker finds it, as its call frame information says; %rbp points at
 *              what looks like a frame, of a function that never runs; zeros: at a frame of zeros
 *   lie        its call frame information is wrong, and leads to a zero as the return address
 */
#include "work.h"

#include <stdint.h>
#include <string.h>

enum { STACK_SIZE = 1 << 16 };

OWN_FRAME void work(void)
{
	double until = now() + 0.01;

	while (now() < until)
		SPIN(20000);
}

void on_stack(void *top);
void with_register(void *frame);
void with_lie(void);
extern const char behind_call[];

__asm__(".text\n"
	".p2align 4\n"
	".type on_stack, @function\n"
	"on_stack:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rsp\n"
	"	call work\n"
	"	leave\n"
	".cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size on_stack, . - on_stack\n"
	".type with_register, @function\n"
	"with_register:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	movq %rbp, kept(%rip)\n"
	".cfi_undefined %rbp\n"
	"	mov %rdi, %rbp\n"
	"	call work\n"
	"	movq kept(%rip), %rbp\n"
	".cfi_restore %rbp\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size with_register, . - with_register\n"
	".type with_lie, @function\n"
	"with_lie:\n"
	".cfi_startproc\n"
	"	push $0\n"
	"	call work\n"
	"	pop %rax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size with_lie, . - with_lie\n"
	".type never_runs, @function\n"
	"never_runs:\n"
	".cfi_startproc\n"
	"	call work\n"
	"behind_call:\n"
	"	ret\n"
	".cfi_endproc\n"
	".size never_runs, . - never_runs\n"
	".local kept\n"
	".comm kept, 8, 8\n");

OWN_FRAME static void caller(const char *mode)
{
	static _Alignas(16) char stack[STACK_SIZE];
	const void *frame[2] = { NULL, behind_call }, *zeros[2] = { NULL, NULL };

	if (strcmp(mode, "stack") == 0)
		on_stack(stack + sizeof(stack));
	else if (strcmp(mode, "lie") == 0)
		with_lie();
	else
		with_register(strcmp(mode, "zeros") == 0 ? zeros : frame);
	AFTER_CALL();
}

int main(int argc, char **argv)
{
	double end = end_of(argc, argv);

	while (now() < end)
		caller(argc > 2 ? argv[2] : "stack");
	return 0;
}
