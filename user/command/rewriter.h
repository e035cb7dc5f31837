/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_REWRITER_H
#define HL_COMMAND_REWRITER_H

#include <stdint.h>
#include <sys/types.h>

struct hl_store;

/*
 * Has old days of a store rewritten by `hotleaf store rewrite`, a process of its own and of the least priority:
 * neither the time nor the memory that it takes are an agent's. Zero-initialised it has not begun.
 */
struct hl_rewriter {
	pid_t child;        /* 0: none runs */
	uint64_t looked_ns; /* when it was looked whether there is something to do; 0: not yet */
};

/* To be called now and then. */
void hl_rewriter_look(struct hl_rewriter *rewriter, const struct hl_store *store);
/* Ends the process, if one runs: the day that it is at stays as it was. */
void hl_rewriter_stop(struct hl_rewriter *rewriter);

#endif
