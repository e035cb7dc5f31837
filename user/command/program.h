/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_PROGRAM_H
#define HL_COMMAND_PROGRAM_H

#include <stddef.h>

/*
 * Maps the beginning of the program that execvp(@name) would run as code, so that it is among the files that
 * run, and has its unwind table, before it does: of a script, its interpreter. NULL where that is not to be
 * told: then it has its table a little later. To be released with munmap() of @ret_len bytes.
 */
void *hl_program_map(const char *name, size_t *ret_len);

#endif
