/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOTLEAF_UNWIND_H
#define HOTLEAF_UNWIND_H

/*
 * The unwind table of one file: for every place in its code, how to get from a frame's registers to its
 * caller's. It is compiled in user space (user/unwind), put into maps (user/capture) and walked in the
 * kernel (bpf/walk.bpf.h).
 *
 * Places are file offsets, as frames are, not ELF addresses: the table of a file whose segments are loaded
 * at different distances needs no translation in the kernel. The code is cut into pages of 4 KiB. A row says
 * from which place on, up to the next row, a rule holds: 12 bits of offset in its page, 20 bits of rule. The
 * first row of a page always has offset 0, so that no search leaves its page.
 *
 * As bytes: one hl_unwind_table, n_rules hl_unwind_rule, n_pages hl_unwind_page, n_rows rows (__u32); the
 * rule of a row is an index into the rules before it. A page without rows holds no code of the file.
 */

#include <linux/types.h>

#define HL_UNWIND_VERSION    5
#define HL_UNWIND_PAGE_SHIFT 12
#define HL_UNWIND_RULE_BITS  20
#define HL_UNWIND_RULE_MASK  ((1u << HL_UNWIND_RULE_BITS) - 1)

/* How the canonical frame address (DWARF 5, 6.4) is computed. Values reach disk: never renumbered. */
enum hl_cfa_kind {
	HL_CFA_NONE = 0,      /* no table here: step by frame pointer */
	HL_CFA_RSP = 1,       /* rsp + cfa_off */
	HL_CFA_RBP = 2,       /* rbp + cfa_off */
	HL_CFA_PLT = 3,       /* rsp + 8 + ((ip & 15) >= cfa_off ? 8 : 0): the expression of linkers */
	HL_CFA_DEREF_RBP = 4, /* *(rbp + a) + b: a the low, b the high 16 bits of cfa_off, both signed */
	HL_CFA_DEREF_RSP = 5, /* *(rsp + a) + b */
	HL_CFA_SIGNAL = 6,    /* all registers from the signal frame at rsp */
	HL_CFA_STOP = 7,      /* the return address is undefined: the thread's first frame */
	HL_CFA_REG = 8,       /* register (low byte of cfa_off, DWARF number) + (cfa_off >> 8); leaf only */
	HL_CFA_RA_IN_REG =
		9, /* rsp + (cfa_off >> 8); the return address is in register (low byte); leaf only */
	HL_CFA_UNSUPPORTED = 10, /* the walk stops here, with that reason */
	HL_CFA_RBX = 11,         /* rbx + cfa_off: lazy binding (_dl_runtime_resolve); see rbx_slot */
	/*
	 * rsp + cfa_off, where a thread begins or ends: the walk is complete if the leaf has a new thread's stack
	 * (rax is 0 and rsp is rsi: clone has returned in the child), or if the return address cannot be read (the
	 * thread has unmapped its stack).
	 */
	HL_CFA_THREAD = 12,
	/*
	 * *(*(rsp + a) + 8) - *(rsp + b) + 8: a the low, b the next 8 bits of cfa_off. C code that Go has called, on a
	 * stack of the thread, returns to a goroutine's (user/unwind/go.c).
	 */
	HL_CFA_GO = 13,
};

/* Where the caller's rbp is. */
enum hl_fp_kind {
	HL_FP_SAME = 0,      /* unchanged */
	HL_FP_CFA = 1,       /* at CFA + fp_off */
	HL_FP_DEREF_RBP = 2, /* at rbp + fp_off, rbp of this frame (stack realignment) */
	HL_FP_UNDEFINED = 3, /* lost; the walk goes on as long as nothing needs it */
};

/*
 * Where the caller's rbx is. One function in a system keeps its CFA there while it calls others, which lie in
 * its own file, the dynamic loader: so only the rules of a file with an HL_CFA_RBX say it.
 */
#define HL_RBX_LOST     0  /* not known */
#define HL_RBX_MAX_SLOT 62 /* 1 to this: at CFA - 8 * (slot + 1) */
#define HL_RBX_SAME     63 /* unchanged */

struct hl_unwind_rule {
	__u8 cfa_kind;     /* enum hl_cfa_kind */
	__u8 fp_kind : 2;  /* enum hl_fp_kind; the low bits */
	__u8 rbx_slot : 6; /* HL_RBX_* */
	__s16 fp_off;
	__s32 cfa_off;
};

struct hl_unwind_page {
	__u32 first_row; /* index into the rows */
	__u32 n_rows;
};

struct hl_unwind_table {
	__u32 version;
	__u32 n_rules;
	__u32 first_page; /* file offset >> HL_UNWIND_PAGE_SHIFT of page 0 */
	__u32 n_pages;
	__u32 n_rows;
	__u32 unsupported; /* FDEs that could not be followed, for statistics */
	__u64 reserved;
};

#endif
