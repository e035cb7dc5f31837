// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "walk.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Argument: the bytes in front of a return address, as follows_call() takes them. */
SEC("raw_tp")
int test_follows_call(struct bpf_raw_tracepoint_args *ctx)
{
	return follows_call(ctx->args[0]);
}

/* Arguments: an address of code, and the byte in front of it. */
SEC("raw_tp")
int test_placed_code(struct bpf_raw_tracepoint_args *ctx)
{
	return placed_code(ctx->args[0], ctx->args[1]);
}

/* Arguments: which word to set in the node, its value; or with ~0 an address and the number of pivots. */
SEC("raw_tp")
int test_maple_slot(struct bpf_raw_tracepoint_args *ctx)
{
	struct scratch *s = get_scratch();
	__u64 word = ctx->args[0];

	if (!s)
		return -1;
	if (word == ~0ULL)
		return maple_slot(ctx->args[1], ctx->args[2]);
	s->node[word & (NODE_WORDS - 1)] = ctx->args[1];
	return 0;
}
