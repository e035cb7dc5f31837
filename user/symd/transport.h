/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_TRANSPORT_H
#define HL_SYMD_TRANSPORT_H

/* The seam between client and server, where a process boundary fits; private to this folder and its tests. */

#include <stddef.h>

#include <hotleaf/symd.h>

struct hl_err;
struct hl_str;
struct hl_symd;
struct hl_symd_options;
struct hl_symd_stats;

struct hl_symd_transport {
	/*
	 * Carries @request with its payload, and @fd if that is not -1, to the server and its answer back.
	 * Fails only if there is no server to answer: what the answer says is checked by the client.
	 */
	int (*call)(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
		    struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err);
	/* The answer to the last call made no sense: its server is not to be trusted. NULL: nothing follows. */
	void (*distrust)(void *ctx);
	void (*stats)(const void *ctx, struct hl_symd_stats *ret); /* NULL: none are kept */
	void (*free)(void *ctx);
	void *ctx;
};

/* A client that speaks through @transport, whose context it frees, also on failure. */
struct hl_symd *hl_symd_new_over(struct hl_symd_transport transport, struct hl_err *err);

/* Servers in child processes, one after the other as need be. Starts the first. */
int hl_symd_transport_child(const struct hl_symd_options *options, struct hl_symd_transport *ret,
			    struct hl_err *err);

/* A server in this process: for tests, benchmarks and fuzzers. */
int hl_symd_transport_local(struct hl_symd_transport *ret, struct hl_err *err);

#endif
