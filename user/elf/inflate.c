// SPDX-License-Identifier: BSD-2-Clause
#include "elf/inflate.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "elf/elf.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
	CHUNK = 64 * 1024,
	/* The most that a byte of each can stand for: deflate's limit is 1032; zstd's blocks of 128 KiB that
	   repeat one byte take four. */
	ZLIB_RATIO = 1032,
	ZSTD_RATIO = 128 * 1024 / 4,
	SLACK = 4096,
};

enum method { PLAIN, ZLIB, ZSTD };

/* How a section is stored. */
struct layout {
	enum method method;
	uint64_t size;           /* inflated */
	uint64_t offset, stored; /* of the bytes in the file */
};

const struct hl_elf_section *hl_elf_debug_section(const struct hl_elf *elf, const char *name)
{
	const struct hl_elf_section *section;
	char full[64];

	(void)snprintf(full, sizeof(full), ".debug_%s", name);
	section = hl_elf_section_named(elf, full);
	if (section)
		return section;
	(void)snprintf(full, sizeof(full), ".zdebug_%s", name);
	return hl_elf_section_named(elf, full);
}

static int damaged(const struct hl_elf *elf, const struct hl_elf_section *section, const char *what,
		   struct hl_err *err)
{
	return hl_err_set(err, -EBADMSG, "'%s': section '%.64s' %s", hl_elf_name(elf), section->name, what);
}

static int read_gabi_header(const struct hl_elf *elf, const struct hl_elf_section *section,
			    struct layout *ret, struct hl_err *err)
{
	bool is_64 = hl_elf_is_64(elf);
	size_t len = is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uint8_t bytes[sizeof(Elf64_Chdr)];
	struct hl_cursor c;
	uint32_t type;

	if (section->size < len || hl_elf_read(elf, section->offset, bytes, len) < 0)
		return damaged(elf, section, "has no whole compression header", err);
	c = hl_cursor_of(bytes, len, section->name);
	type = hl_cursor_u32(&c);
	if (is_64)
		hl_cursor_skip(&c, 4); /* ch_reserved */
	ret->size = hl_cursor_word(&c, is_64);
	ret->offset = section->offset + len;
	ret->stored = section->size - len;
	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return hl_err_set(err, -EOPNOTSUPP, "'%s': section '%.64s' is compressed by method %u",
				  hl_elf_name(elf), section->name, type);
	ret->method = type == ELFCOMPRESS_ZLIB ? ZLIB : ZSTD;
	return 0;
}

static int read_gnu_header(const struct hl_elf *elf, const struct hl_elf_section *section, struct layout *ret,
			   struct hl_err *err)
{
	struct {
		char magic[4];
		uint8_t size[8];
	} header;
	uint64_t size;

	if (section->size < sizeof(header) ||
	    hl_elf_read(elf, section->offset, &header, sizeof(header)) < 0 ||
	    memcmp(header.magic, "ZLIB", 4) != 0)
		return damaged(elf, section, "has no whole compression header", err);
	memcpy(&size, header.size, sizeof(size));
	*ret = (struct layout){ .method = ZLIB,
				.size = be64toh(size),
				.offset = section->offset + sizeof(header),
				.stored = section->size - sizeof(header) };
	return 0;
}

static int read_layout(const struct hl_elf *elf, const struct hl_elf_section *section, size_t limit,
		       struct layout *ret, struct hl_err *err)
{
	uint64_t file_size = hl_elf_size(elf);
	int r = 0;

	*ret = (struct layout){ .size = section->size, .offset = section->offset, .stored = section->size };
	if (section->offset > file_size || section->size > file_size - section->offset)
		return damaged(elf, section, "lies past the end of the file", err);
	if (section->flags & SHF_COMPRESSED)
		r = read_gabi_header(elf, section, ret, err);
	else if (strncmp(section->name, ".zdebug_", 8) == 0)
		r = read_gnu_header(elf, section, ret, err);
	if (r < 0)
		return r;
	if (ret->size > limit)
		return hl_err_set(err, -E2BIG, "'%s': section '%.64s' is longer than %zu bytes",
				  hl_elf_name(elf), section->name, limit);
	if (ret->method != PLAIN &&
	    ret->size / (ret->method == ZLIB ? ZLIB_RATIO : ZSTD_RATIO) > ret->stored + SLACK)
		return damaged(elf, section, "cannot be as long as it says", err);
	return 0;
}

/* The compressed bytes, a piece at a time. */
struct source {
	const struct hl_elf *elf;
	uint64_t offset, left;
	uint8_t *bytes; /* CHUNK */
};

/* The next piece: its length, 0 at the end, or -errno. */
static long next_piece(struct source *s)
{
	size_t want = s->left < CHUNK ? (size_t)s->left : CHUNK;
	int r = hl_elf_read(s->elf, s->offset, s->bytes, want);

	if (r < 0)
		return r;
	s->offset += want;
	s->left -= want;
	return (long)want;
}

/* Fills @out exactly. -EBADMSG if there are fewer bytes or more. */
static int inflate_zlib(struct source *s, uint8_t *out, size_t len)
{
	z_stream z = { 0 };
	size_t done = 0;
	uint8_t extra = 0;
	long n = 0;
	int r = inflateInit(&z) == Z_OK ? Z_OK : Z_MEM_ERROR;

	if (r != Z_OK)
		return -ENOMEM;
	while (r == Z_OK) {
		/* zlib counts in 32 bits; behind the last byte only the end of the stream may follow. */
		size_t room = len - done < 1 << 30 ? len - done : 1 << 30, before;

		if (z.avail_in == 0) {
			n = next_piece(s);
			if (n <= 0)
				break;
			z.next_in = s->bytes;
			z.avail_in = (uInt)n;
		}
		z.next_out = room ? out + done : &extra;
		z.avail_out = room ? (uInt)room : 1;
		before = z.avail_out;
		r = inflate(&z, Z_NO_FLUSH);
		if (!room && z.avail_out == 0)
			r = Z_BUF_ERROR;
		done += room ? before - z.avail_out : 0;
	}
	(void)inflateEnd(&z);
	if (n < 0 || r == Z_MEM_ERROR)
		return n < 0 ? (int)n : -ENOMEM;
	return r == Z_STREAM_END && done == len ? 0 : -EBADMSG;
}

static int inflate_zstd(struct source *s, uint8_t *out, size_t len)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_outBuffer to = { out, len, 0 };
	ZSTD_inBuffer from = { s->bytes, 0, 0 };
	size_t left = 1, before;
	long n = 0;

	if (!z)
		return -ENOMEM;
	for (;;) {
		if (from.pos == from.size) {
			n = next_piece(s);
			if (n <= 0)
				break;
			from = (ZSTD_inBuffer){ s->bytes, (size_t)n, 0 };
		}
		before = from.pos + to.pos;
		left = ZSTD_decompressStream(z, &to, &from);
		/* No progress: there is no room for what follows. */
		if (ZSTD_isError(left) || from.pos + to.pos == before)
			break;
	}
	(void)ZSTD_freeDStream(z);
	if (n < 0)
		return (int)n;
	return left == 0 && to.pos == len && from.pos == from.size ? 0 : -EBADMSG;
}

int hl_elf_inflate(const struct hl_elf *elf, const struct hl_elf_section *section, size_t limit,
		   uint8_t **ret, size_t *ret_len, struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL, *piece = NULL;
	struct source source = { .elf = elf };
	struct layout layout;
	int r = read_layout(elf, section, limit, &layout, err);

	if (r < 0)
		return r;
	if (layout.method == PLAIN)
		return hl_elf_load(elf, section, limit, ret, ret_len, err);
	bytes = malloc((size_t)layout.size + 1);
	source.bytes = piece = malloc(CHUNK);
	if (!bytes || !piece)
		return hl_err_errno(err, -ENOMEM, "'%s': section '%.64s'", hl_elf_name(elf), section->name);
	source.offset = layout.offset;
	source.left = layout.stored;
	r = layout.method == ZLIB ? inflate_zlib(&source, bytes, (size_t)layout.size)
				  : inflate_zstd(&source, bytes, (size_t)layout.size);
	if (r == -EBADMSG)
		return damaged(elf, section, "is damaged, or not as long as it says", err);
	if (r < 0)
		return hl_err_errno(err, r, "'%s': cannot inflate section '%.64s'", hl_elf_name(elf),
				    section->name);
	bytes[layout.size] = 0;
	*ret = TAKE_PTR(bytes);
	*ret_len = (size_t)layout.size;
	return 0;
}
