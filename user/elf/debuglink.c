// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"

enum { CHUNK = 256 * 1024, MAX_FILE = 1 << 30 };

/* A name that, appended to a directory, stays in it. */
static bool is_base_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

bool hl_elf_debuglink(const struct hl_elf *elf, char ret_name[HL_ELF_DEBUGLINK_MAX], uint32_t *ret_crc)
{
	const struct hl_elf_section *section = hl_elf_section_named(elf, ".gnu_debuglink");
	uint8_t bytes[HL_ELF_DEBUGLINK_MAX + 8];
	struct hl_cursor c;
	const char *name;
	uint32_t crc;
	size_t pad;

	if (!section || section->size > sizeof(bytes) ||
	    hl_elf_read(elf, section->offset, bytes, (size_t)section->size) < 0)
		return false;
	c = hl_cursor_of(bytes, (size_t)section->size, section->name);
	name = hl_cursor_string(&c);
	if (!name || c.pos > HL_ELF_DEBUGLINK_MAX || !is_base_name(name))
		return false;
	/* The CRC stands at a multiple of four, but some tools write it right behind the name. */
	pad = -c.pos & 3;
	if (hl_cursor_left(&c) >= pad + 4)
		hl_cursor_skip(&c, pad);
	crc = hl_cursor_u32(&c);
	if (c.failed)
		return false;
	strcpy(ret_name, name);
	*ret_crc = crc;
	return true;
}

int hl_elf_crc(const struct hl_elf *elf, uint32_t *ret, struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	uint64_t offset = 0;
	uLong crc = crc32(0, NULL, 0);
	long n;

	if (!bytes)
		return hl_err_errno(err, -ENOMEM, "'%s'", hl_elf_name(elf));
	if (hl_elf_size(elf) > MAX_FILE)
		return hl_err_set(err, -E2BIG, "'%s' is too large for a check by CRC", hl_elf_name(elf));
	do {
		n = hl_elf_read_some(elf, offset, bytes, CHUNK);
		if (n < 0)
			return hl_err_errno(err, (int)n, "'%s'", hl_elf_name(elf));
		crc = crc32(crc, bytes, (uInt)n);
		offset += (uint64_t)n;
	} while (n > 0 && offset <= MAX_FILE);
	*ret = (uint32_t)crc;
	return 0;
}
