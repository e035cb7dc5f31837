// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"

enum { MAX_NOTES = 16 * 1024, MAX_TRIED = 64 };

/* Looks for the build-id among the notes at @bytes; 0 if it is not there or is damaged. */
static size_t find_build_id(const uint8_t *bytes, size_t len, uint64_t align, uint8_t *ret)
{
	struct hl_cursor c = hl_cursor_of(bytes, len, "notes");
	uint32_t name_size, size, type;
	const uint8_t *name, *id;
	size_t mask = align == 8 ? 7 : 3;

	while (hl_cursor_left(&c) >= 12) {
		name_size = hl_cursor_u32(&c);
		size = hl_cursor_u32(&c);
		type = hl_cursor_u32(&c);
		name = hl_cursor_bytes(&c, name_size);
		hl_cursor_skip(&c, -c.pos & mask);
		id = hl_cursor_bytes(&c, size);
		if (!name || !id)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size > 0 &&
		    size <= HL_ELF_BUILD_ID_MAX) {
			memcpy(ret, id, size);
			return size;
		}
		if ((-c.pos & mask) > hl_cursor_left(&c))
			return 0;
		hl_cursor_skip(&c, -c.pos & mask);
	}
	return 0;
}

static size_t read_build_id(const struct hl_elf *elf, uint64_t offset, uint64_t size, uint64_t align,
			    uint8_t *ret)
{
	uint8_t bytes[MAX_NOTES];
	size_t len = size < MAX_NOTES ? (size_t)size : MAX_NOTES;
	long n;

	n = hl_elf_read_some(elf, offset, bytes, len);
	return n > 0 ? find_build_id(bytes, (size_t)n, align, ret) : 0;
}

size_t hl_elf_build_id(const struct hl_elf *elf, uint8_t ret[HL_ELF_BUILD_ID_MAX])
{
	const struct hl_elf_segment *segments;
	const struct hl_elf_section *sections;
	size_t n, i, len = 0, tried = 0;

	segments = hl_elf_segments(elf, &n);
	for (i = 0; i < n && len == 0 && tried < MAX_TRIED; i++)
		if (segments[i].type == PT_NOTE && ++tried)
			len = read_build_id(elf, segments[i].offset, segments[i].file_size, segments[i].align,
					    ret);
	sections = hl_elf_sections(elf, &n);
	tried = 0;
	for (i = 0; i < n && len == 0 && tried < MAX_TRIED; i++)
		if (sections[i].type == SHT_NOTE && ++tried)
			len = read_build_id(elf, sections[i].offset, sections[i].size, 4, ret);
	return len;
}
