/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef HL_BPF_WALK_H
#define HL_BPF_WALK_H

/*
 * The user stack, walked from the registers of the sample towards the thread's start.
 *
 * A step leaves the frame that scratch.ip/sp/bp describe: a rule computes the caller's registers, then the
 * new address is tested, and only then a frame is appended. Nothing is invented: an address that lies in no
 * executable mapping, or that was found by frame pointer and follows no call, ends the walk with a reason.
 *
 * Rules: by frame pointer (below), and for the frame that a signal handler returns to.
 */

#include "mapping.bpf.h"

#define MAX_FRAME_BYTES (8ULL << 20) /* a frame pointer further from the stack pointer is none */

/* uc_mcontext in struct ucontext (asm/sigcontext.h, x86-64): its gregs follow flags, link and stack_t. */
#define SIGFRAME_REGS 40
#define SIGFRAME_RBP  10
#define SIGFRAME_RSP  15
#define SIGFRAME_RIP  16

enum { STEP_FAILED = 0, STEP_FOUND = 1 };

static __always_inline bool stop_walk(struct scratch *s, enum hl_walk_end end)
{
	s->stack.head.end = end;
	return true;
}

/* Reads the stack slot at @address through the chunk that holds it. One long read serves many frames. */
static __always_inline bool read_slot(struct scratch *s, __u64 address, __u64 *ret)
{
	__u64 chunk = address & ~(__u64)(CHUNK - 1);
	__u32 half;

	if (address & (s->word - 1)) {
		*ret = 0;
		return bpf_probe_read_user(ret, s->word == 4 ? 4 : 8, (void *)address) == 0;
	}
	if (chunk != s->chunk_address) {
		s->chunk_address = 0;
		if (bpf_probe_read_user(s->chunk, CHUNK, (void *)chunk))
			return false;
		s->chunk_address = chunk;
	}
	if (s->word == 4) {
		half = *(__u32 *)(s->chunk + (address & (CHUNK - 4)));
		*ret = half;
	} else {
		*ret = *(__u64 *)(s->chunk + (address & (CHUNK - 8)));
	}
	return true;
}

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

/* The seven bytes in front of @address, zeros for those on a page that cannot be read. */
static __always_inline __u64 read_before(__u64 address)
{
	__u64 bytes = 0, page_part = address & 4095;

	if (bpf_probe_read_user(&bytes, 7, (void *)(address - 7)) == 0)
		return bytes;
	if (page_part == 0 || page_part >= 7)
		return 0;
	bytes = 0;
	if (bpf_probe_read_user(&bytes, page_part & 7, (void *)(address - page_part)))
		return 0;
	return bytes << (8 * (7 - page_part));
}

/* Whether @address holds `mov $15,%rax; syscall`, to which the kernel makes a handler return (rt_sigreturn). */
static __always_inline bool is_signal_return(struct scratch *s, __u64 address)
{
	__u8 code[9];

	if (s->word != 8 || bpf_probe_read_user(code, sizeof(code), (void *)address))
		return false;
	return *(__u32 *)code == 0x0fc0c748 && *(__u32 *)(code + 4) == 0x0f000000 && code[8] == 0x05;
}

/* Appends the frame at scratch.ip, which lies in the mapping just found. False: the limit is reached. */
static __always_inline bool append_frame(struct scratch *s)
{
	__u32 n = s->stack.head.n;
	__u64 frame = s->found.base + s->ip;

	if (n >= max_user_frames || n >= HL_MAX_FRAMES)
		return false;
	s->stack.frames[n & (HL_MAX_FRAMES - 1)] = frame;
	s->stack.head.n = n + 1;
	s->hash = (s->hash ^ frame) * 0x9e3779b97f4a7c15ULL;
	s->hash ^= s->hash >> 32;
	return true;
}

/* Rule: %rbp points at the saved %rbp, with the return address above it. @ret is the return address. */
static __always_inline bool rule_frame_pointer(struct scratch *s, __u64 *ret)
{
	__u64 bp = s->bp, saved;

	*ret = 0;
	if (bp == 0) {
		stop_walk(s, HL_WALK_COMPLETE);
		return false;
	}
	if (bp < s->sp || bp - s->sp >= MAX_FRAME_BYTES) {
		stop_walk(s, HL_WALK_BAD_FP);
		return false;
	}
	if (!read_slot(s, bp, &saved) || !read_slot(s, bp + s->word, ret)) {
		stop_walk(s, HL_WALK_FAULT);
		return false;
	}
	s->sp = bp + 2 * s->word;
	s->bp = saved;
	return true;
}

/* Rule: at the handler's return the stack pointer is at the ucontext that holds the interrupted registers. */
static __always_inline bool rule_signal_frame(struct scratch *s)
{
	__u64 regs[SIGFRAME_RIP + 1];

	if (bpf_probe_read_user(regs, sizeof(regs), (void *)(s->sp + SIGFRAME_REGS)))
		return false;
	s->ip = regs[SIGFRAME_RIP];
	s->sp = regs[SIGFRAME_RSP];
	s->bp = regs[SIGFRAME_RBP];
	return true;
}

/* The handler's caller: the trampoline as a frame, then the code that the signal interrupted. */
static __always_inline bool step_over_signal(struct scratch *s, __u64 trampoline)
{
	s->ip = trampoline;
	if (!append_frame(s))
		return stop_walk(s, HL_WALK_DEPTH);
	if (!rule_signal_frame(s))
		return stop_walk(s, HL_WALK_FAULT);
	if (find_mapping(s->ip) == MAPPING_NONE)
		return stop_walk(s, HL_WALK_NO_MAPPING);
	if (!append_frame(s))
		return stop_walk(s, HL_WALK_DEPTH);
	return false;
}

/* One step towards the thread's start. 1: the walk has ended, the reason is in the stack's head. */
__noinline int walk_step(__u32 unused)
{
	struct scratch *s = get_scratch();
	__u64 caller;

	if (!s)
		return 1;
	if (!rule_frame_pointer(s, &caller))
		return 1;
	if (caller == 0)
		return stop_walk(s, HL_WALK_COMPLETE);
	s->ip = caller - 1;
	if (find_mapping(s->ip) == MAPPING_NONE)
		return stop_walk(s, HL_WALK_NO_MAPPING);
	if (!follows_call(read_before(caller))) {
		if (is_signal_return(s, caller))
			return step_over_signal(s, caller);
		return stop_walk(s, HL_WALK_NO_CALL);
	}
	if (!append_frame(s))
		return stop_walk(s, HL_WALK_DEPTH);
	return 0;
}

static __always_inline void walk_begin(struct scratch *s, __u64 sp, __u64 bp, __u32 word)
{
	s->sp = sp;
	s->bp = bp;
	s->word = word;
	s->chunk_address = 0;
	s->hash = stack_seed;
	s->stack.head = (struct hl_stack_head){ .end = HL_WALK_DEPTH };
}

/* Walks on from the frame in the scratch, which is the leaf or has been appended. */
static __always_inline void walk_on(struct scratch *s)
{
	__u32 i;

	for (i = 0; i < HL_MAX_FRAMES; i++)
		if (walk_step(0))
			break;
}

#endif
