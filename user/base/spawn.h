/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_SPAWN_H
#define HL_BASE_SPAWN_H

#include <sys/types.h>

/* The descriptor that a child started by hl_spawn_self() is given. */
enum { HL_SPAWN_FD = 3 };

/*
 * Starts this program anew, by /proc/self/exe, with @argv: unlike after a fork, the child holds no byte of our
 * memory (profiles, names and code of containers), shares neither the address layout nor the stack canary, and
 * cannot meet a lock that another thread held. It has a session of its own, so that neither Ctrl-C nor the
 * terminal reaches it, /dev/null as standard streams (a sanitizer keeps its error stream), @fd as HL_SPAWN_FD
 * and no other descriptor, no signal blocked or caught. Of the environment it has what the dynamic loader and
 * sanitizers read, and the variables that @names lists, which ends with NULL and may be NULL. 0 or -errno.
 */
int hl_spawn_self(char *const argv[], const char *const *names, int fd, pid_t *ret);

#endif
