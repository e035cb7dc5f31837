/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_MOVED_H
#define HL_PROCESS_MOVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/window.h"

/*
 * What is known of code that processes moved out of files (remapped.h), for samples from before the program
 * knew it; and which processes were looked at, so that those that only generate code are left alone.
 */
struct hl_moved_code;

/* NULL: no memory. */
struct hl_moved_code *hl_moved_code_new(void);
void hl_moved_code_free(struct hl_moved_code *moved);

/*
 * Notes that @key's process was looked at, at @now in units of 2^20 ns. Returns when to do so again: soon after
 * @found something, else each time twice as late.
 */
uint32_t hl_moved_code_look(struct hl_moved_code *moved, const struct hl_process_key *key, uint32_t now,
			    bool found);

/* Adds what was found, in place of what was at that start. -E2BIG, -ENOMEM: there is no room. */
int hl_moved_code_add(struct hl_moved_code *moved, const struct hl_moved_key *key,
		      const struct hl_moved *where);

/* A copy of what was found, for another thread to read. NULL: no memory. */
struct hl_moved_code *hl_moved_code_copy(const struct hl_moved_code *moved);
/* Forgets what was found to be of @file. */
void hl_moved_code_forget(struct hl_moved_code *moved, uint32_t file);
/* Forgets all that was found, as it only grows. */
void hl_moved_code_clear(struct hl_moved_code *moved);
/* The file of which find number @number, from 0 on, was a part; HL_FILE_NONE from the first that is none on. */
uint32_t hl_moved_code_file(const struct hl_moved_code *moved, size_t number);

/* @frame of process @key, of its file if it is a raw address that was moved out of one; else as it is. */
uint64_t hl_moved_code_translate(const struct hl_moved_code *moved, uint64_t frame,
				 const struct hl_process_key *key);

#endif
