/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_IO_H
#define HL_BASE_IO_H

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"

/*
 * A file that is written whole or not at all: it grows under a temporary name in its directory and takes its
 * own name by rename when it is committed. Until then a file of that name stays as it was. A symbolic link
 * of that name is replaced, never followed. No fsync: after a power cut either may be there, or neither.
 *
 * Written in place are "-" (standard output), /dev/stdout, /dev/stderr, /dev/fd/N, and what is no regular
 * file: FIFOs, terminals, /dev/null.
 */
struct hl_output;

/* Such a name, as what a kill leaves has it, and how long it is. NULL: there are no random numbers. */
enum { HL_TEMPORARY_SIZE = sizeof(".hotleaf-0123456789abcdef") };
const char *hl_temporary_name(char ret[HL_TEMPORARY_SIZE]);

/* Starts writing @path. NULL with the reason in @err. Owned by the caller. */
struct hl_output *hl_output_new(const char *path, struct hl_err *err);

/* The stream to write to. It is @output's: not to be closed. Write errors may be left to the commit. */
FILE *hl_output_stream(struct hl_output *output);

/*
 * Finishes @output: from now on the file has its name. 0, or the first error that any write had, with
 * the sentence in @err; then nothing is left of it. To be followed by hl_output_free() either way.
 */
int hl_output_commit(struct hl_output *output, struct hl_err *err);

/* Frees @output; if it was not committed, what was written is removed. */
void hl_output_free(struct hl_output *output);
HL_DEFINE_CLEANUP(struct hl_output, hl_output_free)

/*
 * Reads the file @path under directory @dirfd, of at most @limit bytes and of unknown size as those of /proc
 * are. @ret is the caller's to free and NUL-terminated; @ret_len may be NULL. Nothing is waited
 * for: -EMEDIUMTYPE for a FIFO or a device. 0, -EFBIG, -ENOMEM, or as open(2) and read(2).
 */
int hl_read_file_at(int dirfd, const char *path, size_t limit, char **ret, size_t *ret_len);
/* The same of the file at @fd, from its position on. */
int hl_read_fd(int fd, size_t limit, char **ret, size_t *ret_len);

#endif
