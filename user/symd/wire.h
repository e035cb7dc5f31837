/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_WIRE_H
#define HL_SYMD_WIRE_H

/*
 * How requests and replies cross to the child; private to this folder and its tests.
 *
 * Both are one SOCK_SEQPACKET message each: a hl_symd_request, with a descriptor beside it where the type
 * says so, and a hl_wire_reply. Payloads lie in the buffer, a memfd that the parent makes, seals against any
 * change of size, and passes with a request of type HL_WIRE_BUFFER. The child maps it; the parent only ever
 * uses pread and pwrite, so nothing that the child does can raise SIGBUS in it, nor change what it has
 * already copied and checked. No descriptor travels from the child to the parent.
 */

#include <stddef.h>

#include <hotleaf/symd.h>

enum {
	HL_WIRE_BUFFER = 0,           /* request: `length` is the size of the buffer at the descriptor */
	HL_WIRE_BUFFER_SIZE = 4 << 20 /* of the usual buffer, of which pages that are not used cost nothing */
};
#define HL_WIRE_PAYLOAD_MAX (UINT64_C(1) << 30)

/* Bytes of one query of @request: of RESOLVE. What it is about stands in the same place in both kinds. */
static inline size_t hl_symd_query_size(const struct hl_symd_request *request)
{
	return request->flags & HL_SYMD_BRIEF ? sizeof(struct hl_symd_brief_query)
					      : sizeof(struct hl_symd_query);
}

enum hl_wire_kind {
	HL_WIRE_HELLO = 1, /* the first message: `version` and `guards` */
	HL_WIRE_REPLY = 2,
	HL_WIRE_GROW = 3, /* the reply needs a buffer of `reply.length` bytes; it is sent again into that */
};

struct hl_wire_reply {
	__u32 kind;    /* enum hl_wire_kind */
	__u32 version; /* HL_SYMD_VERSION */
	__u32 guards;  /* HL_GUARD_* that stand */
	__u32 at;      /* where in the buffer the payload begins */
	struct hl_symd_reply reply;
};

#endif
