/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_REMAPPED_H
#define HL_PROCESS_REMAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"
#include "sample/window.h"

/*
 * Programs that want their code in huge pages copy it to memory of their own at the same addresses (node
 * --use-largepages, HHVM, MySQL). The mappings of the file that are left beside it tell which file it was, and
 * nearly where in it: each segment of a file may lie at another distance from its place in the file, further by
 * some pages than the one before. The bytes decide: only code that is equal to the file's, to the last byte, is
 * the file's.
 */

enum { HL_REMAPPED_MAX = 16, HL_REMAPPED_IN_GAP = 4, HL_REMAPPED_GUESSES = 16 };

/* Executable memory of no file, and the nearest mappings of files; end 0: there is none. Paths are not valid. */
struct hl_remapped_candidate {
	struct hl_proc_mapping at, before, behind;
};

/*
 * Finds them among the mappings of a process, the first HL_REMAPPED_IN_GAP between two mappings of files, since
 * runtimes have very many. Zero-initialised to begin, but for `asked`.
 */
struct hl_remapped_finder {
	uint64_t asked; /* the start of one that is not left out */
	struct hl_proc_mapping before;
	struct hl_proc_mapping waiting[HL_REMAPPED_IN_GAP]; /* for the mapping behind */
	size_t n_waiting;
	struct hl_remapped_candidate found[HL_REMAPPED_MAX];
	size_t n;
	size_t dropped; /* candidates for which there was no room */
};

/* Takes the mappings of a process in order, at last NULL. */
void hl_remapped_take(struct hl_remapped_finder *finder, const struct hl_proc_mapping *mapping);

/* Where the code may have been. */
struct hl_remapped_guess {
	uint64_t beside_start, beside_end; /* a mapping of the file */
	uint64_t offset;                   /* in it */
};

/* Writes at most HL_REMAPPED_GUESSES, the likely ones first. Their number. */
size_t hl_remapped_guess(const struct hl_remapped_candidate *candidate, struct hl_remapped_guess *ret);

/*
 * Whether the memory from @start to @end of the process whose mem file is @mem_fd is what @file_fd holds from
 * @offset on. Behind the end of the code, the last page may have zeros instead.
 */
bool hl_remapped_is_equal(int mem_fd, uint64_t start, uint64_t end, int file_fd, uint64_t offset);

struct hl_remapped {
	uint64_t start, end;
	struct hl_remapped_guess from;
};

/*
 * Finds out which code of the process that @event, one of no file, tells of comes from files: its mapping, and
 * others. How many are written to @ret, at most HL_REMAPPED_MAX; 0 also if the process has ended. @ret_dropped:
 * mappings that were not looked at, as there are too many.
 */
size_t hl_remapped_find(int proc_fd, const struct hl_file_event *event, struct hl_remapped *ret,
			size_t *ret_dropped);

#endif
