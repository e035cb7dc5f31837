/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_CHILD_H
#define HL_SYMD_CLIENT_CHILD_H

/* One child process, the parent's side; private to this folder. */

#include <stdbool.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_err;
struct hl_str;
struct hl_symd_child;
struct hl_symd_options;

/*
 * Starts a child and waits until it has locked itself in. 0 or -errno; after a failure too @ret, unless it
 * is NULL, is to be killed and reaped.
 */
int hl_symd_child_start(const struct hl_symd_options *options, struct hl_symd_child **ret,
			struct hl_err *err);

/*
 * Carries a request and its answer, as hl_symd_transport's call. After a failure the child is of no use any
 * more, and what it said is in no field of @ret: -EPIPE, it had ended before the request reached it;
 * -ETIMEDOUT, also when it does not run at all; -ECONNRESET, it ended without an answer; -EPROTO; or another
 * -errno of this side.
 */
int hl_symd_child_call(struct hl_symd_child *child, const struct hl_symd_request *request,
		       const void *payload, int fd, struct hl_symd_reply *ret, struct hl_str *ret_payload,
		       struct hl_err *err);

/* The HL_GUARD_* that it reported. */
uint32_t hl_symd_child_guards(const struct hl_symd_child *child);
/* CPU time that it has used. */
uint64_t hl_symd_child_cpu_ns(const struct hl_symd_child *child);

/* Kills it and closes what it holds on this side. */
void hl_symd_child_kill(struct hl_symd_child *child);
/*
 * Waits at most @ms for the end of a killed child. True: it has ended, its CPU time was added to @cpu_ns, and
 * @child is freed. False: it is stuck in the kernel, as in a read from a dead FUSE mount; to be tried again.
 */
bool hl_symd_child_reap(struct hl_symd_child *child, uint32_t ms, uint64_t *cpu_ns);

#endif
