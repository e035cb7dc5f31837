/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_KERNEL_H
#define HL_PROCESS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

struct hl_reach;

#define HL_KERNEL_BUILD_ID_MAX 64

/* The build-id of the running kernel, from kernel/notes below @sys (a directory descriptor). Its length; 0: none. */
size_t hl_kernel_build_id(int sys, uint8_t ret[HL_KERNEL_BUILD_ID_MAX]);

/*
 * Opens the kernel's file with debug information below @root: by its build-id, see hl_debug_file_open(), then where
 * distributions and builds put that of @release (uname -r). A descriptor, the caller's, of a regular file, or
 * -ENOENT. @skip of the places that are there are passed over.
 */
int hl_kernel_debug_open(struct hl_reach *reach, int root, const char *release, const uint8_t *build_id,
			 size_t len, unsigned int skip);

#endif
