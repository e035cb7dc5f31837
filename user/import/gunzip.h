/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_IMPORT_GUNZIP_H
#define HL_IMPORT_GUNZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Reads the file @path whole, decompressed if it is gzip (RFC 1952). At most @limit bytes come out, whatever a
 * bomb holds: -EFBIG beyond. -EBADMSG for a damaged stream, or bytes behind its end; -EINVAL for what is no
 * regular file. @ret is released with free().
 */
int hl_gunzip_file(const char *path, size_t limit, uint8_t **ret, size_t *ret_len, struct hl_err *err);

#endif
