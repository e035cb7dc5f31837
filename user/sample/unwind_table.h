/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SAMPLE_UNWIND_TABLE_H
#define HL_SAMPLE_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/unwind.h>

struct hl_err;

/* Reading of unwind tables as include/hotleaf/unwind.h has them, wherever they come from. */

/*
 * 0 if @bytes are a whole and sound table: counts that add up to @len, known kinds, pages whose rows follow
 * each other, begin at offset 0 and ascend, rules that exist. Else -EBADMSG, with what is wrong.
 */
int hl_unwind_check(const void *bytes, size_t len, struct hl_err *err);

/*
 * The rule that holds at @file_offset. -ENOENT if the table has no code there; -EBADMSG if it is damaged at
 * this place: it need not have been checked.
 */
int hl_unwind_lookup(const void *bytes, size_t len, uint64_t file_offset, struct hl_unwind_rule *ret);

#endif
