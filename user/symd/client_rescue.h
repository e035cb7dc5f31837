/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_RESCUE_H
#define HL_SYMD_CLIENT_RESCUE_H

/* How a batch of queries survives a server that does not; private to this folder. */

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_err;
struct hl_symd;
struct hl_symd_answers;

/* Appends the answers to @n queries, for which @ret has room, by one request. On failure none is added. */
int hl_symd_ask(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		struct hl_symd_answers *ret, struct hl_err *err);
/* Appends an answer that says nothing, and counts it. */
void hl_symd_leave_unanswered(struct hl_symd *symd, const struct hl_symd_query *query,
			      struct hl_symd_answers *ret);

/* Appends the answers to @n queries that failed when they were asked together. 0 or -ENOMEM. */
int hl_symd_rescue(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		   struct hl_symd_answers *ret, struct hl_err *err);

#endif
