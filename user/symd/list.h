/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_LIST_H
#define HL_SYMD_LIST_H

/* Whole functions; private to this folder. */

#include <stddef.h>
#include <stdint.h>

struct hl_err;
struct hl_str;
struct hl_symd_sources;

/*
 * Answers HL_SYMD_LIST with the @len bytes of its request at @payload, which need not be aligned, and its
 * @flags: appends the
 * reply to @ret_payload. 0 or -errno, as include/hotleaf/symd.h has it.
 */
int hl_symd_list(struct hl_symd_sources *sources, const void *payload, size_t len, uint32_t flags,
		 struct hl_str *ret_payload, struct hl_err *err);

#endif
