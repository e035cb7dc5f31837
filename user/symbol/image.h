/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_IMAGE_H
#define HL_SYMBOL_IMAGE_H

/*
 * The table of symbol.h as it lies in memory and on disk: it holds no pointers, so that it can be kept, mapped
 * and passed on; whoever gets one checks it before use. Private to this folder.
 *
 *   header                                struct hl_image_header
 *   u32 start[n_ranges]                   ascending, relative to `base`, like all addresses here
 *   u32 name[n_ranges]                    as table.h has them
 *   u32 start[n_fdes]                     functions without a name
 *   {u32 index, size}[n_long_ranges]      of what is followed by a long gap
 *   {u32 index, size}[n_long_fdes]
 *   {u32 start, size, name}[n_pieces]
 *   u16 gap[n_ranges]                     between the end and the next start; 0xffff: look among the long ones
 *   u16 gap[n_fdes]
 *   strings                               NUL-terminated copies of names
 *
 * Numbers are little-endian. That takes 10 bytes a function; the search touches 4 of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/table.h"

struct hl_err;

#define HL_IMAGE_MAGIC   0x314d5953u /* "SYM1" */
#define HL_IMAGE_VERSION 1u
#define HL_IMAGE_LONG    0xffffu

#define HL_IMAGE_ALL_COPIED 1u /* no name is to be read from a file */

enum hl_image_file { HL_IMAGE_NO_FILE = 0, HL_IMAGE_RUNNING = 1, HL_IMAGE_DEBUG = 2 };

/* Where names stand that are not copied. */
struct hl_image_names {
	uint64_t offset;
	uint32_t size;
	uint32_t file; /* enum hl_image_file */
};

struct hl_image_header {
	uint32_t magic, version;
	uint64_t base;
	uint32_t n_ranges, n_long_ranges, n_fdes, n_long_fdes, n_pieces;
	uint32_t flags, refused;
	uint32_t strings_len;
	struct hl_image_names names[HL_NAME_SOURCES];
};

struct hl_image_long {
	uint32_t index, size;
};

struct hl_image_piece {
	uint32_t start, size, name;
};

/* Stretches that do not overlap. */
struct hl_image_spans {
	const uint32_t *starts;
	const uint16_t *gaps;
	const struct hl_image_long *longs;
	uint32_t n, n_long;
};

/* Where the parts of an image stand. */
struct hl_image {
	struct hl_image_header header;
	struct hl_image_spans ranges, fdes;
	const uint32_t *names;
	const struct hl_image_piece *pieces;
	const char *strings;
};

/* Bytes of an image with these counts. */
uint64_t hl_image_size(const struct hl_image_header *header);
/* Splits the @len bytes at @bytes, aligned to 8, whose counts add up. */
void hl_image_split(const void *bytes, struct hl_image *ret);
/* 0 if @bytes are a whole and sound image, which is split into @ret; else -EBADMSG with what is wrong. */
int hl_image_check(const void *bytes, size_t len, struct hl_image *ret, struct hl_err *err);

/* How many stretches start at or before @at: the last of them is the one that may cover it. */
uint32_t hl_image_before(const struct hl_image_spans *spans, uint32_t at);
uint32_t hl_image_size_of(const struct hl_image_spans *spans, uint32_t index);

#endif
