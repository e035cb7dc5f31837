/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_SERVER_H
#define HL_SYMD_SERVER_H

#include <stddef.h>

#include <hotleaf/symd.h>

struct hl_err;
struct hl_str;
struct hl_symd_server;

/*
 * At most this many queries in one request, so that a reply stays below 40 MB, and below 130 MB if they are
 * brief ones; the longest names of all are taken for that.
 */
#define HL_SYMD_QUERIES_MAX 4096
#define HL_SYMD_BRIEF_MAX   16384

/*
 * The side of symd that parses. It holds at most 512 descriptors; of the files used least recently, names
 * and bytes that it did not keep are then missing from answers. NULL without memory.
 */
struct hl_symd_server *hl_symd_server_new(void);
void hl_symd_server_free(struct hl_symd_server *server);

/*
 * Answers one request of include/hotleaf/symd.h. @payload are the request's bytes, @len of them; @fd stays
 * the caller's, -1: none came with it. Always fills @ret; @ret_payload is replaced.
 */
void hl_symd_server_handle(struct hl_symd_server *server, const struct hl_symd_request *request,
			   const void *payload, size_t len, int fd, struct hl_symd_reply *ret,
			   struct hl_str *ret_payload);

#endif
