/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of loops that are hard to list: called by odd_main.c with the number of rounds in %rdi. */

	.text

	.globl	island
	.type	island, @function
island:					/* data between two loops, of bytes that are no code in 64-bit mode */
	mov	%rdi, %rcx
1:	dec	%rcx
	jnz	1b
	jmp	2f
	.byte	0x06, 0x17, 0x1f, 0x27, 0x37, 0x61, 0x9a, 0xce, 0xd4, 0xea, 0x0f, 0x48, 0xc4
2:	mov	%rdi, %rcx
3:	dec	%rcx
	jnz	3b
	ret
	.size	island, .-island

	.globl	into_itself
	.type	into_itself, @function
into_itself:				/* a jump to its own second byte, which begins `inc %eax` */
	mov	%rdi, %rcx
1:	.byte	0xeb, 0xff, 0xc0
	dec	%rcx
	jnz	1b
	ret
	.size	into_itself, .-into_itself

	.byte	0x48
	.globl	odd_start
	.type	odd_start, @function
odd_start:				/* at an odd address, behind half an instruction */
	mov	%rdi, %rcx
1:	imul	%rcx, %rax
	dec	%rcx
	jnz	1b
	ret
	.size	odd_start, .-odd_start

	.p2align 4
	.globl	sizeless
sizeless:				/* no type, no size */
	mov	%rdi, %rcx
1:	lea	1(%rcx, %rcx), %rax
	dec	%rcx
	jnz	1b
	ret

	.p2align 4
	.globl	operands
	.type	operands, @function
operands:				/* a segment's start, sign-extended immediates, prefixes that make another name */
	mov	%rdi, %rcx
1:	mov	%fs:0, %rax
	cmp	%fs:0, %rax
	and	$-16, %rax
	movabs	$0x8000000000000000, %rdx
	xchg	%ax, %ax
	test	%rax, operands(%rip)
	dec	%rcx
	jnz	1b
	ret
	.size	operands, .-operands

	.p2align 4
	.globl	nops
	.type	nops, @function
nops:					/* long ones, and one that is rdsspq where shadow stacks are on */
	mov	%rdi, %rcx
1:	nopw	0x0(%rax, %rax, 1)
	.byte	0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.byte	0xf3, 0x48, 0x0f, 0x1e, 0xc8
	dec	%rcx
	jnz	1b
	ret
	.size	nops, .-nops

	.globl	endless
	.type	endless, @function
endless:				/* its size says 2 GiB */
	mov	%rdi, %rcx
1:	ror	$7, %rax
	dec	%rcx
	jnz	1b
	ret
	.size	endless, 0x7fffffff

	.globl	behind_endless
	.type	behind_endless, @function
behind_endless:
	mov	%rdi, %rcx
1:	rol	$9, %rax
	dec	%rcx
	jnz	1b
	ret
	.size	behind_endless, .-behind_endless

	.section .note.GNU-stack, "", @progbits
