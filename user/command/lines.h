/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_LINES_H
#define HL_COMMAND_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hl_cache;
struct hl_reach;
struct hl_files;
struct hl_open_file;
struct hl_str;
struct hl_symd;

/* A file with its share of the samples. */
struct hl_lines_file {
	uint32_t id;
	uint64_t samples; /* whose stack it is in */
};

/* What became of the files for which inlined functions and lines were wanted. */
struct hl_lines_counts {
	unsigned int read;    /* are known now */
	unsigned int without; /* have no debug information */
	unsigned int refused; /* damaged, too large, or slower than the time that one file has */
	unsigned int untried; /* the time was over before their turn */
	unsigned int missing; /* .dwo and alternate files that were not there, or were others */
	unsigned int damaged; /* units in files that were read, and functions nested too deeply */
	bool kernel_without;  /* the kernel's debug information is not on this host */
	char refusal[240];    /* of the first that was refused, why */
	char missed[160];     /* the first that was missing */
};

/*
 * Has @symd read the debug information of @files, those in most samples first (@files is sorted so), until
 * the time for it is over; @memory bounds what one of them may inflate to, in bytes. Files that it names
 * besides are opened below the root of the process that was sampled, then below our own. What is read is kept
 * in @cache, unless that is NULL.
 */
void hl_lines_read(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
		   const struct hl_files *opened, struct hl_lines_file *files, size_t n, uint64_t memory,
		   struct hl_lines_counts *counts);

/* The same for @file alone, which @symd knows as @id, within @time_ms. */
void hl_lines_read_file(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
			const struct hl_open_file *file, uint32_t id, uint64_t memory, uint32_t time_ms,
			struct hl_lines_counts *counts);

/* Appends " at FILE:LINE", with the base name of @path; nothing if @len is 0. */
void hl_lines_append(struct hl_str *out, const char *path, size_t len, uint32_t line);
/* Appends "FILE:LINE" alone. */
void hl_lines_add(struct hl_str *out, const char *path, size_t len, uint32_t line);

#endif
