/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_RUNTIME_H
#define HL_TESTS_RUNTIME_H

#include <stddef.h>

/*
 * A server at a socket that pretends to be a container runtime: a thread that gives one and the same answer to
 * whatever it is asked. What fails here fails the test.
 */

enum runtime_manner {
	RUNTIME_ANSWERS,   /* and closes */
	RUNTIME_HOLDS_ON,  /* answers, and leaves it to the other side to close */
	RUNTIME_IS_SLOW,   /* answers byte by byte, and closes */
	RUNTIME_NOT_READS, /* accepts, and does nothing until the other side has closed */
	RUNTIME_CLOSES,    /* at once */
};

struct runtime_server;

/* Its socket is at @path, which must be free; @answer has @len bytes and stays the caller's. */
struct runtime_server *runtime_start(const char *path, enum runtime_manner manner, const char *answer,
				     size_t len);
/* The same with an answer in HTTP, whose body is the string @body. */
struct runtime_server *runtime_start_http(const char *path, const char *status, const char *body);
/* How often it was asked so far, and the last request; static. */
unsigned int runtime_asked(struct runtime_server *server, const char **ret_request);
/* Ends it, and removes its socket. */
void runtime_stop(struct runtime_server *server);

#endif
