/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_CHILD_H
#define HL_COMMAND_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A command that is to be profiled: it is forked first and waits, so that nothing of it is missed. */
struct hl_child {
	pid_t pid;   /* 0: none */
	int go, sad; /* pipes: let it run; hear that it could not */
};

/* Forks; the child waits. @argv ends with NULL. 0 or -errno. */
int hl_child_prepare(struct hl_child *child, char **argv, struct hl_err *err);
/* Lets the command run. -errno with the reason if it cannot be executed. */
int hl_child_go(struct hl_child *child, const char *name, struct hl_err *err);
/* Whether it has ended; reaps it then. */
bool hl_child_ended(struct hl_child *child);
/* Kills a command that was never let go; asks one that still runs to end (SIGTERM). Closes the pipes. */
void hl_child_done(struct hl_child *child);

#endif
