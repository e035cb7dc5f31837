/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_INDEX_H
#define HL_RENDER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A report in a folder. Strings may hold any bytes; names of files lie in that folder. */
struct hl_index_row {
	const char *host;
	uint64_t start_ns, end_ns;
	bool known; /* what follows is; else only the files are */
	uint64_t samples, lost, due;
	const char *event, *top;  /* the instruction with most samples */
	uint64_t bytes;           /* of all its files */
	const char *const *files; /* the page first, if there is one */
	size_t n_files;
	const char *diff; /* page that compares it with the one before; NULL: there is none */
};

/* Writes a page that lists them, in their order. 0 or -ENOMEM; errors of @out are left to the caller. */
int hl_render_index(const struct hl_index_row *rows, size_t n, FILE *out);

#endif
