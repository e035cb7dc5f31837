/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CHILD_H
#define HL_SYMD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_str;

/* What answers requests, as hl_symd_server_handle() does. */
typedef void (*hl_symd_handle_fn)(void *ctx, const struct hl_symd_request *request, const void *payload,
				  size_t len, int fd, struct hl_symd_reply *ret, struct hl_str *ret_payload);

/* Whether this process was started with a socket as HL_SPAWN_FD. */
bool hl_symd_child_is_wanted(void);

/*
 * Locks this process in and answers requests from descriptor HL_SPAWN_FD until the other end closes. It
 * never returns. The process has been started for this alone: it has no threads and holds no secrets.
 */
_Noreturn void hl_symd_child_serve(hl_symd_handle_fn handle, void *ctx, uint32_t memory_mb);

/* As above, with a server of its own. */
_Noreturn void hl_symd_child_run(uint32_t memory_mb);

#endif
