/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_FILES_H
#define HL_SYMD_FILES_H

/* The files that the server knows, by number; private to this folder. */

#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_err;
struct hl_symbols;

/* A known file, or its debug file. */
struct hl_symd_known {
	struct hl_elf *elf, *debug; /* debug: NULL if none was given */
	struct hl_symbols *symbols;
	struct hl_elf *alt, **dwos; /* given for the table below, until it is built */
	size_t n_dwos, cap_dwos;
	uint8_t *lines; /* a table of symbol/inlines.h, or NULL */
	size_t lines_len;
	uint64_t used; /* when it was last asked for, in requests */
};

/* Zero-initialised is empty. */
struct hl_symd_files {
	struct hl_symd_known **items; /* by number; NULL: unknown */
	size_t n, cap;
	size_t n_open;    /* descriptors held */
	size_t n_pending; /* of alternate and .dwo files, besides */
	uint64_t now;
};

void hl_symd_files_done(struct hl_symd_files *files);

/* File @number, marked as used, or NULL. */
struct hl_symd_known *hl_symd_files_get(struct hl_symd_files *files, uint32_t number);
/* Opens @fd as file @number, which is replaced if it is known. -ENOEXEC for another machine's. */
int hl_symd_files_add(struct hl_symd_files *files, uint32_t number, int fd, struct hl_symd_known **ret,
		      struct hl_err *err);
/* Gives file @number the debug file at @fd; -ESTALE if that is another build's. */
int hl_symd_files_add_debug(struct hl_symd_files *files, uint32_t number, int fd, struct hl_err *err);
/* Closes what was given for a table of lines. */
void hl_symd_files_drop_pending(struct hl_symd_files *files, struct hl_symd_known *known);
void hl_symd_files_drop(struct hl_symd_files *files, uint32_t number);

#endif
