/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_DEBUGFILES_H
#define HL_COMMAND_DEBUGFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_cache;
struct hl_files;
struct hl_open_file;
struct hl_reach;
struct hl_symd;
struct hl_symd_file;

/* What became of the files that keep the names of stripped ones, counted in stripped files. */
struct hl_debug_counts {
	unsigned int refused; /* a debug file was there, and none that could be used */
	unsigned int missing; /* they name one that is not installed */
	unsigned int damaged; /* their .gnu_debugdata could not be used */
	unsigned int far;     /* they have functions too far apart for a table */
	char refusal[240];    /* why the first was refused */
	char missed[160];     /* what the first names, and its own name */
	/* With --debuginfod: */
	unsigned int fetched, unknown; /* by servers */
	unsigned int unfetched;        /* failed, or were not tried, */
	char unfetched_why[200],
		fetch_error[160]; /* the first of those why; or why there is no fetching at all */
};

/* A stripped file that has no debug file on this host, or none that could be used. */
struct hl_debug_lack {
	uint32_t id;
	const struct hl_symd_file *about; /* borrowed, as given to hl_debug_file_add() */
	uint64_t samples;                 /* whose stack it is in */
	uint8_t build_id[64];
	uint32_t build_id_len; /* 0: none */
	bool refused;
	char why[240];  /* it was */
	char link[256]; /* what .gnu_debuglink names; "": nothing, or nowhere to look */
};

/* Zero-initialised is empty. */
struct hl_debug_lacks {
	struct hl_debug_lack *items;
	size_t n, cap;
};

/*
 * Finds the separate debug file of file number @id, which @symd knows as @about, and gives it to @symd: by
 * build-id, then by debuglink, below the root of the process that was sampled, then below this one's. @file
 * may be NULL. What is made of both comes from @cache, unless that is NULL. Without success it is added to @lacks.
 * 0 or -ENOMEM.
 */
int hl_debug_file_add(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach, uint32_t id,
		      const struct hl_symd_file *about, const struct hl_open_file *file,
		      struct hl_debug_lacks *lacks, struct hl_debug_counts *counts);

/*
 * Fetches what is lacking from debuginfod servers, for the files in most samples first, until @ms are over;
 * what was fetched is lacking no more.
 */
void hl_debug_files_fetch(struct hl_symd *symd, struct hl_cache *cache, const struct hl_files *files,
			  struct hl_debug_lacks *lacks, uint32_t ms, struct hl_debug_counts *counts);

/* Counts what is lacking in the end, and releases @lacks. */
void hl_debug_lacks_finish(struct hl_debug_lacks *lacks, const struct hl_files *files,
			   struct hl_debug_counts *counts);

#endif
