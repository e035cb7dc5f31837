// SPDX-License-Identifier: BSD-2-Clause
#include "capture/text.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include <hotleaf/abi.h> /* bpf/text.skel.h needs it */

#include "base/err.h"
#include "bpf/text.skel.h"

struct hl_text_reader {
	struct text_bpf *skel;
};

static int read_part(struct text_bpf *skel, uint64_t address)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	skel->bss->text.address = address;
	if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.read_text), &options))
		return -errno;
	return (int)options.retval;
}

int hl_text_reader_new(struct hl_text_reader **ret, struct hl_err *err)
{
	struct hl_text_reader *reader = calloc(1, sizeof(*reader));
	int code;

	if (!reader)
		return hl_err_set(err, -ENOMEM, "no memory to read the kernel's code");
	reader->skel = text_bpf__open_and_load();
	if (reader->skel) {
		*ret = reader;
		return 0;
	}
	code = hl_err_errno(err, -errno, "cannot read the kernel's code");
	free(reader);
	return code;
}

void hl_text_reader_free(struct hl_text_reader *reader)
{
	if (!reader)
		return;
	text_bpf__destroy(reader->skel);
	free(reader);
}

int hl_text_reader_get(struct hl_text_reader *reader, uint64_t address, uint8_t *ret, size_t len,
		       struct hl_err *err)
{
	enum { PART = HL_KERNEL_TEXT_LEN };
	int code = 0;

	for (size_t at = 0; at < len && !code; at += PART) {
		size_t n = len - at < PART ? len - at : PART;
		/* The last part ends with the function, as nothing may be mapped behind it. */
		uint64_t from = address + at + n - PART;

		code = read_part(reader->skel, from);
		if (!code)
			memcpy(ret + at, reader->skel->bss->text.bytes + PART - n, n);
	}
	return code ? hl_err_errno(err, code, "cannot read the kernel's code at 0x%llx",
				   (unsigned long long)address)
		    : 0;
}

int hl_kernel_text_read(uint64_t address, uint8_t *ret, size_t len, struct hl_err *err)
{
	struct hl_text_reader *reader = NULL;
	int code = hl_text_reader_new(&reader, err);

	if (!reader)
		return code ? code : -EIO;
	code = hl_text_reader_get(reader, address, ret, len, err);
	hl_text_reader_free(reader);
	return code;
}
