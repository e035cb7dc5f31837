/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_CODE_NAMES_H
#define HL_COMMAND_CODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_code_files;
struct hl_named_files;
struct hl_symd;

/* What was lost of the names that processes tell of the code that they make. */
struct hl_code_name_counts {
	uint64_t unnoted;     /* samples in such code of processes beyond those that are noted */
	unsigned int refused; /* files that are there and were not opened */
	unsigned int broken;  /* files that could not be read, or not beyond their damage */
	unsigned int cut;     /* files that end inside a record, or are too large to be read whole */
	uint64_t left;        /* bytes of those that were not read */
	uint64_t damaged;     /* records without sense */
	uint64_t dropped;     /* records for which there was no room */
	char breakage[200];   /* of the first broken one, why */
};

/*
 * Has @symd read what the processes of @files tell of their code by now, of jitdumps as of @until_ns
 * (CLOCK_MONOTONIC). What a file names before its damage is taken. Files that
 * are as @named saw them the last time are left out.
 */
void hl_code_names_read(struct hl_symd *symd, const struct hl_code_files *files, struct hl_named_files *named,
			uint64_t until_ns, struct hl_code_name_counts *counts);

/* Writes one sentence on what was lost; false if nothing was. */
bool hl_code_names_note(const struct hl_code_name_counts *counts, char *ret, size_t size);

#endif
