/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_RULE_H
#define HL_BPF_RULE_H

/*
 * How a frame is left: by the rule of an unwind table, by the frame pointer, or by what a signal has saved. All
 * registers are in the scratch, those of the frame before and those of its caller after.
 */

#include "table.bpf.h"
#include "task.bpf.h"

#define START_BYTES       64            /* of stack that _start uses before it calls */
#define MAIN_STACK_BYTES  (64ULL << 20) /* below its start the kernel maps nothing else for twice as much */
#define MAX_FRAME_BYTES   (8ULL << 20)  /* a frame pointer further from the stack pointer is none */
#define MAX_STACK_BYTES   (1ULL << 30)  /* of one frame by a table: alloca and large arrays are legal */
#define USER_CS_32        0x23
#define USER_ADDRESS_BITS 56 /* with five levels of page tables; 47 with four */
#define NO_CHUNK          1  /* no address of a chunk */

/* uc_mcontext in struct ucontext: a struct sigcontext_64 (asm/sigcontext.h) behind flags, link and stack_t. */
#define SIGFRAME_REGS 40
#define SIGFRAME_RBP  10
#define SIGFRAME_RSP  15
#define SIGFRAME_RIP  16

static __always_inline bool stop_walk(struct scratch *s, enum hl_walk_end end)
{
	s->stack.head.end = end;
	return true;
}

/*
 * Reads the stack slot at @address into scratch.slot, through the chunk that holds it: one long read serves
 * many frames. 0: it cannot be read.
 */
__noinline int fetch_slot(struct scratch *s, __u64 address)
{
	__u64 chunk = address & ~(__u64)(CHUNK - 1);

	if (!s)
		return 0;
	s->slot = 0;
	if (s->word == 4 || (address & 7))
		return bpf_probe_read_user(&s->slot, s->word == 4 ? 4 : 8, (void *)address) == 0;
	s->chunk_address = NO_CHUNK;
	if (bpf_probe_read_user(s->chunk, CHUNK, (void *)chunk))
		return 0;
	s->chunk_address = chunk;
	s->slot = *(__u64 *)(s->chunk + (address & (CHUNK - 8)));
	return 1;
}

/* The same without a call, where the chunk is there already. */
static __always_inline int read_slot(struct scratch *s, __u64 address)
{
	if ((address & ~(__u64)(CHUNK - 1)) != s->chunk_address || (address & 7) || s->word != 8)
		return fetch_slot(s, address);
	s->slot = *(__u64 *)(s->chunk + (address & (CHUNK - 8)));
	return 1;
}

/* Why the file of the frame in the scratch has no table, if it may have one at another time. 0: it has none ever. */
static __always_inline enum hl_walk_end lacking_table(const struct scratch *s)
{
	if (s->found.kind != MAPPING_FILE || s->word != 8)
		return 0;
	return s->found.table == HL_TABLE_PENDING   ? HL_WALK_NO_TABLE
	       : s->found.table == HL_TABLE_DROPPED ? HL_WALK_DROPPED
						    : 0;
}

/* Whether the stack is as empty as in a program's _start. */
static __always_inline bool is_at_start(const struct scratch *s)
{
	return s->owner.start_stack + START_BYTES - s->sp < 2 * START_BYTES;
}

/*
 * Whether the frame in the scratch, whose return address was found to be zero, may be the first of its stack. A wrong
 * table finds zeros, too. A program's first stack begins where the kernel says; others do where the frame pointer is
 * zero as well, as the psABI wants it, or with what makes threads. By frame pointer, @by_table is false.
 */
static __always_inline bool may_be_first(const struct scratch *s, bool by_table)
{
	if (is_at_start(s))
		return true;
	if (s->owner.start_stack - s->sp < MAIN_STACK_BYTES)
		return false;
	return !by_table || s->bp == 0 || s->rule.cfa_kind == HL_CFA_THREAD;
}

/*
 * Rule: %rbp points at the saved %rbp, with the return address above it. True: the walk has ended. The first
 * frame has saved a zero; but code that uses the register for something else may just have a zero in it, or
 * the address of zeros. Most files have tables because their code keeps no frame pointer: what they left in the
 * register is some caller's, or none. So where a table is to come, or had to go, nothing else takes its place.
 */
static __always_inline bool rule_frame_pointer(struct scratch *s)
{
	enum hl_walk_end lacks = lacking_table(s);
	__u64 bp = s->bp, saved;

	if (bp == 0 && is_at_start(s))
		return stop_walk(s, HL_WALK_COMPLETE);
	if (lacks)
		return stop_walk(s, lacks);
	if (bp == 0)
		return stop_walk(s, s->bp_is_any ? HL_WALK_BAD_FP : HL_WALK_COMPLETE);
	if (bp < s->sp || bp - s->sp >= MAX_FRAME_BYTES)
		return stop_walk(s, HL_WALK_BAD_FP);
	if (!read_slot(s, bp))
		return stop_walk(s, HL_WALK_FAULT);
	saved = s->slot;
	if (!read_slot(s, bp + s->word))
		return stop_walk(s, HL_WALK_FAULT);
	s->caller = s->slot;
	if (s->caller == 0 && s->bp_is_any)
		return stop_walk(s, HL_WALK_BAD_FP);
	s->sp = bp + 2 * s->word;
	s->bp = saved;
	s->bp_is_any = 0;
	s->rbx_valid = 0;
	return false;
}

/* The value of DWARF register @number in the frame below all callers (System V psABI, figure 3.36). */
__noinline __u64 leaf_register(struct scratch *s, __u32 number)
{
	const struct pt_regs *r;

	if (!s)
		return 0;
	r = &s->leaf;
	switch (number) {
	case 0:
		return r->rax;
	case 1:
		return r->rdx;
	case 2:
		return r->rcx;
	case 3:
		return r->rbx;
	case 4:
		return r->rsi;
	case 5:
		return r->rdi;
	case 6:
		return r->rbp;
	case 7:
		return r->rsp;
	case 8:
		return r->r8;
	case 9:
		return r->r9;
	case 10:
		return r->r10;
	case 11:
		return r->r11;
	case 12:
		return r->r12;
	case 13:
		return r->r13;
	case 14:
		return r->r14;
	case 15:
		return r->r15;
	default:
		return 0;
	}
}

/* Where the goroutine's stack pointer was when C was called, and the return address with it; see HL_CFA_GO. */
static __always_inline __u64 goroutine_cfa(struct scratch *s)
{
	__u32 off = s->rule.cfa_off;
	__u64 depth;

	if (!fetch_slot(s, s->sp + (off >> 8 & 0xff)))
		return 0;
	depth = s->slot;
	if (!fetch_slot(s, s->sp + (off & 0xff)) || !fetch_slot(s, s->slot + 8))
		return 0;
	return s->slot - depth + 8;
}

/* The canonical frame address by a rule that is not of the two usual kinds; 0 if it cannot be had. */
static __always_inline __u64 rare_cfa(struct scratch *s)
{
	const struct hl_unwind_rule *rule = &s->rule;
	__s64 off = rule->cfa_off;
	__u64 slot;

	switch (rule->cfa_kind) {
	case HL_CFA_THREAD:
		return s->sp + off;
	case HL_CFA_PLT:
		return s->sp + 8 + ((__s64)(s->ip & 15) >= off ? 8 : 0);
	case HL_CFA_DEREF_RBP:
	case HL_CFA_DEREF_RSP:
		slot = (rule->cfa_kind == HL_CFA_DEREF_RBP ? s->bp : s->sp) + (__s16)rule->cfa_off;
		return fetch_slot(s, slot) ? s->slot + (rule->cfa_off >> 16) : 0;
	case HL_CFA_REG:
		return s->leaf_valid ? leaf_register(s, off & 0xff) + (off >> 8) : 0;
	case HL_CFA_RA_IN_REG:
		return s->leaf_valid ? s->sp + (off >> 8) : 0;
	case HL_CFA_GO:
		return goroutine_cfa(s);
	case HL_CFA_RBX:
		return s->rbx_valid ? s->rbx + off : 0;
	default:
		return 0;
	}
}

/*
 * Restores the caller's %rbp by the rule in the scratch. False: its slot could not be read. Where it is lost it becomes
 * zero, which ends the walk in whatever needs it: another function's value would lead on to frames that are not there.
 */
static __always_inline bool restore_bp(struct scratch *s, __u64 cfa)
{
	__u64 slot;

	switch (s->rule.fp_kind) {
	case HL_FP_CFA:
		slot = cfa + s->rule.fp_off;
		break;
	case HL_FP_DEREF_RBP:
		slot = s->bp + s->rule.fp_off;
		break;
	case HL_FP_UNDEFINED:
		s->bp = 0;
		return true;
	default:
		return true;
	}
	if (!read_slot(s, slot))
		return false;
	s->bp = s->slot;
	return true;
}

/* Restores the caller's %rbx by the rule in the scratch, or forgets it. */
__noinline int restore_rbx(struct scratch *s, __u64 cfa)
{
	__u32 slot;

	if (!s)
		return 0;
	slot = s->rule.rbx_slot;
	s->rbx_valid = slot != HL_RBX_LOST && fetch_slot(s, cfa - 8 * (slot + 1));
	s->rbx = s->slot;
	return 1;
}

/* Whether clone has just returned in the thread that it made, on a stack of its own. */
static __always_inline bool is_new_thread(const struct scratch *s)
{
	return s->rule.cfa_kind == HL_CFA_THREAD && s->leaf_valid && s->leaf.rax == 0 &&
	       s->leaf.rsp == s->leaf.rsi;
}

/* A return address cannot be read: of a thread at its end the stack may be gone before its last instruction. */
static __always_inline bool stop_without_stack(struct scratch *s)
{
	bool is_gone = s->rule.cfa_kind == HL_CFA_THREAD || (bpf_get_current_task_btf()->flags & PF_EXITING);

	return stop_walk(s, is_gone ? HL_WALK_COMPLETE : HL_WALK_FAULT);
}

/*
 * Whether the frame is that of a function that has switched to another stack and keeps the old one in its frame
 * pointer: Rust's stacker, __morestack of split stacks; or as Go does. Where its caller is has to be proved like a
 * guess.
 */
static __always_inline bool has_switched(struct scratch *s, __u64 cfa)
{
	bool may_switch = (s->rule.cfa_kind == HL_CFA_RBP && s->bp != 0) || s->rule.cfa_kind == HL_CFA_GO;

	s->is_switched = may_switch && cfa != 0 && (cfa & 7) == 0;
	return s->is_switched;
}

/*
 * Leaves the frame, whose canonical frame address is @cfa: by the rule in the scratch, with the return address in
 * memory or, where that says so, in a register. True: the walk has ended.
 */
static __always_inline bool leave_frame(struct scratch *s, __u64 cfa, bool in_register)
{
	/* Only where the return address is in a register, the frame may be empty. */
	if ((cfa < s->sp + (in_register ? 0 : 8) || cfa - s->sp >= MAX_STACK_BYTES) && !has_switched(s, cfa))
		return stop_walk(s, cfa ? HL_WALK_BAD_CFA : HL_WALK_UNSUPPORTED);
	if (in_register)
		s->slot = leaf_register(s, s->rule.cfa_off & 0xff);
	else if (!read_slot(s, cfa - 8))
		return stop_without_stack(s);
	s->caller = s->slot;
	if (!restore_bp(s, cfa))
		return stop_walk(s, HL_WALK_FAULT);
	if (s->rbx_valid && s->rule.rbx_slot != HL_RBX_SAME)
		restore_rbx(s, cfa);
	s->sp = cfa;
	s->bp_is_any = 1;
	return false;
}

/* Rules that are not of the two usual kinds. True: the walk has ended. */
__noinline int rule_rare(struct scratch *s)
{
	__u32 kind;

	if (!s)
		return 1;
	kind = s->rule.cfa_kind;
	if (kind == HL_CFA_STOP || is_new_thread(s))
		return stop_walk(s, HL_WALK_COMPLETE);
	if (kind == HL_CFA_UNSUPPORTED)
		return stop_walk(s, HL_WALK_UNSUPPORTED);
	return leave_frame(s, rare_cfa(s), kind == HL_CFA_RA_IN_REG);
}

/* Rule: as the table says. True: the walk has ended. */
static __always_inline bool rule_table(struct scratch *s)
{
	__s64 off = s->rule.cfa_off;

	if (s->rule.cfa_kind != HL_CFA_RSP && s->rule.cfa_kind != HL_CFA_RBP)
		return rule_rare(s);
	return leave_frame(s, (s->rule.cfa_kind == HL_CFA_RSP ? s->sp : s->bp) + off, false);
}

/* Rule: at the handler's return the stack pointer is at the ucontext that holds the interrupted registers. */
static __always_inline bool rule_signal_frame(struct scratch *s)
{
	__u64 regs[SIGFRAME_RIP + 1];

	if (bpf_probe_read_user(regs, sizeof(regs), (void *)(s->sp + SIGFRAME_REGS)))
		return false;
	/* A rule of the interrupted code may need any of them, as one of the leaf may. */
	s->leaf.r8 = regs[0];
	s->leaf.r9 = regs[1];
	s->leaf.r10 = regs[2];
	s->leaf.r11 = regs[3];
	s->leaf.r12 = regs[4];
	s->leaf.r13 = regs[5];
	s->leaf.r14 = regs[6];
	s->leaf.r15 = regs[7];
	s->leaf.rdi = regs[8];
	s->leaf.rsi = regs[9];
	s->leaf.rbp = regs[SIGFRAME_RBP];
	s->leaf.rbx = regs[11];
	s->leaf.rdx = regs[12];
	s->leaf.rax = regs[13];
	s->leaf.rcx = regs[14];
	s->leaf.rsp = regs[SIGFRAME_RSP];
	s->leaf.rip = regs[SIGFRAME_RIP];
	s->leaf.orig_rax = -1;
	s->ip = regs[SIGFRAME_RIP];
	s->sp = regs[SIGFRAME_RSP];
	s->bp = regs[SIGFRAME_RBP];
	s->bp_is_any = 1;
	s->rbx = s->leaf.rbx;
	s->rbx_valid = 1;
	return true;
}

#endif
