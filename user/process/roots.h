/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_ROOTS_H
#define HL_PROCESS_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The root directories that sampled processes see, each opened once (O_PATH) and kept, so that names can be
 * looked up in a container that is gone when they are needed. Zero-initialised is empty.
 */
struct hl_roots {
	struct hl_root *items;
	size_t n, cap;
	uint64_t dropped; /* roots of files that are not kept, as there are too many */
};

/*
 * The root of thread @tid of process @tgid below @proc_fd, an open /proc: a descriptor that stays @roots'. -1
 * if the thread has ended, or if there are too many roots.
 */
int hl_roots_of(struct hl_roots *roots, int proc_fd, pid_t tgid, pid_t tid);
void hl_roots_done(struct hl_roots *roots);

#endif
