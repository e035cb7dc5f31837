/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_TREE_H
#define HL_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether process @pid exists below @proc_fd, an open /proc. */
bool hl_process_exists(int proc_fd, pid_t pid);
/* Whether this process counts process ids as the kernel does: not in a container's own pid namespace. */
bool hl_process_ids_are_the_hosts(int proc_fd);

/*
 * The processes @roots and all their descendants that are alive now, each once. *@ret is the caller's to
 * free. 0 or -errno. A process that is born meanwhile may be missing.
 */
int hl_process_tree(int proc_fd, const pid_t *roots, size_t n_roots, pid_t **ret, size_t *ret_n);

#endif
