/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_CACHED_H
#define HL_SYMD_CLIENT_CACHED_H

#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

struct hl_cache;
struct hl_err;
struct hl_symd;

/* What symd makes of files, or what it made of the same content before. @cache NULL: it is made. */

/* As hl_symd_unwind(). That a file has no table is kept too. */
int hl_symd_unwind_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd, uint8_t **ret,
			  size_t *ret_len, struct hl_err *err);

/* As hl_symd_add_file() and hl_symd_add_debug(). That a debug file is of another build is kept too. */
int hl_symd_add_file_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd,
			    struct hl_symd_file *ret, struct hl_err *err);
/* @about: what the one before said of @file. */
int hl_symd_add_debug_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file,
			     const struct hl_symd_file *about, int fd, struct hl_err *err);

/*
 * As hl_symd_lines() without its table. @package: the .dwp file, which symd has too, or -1. Only for files that want
 * no others besides that and their debug file, since the content of those would have to be part of the key.
 */
int hl_symd_lines_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd, int package,
			 const struct hl_symd_lines_limits *limits, struct hl_symd_lines *ret,
			 struct hl_err *err);
/*
 * The same if it was made before, by a file with that @package, which symd need not have. 0, or -ENODATA for a file
 * without debug information. Else -ENOENT.
 */
int hl_symd_restore_lines(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int package,
			  struct hl_symd_lines *ret, struct hl_err *err);

#endif
