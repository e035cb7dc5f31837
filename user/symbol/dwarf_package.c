// SPDX-License-Identifier: BSD-2-Clause
/*
 * A package holds the .dwo files of a program, section behind section, and .debug_cu_index, which says for each
 * unit where its part of every section begins (DWARF 5, 7.3.5; GCC's wiki, "DebugFissionDWP", for version 2).
 * Offsets inside a unit count from the beginning of its parts.
 *
 *     u32 version 2, or u16 version 5 and u16 0; u32 columns, units, slots
 *     u64 id[slots], u32 row[slots]            a hash table that is not needed here: units say their ids
 *     u32 section[columns]
 *     u32 offset[units][columns], u32 size[units][columns]
 */
#include "symbol/dwarf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "elf/elf.h"
#include "elf/inflate.h"

enum { MAX_COLUMNS = 16, MAX_UNITS = 1 << 20 };

/* Section numbers; the last is version 5's. */
enum { SECT_INFO = 1, SECT_ABBREV = 3, SECT_LINE = 4, SECT_STR_OFFSETS = 6, SECT_RNGLISTS = 8 };

static void set_part(struct hl_dwarf_parts *parts, uint32_t section, uint32_t version, uint32_t offset,
		     uint32_t size)
{
	switch (section) {
	case SECT_INFO:
		parts->info = offset;
		parts->info_size = size;
		break;
	case SECT_ABBREV:
		parts->abbrev = offset;
		break;
	case SECT_LINE:
		parts->line = offset;
		break;
	case SECT_STR_OFFSETS:
		parts->str_offsets = offset;
		break;
	case SECT_RNGLISTS:
		/* In version 2 the number means something else. */
		if (version == 5)
			parts->rnglists = offset;
		break;
	default:
		break;
	}
}

static int by_info(const void *a, const void *b)
{
	const struct hl_dwarf_parts *x = a, *y = b;

	return (x->info > y->info) - (x->info < y->info);
}

/* Reads the rows of @n units at @c, behind the hash table. */
static int read_rows(struct hl_dwarf_file *file, struct hl_cursor *c, uint32_t version, uint32_t columns,
		     uint32_t n)
{
	size_t table = (size_t)columns * n * 4, offsets, sizes;
	uint32_t sections[MAX_COLUMNS];

	for (uint32_t k = 0; k < columns; k++)
		sections[k] = hl_cursor_u32(c);
	if (c->failed || hl_cursor_left(c) < 2 * table)
		return -EBADMSG;
	offsets = c->pos;
	sizes = offsets + table;
	file->parts = calloc(n, sizeof(*file->parts));
	if (!file->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < columns; k++) {
			size_t at = ((size_t)i * columns + k) * 4;
			uint32_t offset;

			hl_cursor_seek(c, offsets + at);
			offset = hl_cursor_u32(c);
			hl_cursor_seek(c, sizes + at);
			set_part(&file->parts[i], sections[k], version, offset, hl_cursor_u32(c));
		}
	file->n_parts = n;
	qsort(file->parts, n, sizeof(*file->parts), by_info);
	return hl_dwarf_tick(file->dwarf, (uint64_t)n * columns);
}

int hl_dwarf_package_read(struct hl_dwarf_file *file, const struct hl_elf *elf, struct hl_err *err)
{
	const struct hl_elf_section *section = hl_elf_debug_section(elf, "cu_index");
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t version, columns, n, slots;
	struct hl_cursor c;
	size_t len;
	int r;

	if (!section)
		return 0;
	r = hl_elf_inflate(elf, section, file->dwarf->memory_left, &bytes, &len, err);
	if (r < 0)
		return r;
	c = hl_cursor_of(bytes, len, section->name);
	version = hl_cursor_u32(&c);
	columns = hl_cursor_u32(&c);
	n = hl_cursor_u32(&c);
	slots = hl_cursor_u32(&c);
	/* A package whose index makes no sense has no units: they are missing, and counted. */
	if (c.failed || (version != 2 && version != 5) || columns > MAX_COLUMNS || n == 0 || n > MAX_UNITS)
		return -EBADMSG;
	hl_cursor_skip(&c, (size_t)slots * 12);
	return c.failed ? -EBADMSG : read_rows(file, &c, version, columns, n);
}

const struct hl_dwarf_parts *hl_dwarf_parts_at(const struct hl_dwarf_file *file, uint64_t offset)
{
	size_t low = 0, high = file->n_parts, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (file->parts[middle].info <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset - file->parts[low - 1].info < file->parts[low - 1].info_size
		       ? &file->parts[low - 1]
		       : NULL;
}
