/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_DEBUGFILES_H
#define HL_COMMAND_DEBUGFILES_H

#include <stdint.h>

struct hl_open_file;
struct hl_symd;
struct hl_symd_file;

/* What became of the files that keep the names of stripped ones, counted in stripped files. */
struct hl_debug_counts {
	unsigned int refused; /* a debug file was there, and none that could be used */
	unsigned int missing; /* they name one that is not installed */
	unsigned int damaged; /* their .gnu_debugdata could not be used */
	char refusal[240];    /* why the first was refused */
	char missed[160];     /* what the first names, and its own name */
};

/*
 * Finds the separate debug file of file number @id, which @symd knows as @about, and gives it to @symd: by
 * build-id, then by debuglink, below the root of the process that was sampled, then below this one's. @file
 * may be NULL.
 */
void hl_debug_file_add(struct hl_symd *symd, uint32_t id, const struct hl_symd_file *about,
		       const struct hl_open_file *file, struct hl_debug_counts *counts);

#endif
