/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CODEFILES_H
#define HL_PROCESS_CODEFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/window.h"

/*
 * The files in which runtimes tell the names of the code that they make: /tmp/perf-PID.map, in the root and
 * with the number that the process itself sees, and a jit-PID.dump, which its runtime maps executable so
 * that it is found. They are opened when such code is first sampled, while the process lives, and stay open:
 * what is written to them until it ends can be read afterwards. Only regular files that belong to the
 * process's user, or to root, are opened. Nothing is read here: that is for others, in a sandbox.
 */

enum hl_code_file_kind {
	HL_CODE_PERF_MAP = 0,
	HL_CODE_JITDUMP = 1,
	HL_CODE_KINDS = 2,
};

struct hl_code_process {
	struct hl_process_key key;
	int fds[HL_CODE_KINDS];      /* -1: not there, or not yet */
	bool refused[HL_CODE_KINDS]; /* one is there, but it is no regular file, or another user's */
	uint32_t looks;              /* how often it was looked for what is not there yet */
	uint32_t next_look;          /* the round of hl_code_files_look() of the next time */
	bool gone;                   /* the process has ended: nothing more is to be found */
};

struct hl_code_files;
struct hl_reach;

/* Opens below @proc_fd, an open /proc, through @reach; both stay the caller's. NULL: no memory. */
struct hl_code_files *hl_code_files_new(int proc_fd, struct hl_reach *reach);
void hl_code_files_free(struct hl_code_files *files);

/* A copy, with descriptors of its own, for another thread to read. NULL without memory or descriptors. */
struct hl_code_files *hl_code_files_copy(const struct hl_code_files *files);

/*
 * Takes note of the processes of the samples from number @first of @window on that ran code in no file, as
 * leaf or as caller, and looks for the files of those that are new, and again, ever more rarely, for those
 * that had none. To be called after each drain; where a file system does not answer the others wait for the
 * next call, so that none takes much longer than HL_REACH_MS.
 */
void hl_code_files_look(struct hl_code_files *files, const struct hl_window *window, size_t first);

/* The number, from 1 on, of a process that has such files; 0 of any other. */
uint32_t hl_code_files_number(const struct hl_code_files *files, const struct hl_process_key *key);
/* The process of that number; NULL from the first number on that is none's. */
const struct hl_code_process *hl_code_files_get(const struct hl_code_files *files, uint32_t number);

/* Processes that were not noted, as there are too many; each sample of one counts. */
uint64_t hl_code_files_dropped(const struct hl_code_files *files);
/* Files that are there and were not opened: no regular ones, or another user's. */
unsigned int hl_code_files_refused(const struct hl_code_files *files);

#endif
