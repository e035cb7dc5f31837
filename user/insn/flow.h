/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_FLOW_H
#define HL_INSN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn/insn.h"

/*
 * Where an x86 instruction goes, and what it does to the stack pointer and to whole registers: as much as is
 * needed to follow the code of a function along all its paths. No text is made, so this costs a fraction of
 * hl_decoder_decode().
 */

/* Which instruction follows. Calls and system calls return to the next one, or do not return at all. */
enum hl_flow_next {
	HL_NEXT_UNKNOWN = 0, /* the bytes are no instruction, or end inside it */
	HL_NEXT_STRAIGHT,
	HL_NEXT_BRANCH, /* the next, or the target: jcc, loop, jrcxz, xbegin */
	HL_NEXT_JUMP,   /* the target; without one (has_target) it is computed */
	HL_NEXT_CALL,   /* the target first, as with jumps */
	HL_NEXT_SYSCALL,
	HL_NEXT_RETURN, /* ret, iret, sysret */
	HL_NEXT_NEVER,  /* none: hlt, ud2, int3 */
};

/* The stack pointer behind the instruction; of a call, when it has returned. */
enum hl_flow_stack {
	HL_STACK_SAME = 0,
	HL_STACK_ADD,     /* it was, plus `grows`, which may be negative */
	HL_STACK_COPY,    /* register `base` as it was, plus `offset`: mov, lea */
	HL_STACK_LEAVE,   /* the frame pointer, from which the caller's is then popped */
	HL_STACK_UNKNOWN, /* and, far branches, exchanges, loads, alloca, ... */
};

/* What it does with one register as a whole. */
enum hl_flow_move {
	HL_MOVE_NONE = 0,
	HL_MOVE_PUSH,  /* pushes register `reg` */
	HL_MOVE_POP,   /* pops `reg` */
	HL_MOVE_STORE, /* stores `reg` at `base` + `offset` */
	HL_MOVE_LOAD,  /* loads `reg` from `base` + `offset` */
	HL_MOVE_COPY,  /* sets `reg` to `base` + `offset` */
	HL_MOVE_CLEAR, /* sets `reg` to zero */
};

/* General registers by their numbers in instructions (Intel SDM volume 2, table 2-2), not those of DWARF. */
enum {
	HL_REG_AX,
	HL_REG_CX,
	HL_REG_DX,
	HL_REG_BX,
	HL_REG_SP,
	HL_REG_BP,
	HL_REG_SI,
	HL_REG_DI,
	HL_REG_NONE = 255
};

struct hl_flow {
	uint64_t target;    /* if has_target */
	uint64_t reference; /* if has_reference: the address that an operand names, relative to RIP mostly */
	int32_t grows, offset;
	uint16_t writes;           /* bit i: general register i may be another one afterwards, also in part */
	uint8_t length;            /* bytes; 0: HL_NEXT_UNKNOWN */
	uint8_t next, stack, move; /* enum hl_flow_next, hl_flow_stack, hl_flow_move */
	uint8_t reg, base;         /* HL_REG_; meaningful with those who name them */
	uint8_t ax_bytes; /* the lowest bytes of rax, 1, 2 or 8, that are set to the constant `ax`; or 0 */
	uint32_t ax;
	bool has_target, has_reference;
	bool is_lea;       /* the reference is taken as an address, not read */
	bool is_immediate; /* the reference is a constant that is moved: an address perhaps */
	bool is_nop;       /* has no effect: filling between functions, together with int3 */
};

/* Analyses the instruction at @code, of which @len bytes are known, as if it stood at @address. */
void hl_insn_flow(enum hl_insn_mode mode, const uint8_t *code, size_t len, uint64_t address,
		  struct hl_flow *ret);

#endif
