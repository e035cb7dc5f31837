/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_CALLER_H
#define HL_BPF_CALLER_H

/*
 * What a return address says of itself. A call stands before it, and the rule of the frame is that of the call:
 * so it is looked up one byte early. Or no call does: then nobody returns there, somebody has put it on the stack
 * as the place where to go on, and it is exact. Such are the ends of signal handlers, the functions that end a
 * coroutine or a context, and Go's goexit.
 *
 * Stacks consist of few different callers, and what is known of one costs several cache lines of table and a read
 * of its code. So each CPU remembers the last ones, by frame: for what tables and files say, as long as
 * files_generation stays; for code that may change, as long as the cached mappings do.
 */

#include "table.bpf.h"

#define GO_ALIGN        16 /* at least, of a function */
#define NR_RT_SIGRETURN 15
#define SYSCALL_CODE    0x050f /* 0f 05 */
/*
 * Whether @bytes, the seven in front of a return address (the nearest in byte 6), end in a call: e8 with a
 * 32-bit displacement, or ff /2 with any addressing form. A prefix may stand in front and does not matter.
 */
__noinline int follows_call(__u64 bytes)
{
#define AT(i)     ((__u32)(bytes >> (8 * (i))) & 0xff)
#define IS_FF2(i) (AT(i) == 0xff && ((AT((i) + 1) >> 3) & 7) == 2)
#define MOD(i)    (AT((i) + 1) >> 6)
#define RM(i)     (AT((i) + 1) & 7)
	if (AT(2) == 0xe8)
		return 1;
	if (IS_FF2(5) && (MOD(5) == 3 || (MOD(5) == 0 && RM(5) != 4 && RM(5) != 5)))
		return 1;
	if (IS_FF2(4) && ((MOD(4) == 1 && RM(4) != 4) || (MOD(4) == 0 && RM(4) == 4 && (AT(6) & 7) != 5)))
		return 1;
	if (IS_FF2(3) && MOD(3) == 1 && RM(3) == 4)
		return 1;
	if (IS_FF2(1) && ((MOD(1) == 2 && RM(1) != 4) || (MOD(1) == 0 && RM(1) == 5)))
		return 1;
	if (IS_FF2(0) && ((MOD(0) == 2 && RM(0) == 4) || (MOD(0) == 0 && RM(0) == 4 && (AT(2) & 7) == 5)))
		return 1;
	return 0;
#undef AT
#undef IS_FF2
#undef MOD
#undef RM
}

/* The seven bytes in front of @address, zeros for those on a page that cannot be read. False: none can. */
static __always_inline bool read_before(__u64 address, __u64 *ret)
{
	__u64 bytes = 0, page_part = address & 4095;

	*ret = 0;
	if (bpf_probe_read_user(&bytes, 7, (void *)(address - 7)) == 0) {
		*ret = bytes;
		return true;
	}
	if (page_part == 0 || page_part >= 7)
		return false;
	bytes = 0;
	if (bpf_probe_read_user(&bytes, page_part & 7, (void *)(address - page_part)))
		return false;
	*ret = bytes << (8 * (7 - page_part));
	return true;
}

/* The code that a placed return address leads to; the byte in front is not among them. */
enum placed {
	PLACED_UNKNOWN = 0,
	PLACED_SIGNAL = 1, /* the end of a signal's handler */
	PLACED_START = 2,  /* what lies behind the first function of a stack */
};

/*
 * What the code at @address is, with byte @before in front of it. The kernel makes a handler return to
 * `mov $15,%rax; syscall` (rt_sigreturn); debuggers know it by these bytes too. Go's goroutines return to one byte
 * into runtime.goexit, which is aligned: `nop; call goexit1; nop`. glibc's makecontext() lets them return to
 * __start_context, which gives the stack up at once: `mov %rbx,%rsp; mov (%rsp),%rdi`.
 */
__noinline int placed_code(__u64 address, __u32 before)
{
	__u64 code[2];

	if (bpf_probe_read_user(code, sizeof(code), (void *)address))
		return PLACED_UNKNOWN;
	if (code[0] == 0x0f0000000fc0c748 && (code[1] & 0xff) == 0x05)
		return PLACED_SIGNAL;
	if ((code[0] & 0xffffffffffffff) == 0x050f0000000fb8) /* the shorter `mov $15,%eax` */
		return PLACED_SIGNAL;
	if (before == 0x90 && (code[0] & 0xff) == 0xe8 && (code[0] >> 40 & 0xff) == 0x90 &&
	    (address & (GO_ALIGN - 1)) == 1)
		return PLACED_START;
	if ((code[0] & 0xffffffffffffff) == 0x243c8b48dc8948)
		return PLACED_START;
	return PLACED_UNKNOWN;
}

/*
 * Whether the registers in scratch.leaf are those of a thread that calls rt_sigreturn, or is about to: then the
 * stack pointer is at the signal's frame, wherever the code lies.
 */
static __always_inline bool calls_sigreturn(const struct scratch *s)
{
	__u64 ip = s->leaf.rip;
	__u16 code = 0;

	if (s->leaf.orig_rax == NR_RT_SIGRETURN)
		ip -= sizeof(code);
	else if (s->leaf.rax != NR_RT_SIGRETURN)
		return false;
	return bpf_probe_read_user(&code, sizeof(code), (void *)ip) == 0 && code == SYSCALL_CODE;
}

static __always_inline struct caller *caller_place(struct scratch *s, __u64 frame)
{
	return &s->callers[frame * 0x9e3779b97f4a7c15ULL >> (64 - CALLERS_LOG2)];
}

/* Whether the caller at scratch.ip is remembered as one that may be believed; then its rule is in the scratch. */
static __always_inline bool recall_caller(struct scratch *s)
{
	__u64 frame = s->found.base + s->ip;
	const struct caller *known = caller_place(s, frame);

	if (known->frame != frame || (known->stamp != s->found.stamp && known->stamp != s->owner_stamp))
		return false;
	s->rule = known->rule;
	s->has_rule = known->has_rule;
	return true;
}

/* Remembers it, with the rule in the scratch, as long as @stamp says. */
static __always_inline void remember_caller(struct scratch *s, __u32 stamp)
{
	__u64 frame = s->found.base + s->ip;
	struct caller *known = caller_place(s, frame);

	known->frame = frame;
	known->rule = s->rule;
	known->stamp = stamp;
	known->has_rule = s->has_rule;
}

#endif
