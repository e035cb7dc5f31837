/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_MOVED_CODE_H
#define HL_COMMAND_MOVED_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

struct hl_files;
struct hl_reach;
struct hl_moved_code;

/*
 * Looks where code in no file comes from, and tells the capture of what processes have moved out of files
 * (process/remapped.h), so that its stacks are walked by the file's table. For the thread that opens files.
 */
struct hl_moved_watch;

/*
 * What is found in @files is opened, and made known to the capture, by @open with @ctx. All are borrowed. NULL:
 * no memory.
 */
struct hl_moved_watch *hl_moved_watch_new(int proc_fd, struct hl_reach *reach, struct hl_capture *capture,
					  const struct hl_files *files, hl_capture_file_fn open, void *ctx);
void hl_moved_watch_free(struct hl_moved_watch *watch);

/* Takes note of an event of no file. */
void hl_moved_watch_take(struct hl_moved_watch *watch, const struct hl_file_event *event);
/* Handles one event. True: more are waiting. */
bool hl_moved_watch_next(struct hl_moved_watch *watch);

/* What was found; and how much of it the capture has no room for. When no other thread is at work here. */
const struct hl_moved_code *hl_moved_watch_found(const struct hl_moved_watch *watch);
uint64_t hl_moved_watch_refused(const struct hl_moved_watch *watch);
/* The same while the other thread is at work: a copy, the caller's. NULL without memory. */
struct hl_moved_code *hl_moved_watch_copy(struct hl_moved_watch *watch, uint64_t *ret_refused);
/* The file is expired: what was found of it is forgotten, as the capture has done. */
void hl_moved_watch_forget(struct hl_moved_watch *watch, uint32_t file);
/* Forgets what was found: the capture keeps what it was told. From any thread. */
void hl_moved_watch_clear(struct hl_moved_watch *watch);

#endif
