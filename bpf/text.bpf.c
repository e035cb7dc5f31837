// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The kernel's own code as it is now, for listings: many hosts have no /proc/kcore, and its code is patched. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include <hotleaf/abi.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct hl_kernel_text text;

SEC("syscall")
int read_text(void *ctx)
{
	return (int)bpf_probe_read_kernel(text.bytes, sizeof(text.bytes), (void *)text.address);
}
