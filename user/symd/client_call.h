/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_CALL_H
#define HL_SYMD_CLIENT_CALL_H

/* What the files of the client share; private to this folder. */

#include <hotleaf/symd.h>

struct hl_err;
struct hl_str;
struct hl_symd;

/*
 * Sends @request with its @payload, and @fd if that is not -1. 0 with the reply's payload in @ret, which lives
 * until the next request; or -errno: the server's, or -EPROTO for a reply that makes no sense.
 */
int hl_symd_call(struct hl_symd *symd, const struct hl_symd_request *request, const void *payload, int fd,
		 const struct hl_str **ret, struct hl_err *err);

/* @r, the result of a call and of the checks of its answer. -EPROTO: the server is not to be trusted. */
int hl_symd_checked(struct hl_symd *symd, int r);

#endif
