/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_ENTRY_H
#define HL_SYMD_CLIENT_ENTRY_H

/* One file of the cache: a header that says what it is, and bytes; private to this folder. */

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Bytes in front of what is kept, a multiple of 8. */
enum { HL_ENTRY_HEADER = 72 };

/* What a file must be to be believed. */
struct hl_entry_key {
	uint32_t kind;
	uint8_t id[16];
	struct hl_id program;
};

/* Which program this is: another one may make another table of the same file. */
struct hl_id hl_entry_program(void);

/*
 * Reads the file at @fd whole, header and all, to be released with free(); @ret_len bytes stand behind its header.
 * -EBADMSG: it is not what hl_entry_write() wrote for @key; -ESTALE: another program wrote it; or as
 * hl_read_fd().
 */
int hl_entry_read(int fd, const struct hl_entry_key *key, uint8_t **ret, size_t *ret_len);
/* Writes file @name in @dir, whole or not at all. 0 or -errno. */
int hl_entry_write(const char *dir, const char *name, const struct hl_entry_key *key, const void *bytes,
		   size_t len);

#endif
