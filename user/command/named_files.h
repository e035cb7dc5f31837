/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_NAMED_FILES_H
#define HL_COMMAND_NAMED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/hash.h"
#include <hotleaf/symd.h>

/* What is known of a file whose places are named. */
struct hl_named_file {
	struct hl_id binary;
	const char *module; /* path shown, the registry's */
	bool known;         /* symd has it, and says `about` */
	bool denied;        /* symd died of it */
	uint8_t lack;       /* enum hl_lack, unless known or denied */
	struct hl_symd_file about;
};

/* A file in which a process tells names, as it was when symd was given it. */
struct hl_named_code {
	int64_t size;
	struct timespec mtime;
};

/*
 * What symd has been given, by the number of the file, and of the process and kind of code file. Files stay
 * as they are; what processes tell is given again when it has changed. Zero-initialised is empty; belongs to
 * one symd and one registry of files, and must not outlive them.
 */
struct hl_named_files {
	struct hl_named_file *items;
	struct hl_named_code *code;
	size_t n, cap, n_code, cap_code;
};

/* Makes room for file number @number. 0 or -ENOMEM. */
int hl_named_files_reach(struct hl_named_files *named, uint32_t number);
/* Whether the file at @fd, number @number of its kind, is not as it was at the last call. */
bool hl_named_files_code_changed(struct hl_named_files *named, size_t number, int fd);
void hl_named_files_done(struct hl_named_files *named);

#endif
