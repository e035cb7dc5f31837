/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_EXES_H
#define HL_PROCESS_EXES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hl_file_event;
struct hl_reach;
struct hl_window;

/*
 * Paths of executables by file id, as /proc/PID/exe has them. The files that are sampled do not tell: what a
 * process of a container maps is the file below the overlay, and has another id than the executable. Threads may
 * share one of these.
 */
struct hl_exes;

/* Reads below @proc_fd, an open /proc, by @reach, may be NULL; both stay the caller's. NULL: no memory. */
struct hl_exes *hl_exes_new(int proc_fd, struct hl_reach *reach);
void hl_exes_free(struct hl_exes *exes);

/* Looks at those of the processes from number @first of @window on that are new. To be called after each drain. */
void hl_exes_look(struct hl_exes *exes, const struct hl_window *window, size_t first);
/*
 * Takes what @event tells of a file, without which no process is believed to run it, and, if it is of an executable
 * without a mapping, looks at the process.
 */
void hl_exes_on_file(struct hl_exes *exes, const struct hl_file_event *event);
/* The path, as its process sees it; NULL if unknown. Valid until it is forgotten. */
const char *hl_exes_path(struct hl_exes *exes, uint32_t id);
/* The id will be another file's. */
void hl_exes_forget(struct hl_exes *exes, uint32_t id);

#endif
