// SPDX-License-Identifier: BSD-2-Clause
#include "capture/text.h"

#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include <bpf/bpf.h>

#include <hotleaf/abi.h> /* bpf/text.skel.h needs it */

#include "base/cleanup.h"
#include "base/err.h"
#include "bpf/text.skel.h"

HL_DEFINE_CLEANUP(struct text_bpf, text_bpf__destroy)

static int read_part(struct text_bpf *skel, uint64_t address)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	skel->bss->text.address = address;
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.read_text), &options))
		return -errno;
	return (int)options.retval;
}

int hl_kernel_text_read(uint64_t address, uint8_t *ret, size_t len, struct hl_err *err)
{
	enum { PART = HL_KERNEL_TEXT_LEN };
	_cleanup_(text_bpf__destroyp) struct text_bpf *skel = text_bpf__open_and_load();
	int code = skel ? 0 : -errno;

	if (code)
		return hl_err_errno(err, code, "cannot read the kernel's code");
	for (size_t at = 0; at < len && !code; at += PART) {
		size_t n = len - at < PART ? len - at : PART;
		/* The last part ends with the function, as nothing may be mapped behind it. */
		uint64_t from = address + at + n - PART;

		code = read_part(skel, from);
		if (!code)
			memcpy(ret + at, skel->bss->text.bytes + PART - n, n);
	}
	return code ? hl_err_errno(err, code, "cannot read the kernel's code at 0x%llx",
				   (unsigned long long)address)
		    : 0;
}
