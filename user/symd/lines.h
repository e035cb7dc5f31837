/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_LINES_H
#define HL_SYMD_LINES_H

/* The server's tables of inlined functions and lines; private to this folder. */

#include <stddef.h>

#include <hotleaf/symd.h>

struct hl_err;
struct hl_str;
struct hl_symd_files;

/* Answers ADD_ALT, ADD_DWO, LINES, WANTED and ADD_LINES of include/hotleaf/symd.h. 0 or -errno. */
int hl_symd_lines_handle(struct hl_symd_files *files, const struct hl_symd_request *request,
			 const void *payload, size_t len, int fd, struct hl_str *ret_payload,
			 struct hl_err *err);

#endif
