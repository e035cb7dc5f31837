// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The usual sampling profiler, to measure against: two calls of bpf_get_stackid() and a count by process,
 * name and stacks. It loses samples when stacks collide and knows no instruction.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct key {
	__u32 pid;
	int kernel, user;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, __u64);
} counts SEC(".maps");

SEC("perf_event")
int baseline(struct bpf_perf_event_data *ctx)
{
	struct key key = { .pid = bpf_get_current_pid_tgid() >> 32 };
	__u64 *known, one = 1;

	bpf_get_current_comm(key.comm, sizeof(key.comm));
	key.kernel = bpf_get_stackid(ctx, &stacks, 0);
	key.user = bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	known = bpf_map_lookup_elem(&counts, &key);
	if (known)
		__sync_fetch_and_add(known, 1);
	else
		bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
	return 0;
}
