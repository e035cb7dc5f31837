/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_SQLITE_H
#define HL_PROCESS_SQLITE_H

#include <stddef.h>

struct hl_reach;

/*
 * Looks a text up in an SQLite database that others write to, as podman does from 4.8 on: the first column of the
 * row that @sql, a SELECT, gives for @key. The file at @path below @root_fd, and what stands beside it, are read
 * only: nothing is made, and no lock is taken, since who writes would wait for it. What changes meanwhile is read
 * again. @ret is at most @limit bytes, NUL-terminated and the caller's to free.
 *
 * 0; -ENOENT: there is no such file or row; -EBADMSG: damaged, or not what @sql asks for; -EFBIG: the text, or the
 * log beside the file, is too large; -EAGAIN: it changes all the time; -ENOMEM; or as hl_reach_open_in_root().
 */
int hl_sqlite_get(struct hl_reach *reach, int root_fd, const char *path, const char *sql, const char *key,
		  size_t limit, char **ret, size_t *ret_len);

#endif
