/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_BOLT_H
#define HL_PROCESS_BOLT_H

#include <stddef.h>

/*
 * Looks a value up in a BoltDB file (go.etcd.io/bbolt), in which podman keeps what it knows: @keys are the names
 * of buckets in each other and then the value's, @n of them. The file at @fd is read only, and no lock is taken,
 * since who writes would wait for it: what changes meanwhile is read again. @ret is at most @limit bytes,
 * NUL-terminated and the caller's to free.
 *
 * 0; -ENOENT: there is no such value; -EBADMSG: damaged, or no such file; -EFBIG: the value is larger; -EAGAIN: it
 * changes all the time; -ENOMEM; or as pread(2).
 */
int hl_bolt_get(int fd, const char *const *keys, size_t n, size_t limit, char **ret, size_t *ret_len);

#endif
