/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_RUNNING_H
#define HL_PROCESS_RUNNING_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Calls @each with an open descriptor of every regular file that is mapped as code by one of the processes
 * @pids below @proc_fd, an open /proc; by any process where @pids is NULL. Each file once, at most @limit of
 * them. The descriptor is closed afterwards. Processes that end meanwhile, and files that cannot be opened,
 * are passed over. Returns the number of files, or -errno.
 */
int hl_running_files(int proc_fd, const pid_t *pids, size_t n_pids, size_t limit,
		     void (*each)(void *ctx, int fd), void *ctx);

#endif
