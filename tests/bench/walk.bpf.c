// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user stack of the calling process, ROUNDS times: by our walk, and by the kernel's. See walk.c. */
#include "walk.bpf.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ROUNDS 1000

__u64 elapsed_ns = 0;
__u32 frames = 0, end = 0;

/* All that a sample's walk does, from the registers on. Its own function: proved once. */
__noinline int walk_once(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s = get_scratch();

	if (!s || !task->mm)
		return -1;
	if (bpf_probe_read_kernel(&s->leaf, sizeof(s->leaf), (void *)bpf_task_pt_regs(task)))
		return -1;
	walk_begin(s);
	mapping_begin(s, task->mm);
	if (find_mapping(s->ip) == MAPPING_NONE || !append_frame(s))
		return -1;
	walk_on(s);
	return s->stack.head.n;
}

SEC("raw_tp")
int walk_ours(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 start = bpf_ktime_get_ns();
	struct scratch *s;
	__u32 i;

	for (i = 0; i < ROUNDS; i++)
		frames = walk_once();
	elapsed_ns = bpf_ktime_get_ns() - start;
	s = get_scratch();
	if (s)
		end = s->stack.head.end;
	return ROUNDS;
}

SEC("raw_tp")
int walk_kernel(struct bpf_raw_tracepoint_args *ctx)
{
	struct scratch *s = get_scratch();
	__u64 start = bpf_ktime_get_ns();
	__u32 i;

	if (!s)
		return -1;
	for (i = 0; i < ROUNDS; i++)
		frames = (__u32)bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), BPF_F_USER_STACK) / 8;
	elapsed_ns = bpf_ktime_get_ns() - start;
	return ROUNDS;
}
