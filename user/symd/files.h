/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_FILES_H
#define HL_SYMD_FILES_H

/* The files that the server knows, by number; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_err;
struct hl_symbols;
struct hl_symd_extent;
struct hl_symd_file;

/* A known file, or its debug file. */
struct hl_symd_known {
	struct hl_elf *elf, *debug; /* debug: NULL if none was given */
	struct hl_symbols *symbols; /* NULL: they are still to come */
	void *map;                  /* what they lie in, if they were made before; else NULL */
	size_t map_len;
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
/* As these two, of files that are not read: names come by the next. */
int hl_symd_files_add_unread(struct hl_symd_files *files, uint32_t number, int fd, bool is_debug,
			     struct hl_err *err);
/* Gives file @number what stands at @extent of the file at @fd. -EBADMSG: it is damaged. */
int hl_symd_files_add_names(struct hl_symd_files *files, uint32_t number, int fd,
			    const struct hl_symd_extent *extent, struct hl_symd_file *ret,
			    struct hl_err *err);
/* Names are still to come. */
void hl_symd_known_drop_symbols(struct hl_symd_known *known);
/* Reads the headers of the file and its debug file, where that was left. */
int hl_symd_known_read(struct hl_symd_known *known, struct hl_err *err);
/* Closes what was given for a table of lines. */
void hl_symd_files_drop_pending(struct hl_symd_files *files, struct hl_symd_known *known);
void hl_symd_files_drop(struct hl_symd_files *files, uint32_t number);

#endif
