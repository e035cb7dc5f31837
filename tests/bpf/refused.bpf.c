// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* No verifier lets a program follow a number as if it were a pointer. */
SEC("raw_tp")
int refused(struct bpf_raw_tracepoint_args *ctx)
{
	return *(int *)ctx->args[0];
}
