/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_H
#define HL_SYMD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include <hotleaf/symd.h>

struct hl_symd;

/* A client and its server, owned by the caller. NULL on failure, with the reason in @err. */
struct hl_symd *hl_symd_new(struct hl_err *err);
void hl_symd_free(struct hl_symd *symd);

/*
 * Makes number @file known by the ELF file at @fd, which stays the caller's and may be closed afterwards.
 * @ret is filled on success. Returns 0 or -errno: -ENOEXEC for what is no ELF file of this machine.
 */
int hl_symd_add_file(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
		     struct hl_err *err);

/* Adds the names of the separate debug file at @fd. -ESTALE if it belongs to another build. */
int hl_symd_add_debug(struct hl_symd *symd, uint32_t file, int fd, struct hl_err *err);

/* Reads the kernel's names from @fd, an open /proc/kallsyms. -EACCES if every address in it is zero. */
int hl_symd_add_kallsyms(struct hl_symd *symd, int fd, struct hl_err *err);

/*
 * The unwind table (include/hotleaf/unwind.h) of the ELF file at @fd, which stays the caller's and is called
 * @file in sentences only. It is checked whole, and to be released with free(). -ENODATA: the file has none;
 * -E2BIG: too large a one; -ENOEXEC as for hl_symd_add_file().
 */
int hl_symd_unwind(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret, size_t *ret_len,
		   struct hl_err *err);

/*
 * Answers, checked: every offset and length lies inside @strings. Owned by the caller, zero-initialised
 * before the first use, reused from call to call, released by hl_symd_answers_done().
 */
struct hl_symd_answers {
	struct hl_symd_answer *items;
	size_t n, cap;
	char *strings;
	size_t strings_len, strings_cap;
};

/* Answers @n queries in order. Returns 0 or -errno; on failure @ret holds no answers. */
int hl_symd_resolve(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, bool intel,
		    struct hl_symd_answers *ret, struct hl_err *err);
void hl_symd_answers_done(struct hl_symd_answers *answers);

#endif
