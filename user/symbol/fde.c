// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/elf.h"

/*
 * The bounds of functions, from the sorted table in .eh_frame_hdr (LSB core, "Exception Frames") and the
 * FDEs that it points to. Only the usual form is read: a table of (start, FDE) as 32-bit distances from the
 * header, FDEs with a 32-bit distance from the field. Where an FDE is of another form its start does not
 * agree with the table's, and it is left out.
 */

enum {
	MAX_HEADER = 64 << 20,
	MAX_FRAMES = 256 << 20,
	DW_EH_PE_UDATA4 = 0x03,
	DW_EH_PE_SDATA4 = 0x0b,
	DW_EH_PE_PCREL = 0x10,
	DW_EH_PE_DATAREL = 0x30,
};

struct frames {
	uint8_t *bytes;
	size_t len;
	uint64_t address;
};

static void frames_done(struct frames *frames)
{
	free(frames->bytes);
}

static int load_at(const struct hl_elf *elf, uint64_t offset, uint64_t len, uint64_t limit, uint8_t **ret)
{
	const struct hl_elf_section as_section = { .name = "", .offset = offset, .size = len };
	size_t got;

	return hl_elf_load(elf, &as_section, (size_t)limit, ret, &got, NULL);
}

/* Loads .eh_frame, which starts at @address: to the end of its section, or else of its segment. */
static int load_frames(const struct hl_elf *elf, uint64_t address, struct frames *ret)
{
	const struct hl_elf_section *section = hl_elf_section_named(elf, ".eh_frame");
	const struct hl_elf_segment *s;
	uint64_t len;
	size_t n, i;
	int r;

	s = hl_elf_segments(elf, &n);
	for (i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address - s[i].address < s[i].file_size)
			break;
	if (i == n)
		return -EBADMSG;
	len = s[i].file_size - (address - s[i].address);
	if (section && section->address == address && section->size < len)
		len = section->size;
	r = load_at(elf, s[i].offset + (address - s[i].address), len, MAX_FRAMES, &ret->bytes);
	if (r < 0)
		return r;
	ret->len = (size_t)len;
	ret->address = address;
	return 0;
}

/* The length of the function at @start, if the FDE at @address is its own, else 0. */
static uint32_t read_fde(const struct frames *frames, uint64_t address, uint64_t start)
{
	struct hl_cursor c = hl_cursor_of(frames->bytes, frames->len, ".eh_frame");
	uint32_t length, cie, size;
	int32_t distance;
	uint64_t field;

	if (address - frames->address >= frames->len)
		return 0;
	hl_cursor_seek(&c, (size_t)(address - frames->address));
	length = hl_cursor_u32(&c);
	cie = hl_cursor_u32(&c);
	field = frames->address + c.pos;
	distance = (int32_t)hl_cursor_u32(&c);
	size = hl_cursor_u32(&c);
	if (c.failed || length < 12 || length == UINT32_MAX || cie == 0)
		return 0;
	return field + (uint64_t)(int64_t)distance == start ? size : 0;
}

static void read_table(struct hl_builder *b, struct hl_cursor *c, uint64_t header,
		       const struct frames *frames)
{
	struct hl_symbols *s = b->out;
	const struct hl_area *area;
	uint64_t start, fde, last_end = 0;
	struct hl_fde *last;
	uint32_t size;

	while (hl_cursor_left(c) >= 8) {
		start = header + (uint64_t)(int64_t)(int32_t)hl_cursor_u32(c);
		fde = header + (uint64_t)(int64_t)(int32_t)hl_cursor_u32(c);
		size = read_fde(frames, fde, start);
		area = hl_area_find(b->areas, b->n_areas, start);
		if (size == 0 || !area || start - s->fde_base > UINT32_MAX)
			continue;
		if (size > area->end - start)
			size = (uint32_t)(area->end - start);
		if (s->n_fdes && start < last_end) {
			/* Entries ascend; one that overlaps the one before cuts it. */
			last = &s->fdes[s->n_fdes - 1];
			if (start <= s->fde_base + last->start)
				continue;
			last->size = (uint32_t)(start - s->fde_base - last->start);
		}
		last_end = start + size;
		s->fdes[s->n_fdes++] = (struct hl_fde){ (uint32_t)(start - s->fde_base), size };
	}
}

/* Reads the header's fixed part up to the table; the number of rows, 0 for another form. */
static size_t read_header(struct hl_cursor *c, uint64_t address, uint64_t *ret_frames)
{
	uint8_t version = hl_cursor_u8(c), frames = hl_cursor_u8(c), count = hl_cursor_u8(c);
	uint8_t table = hl_cursor_u8(c);
	uint64_t base = address + c->pos;
	int32_t distance = (int32_t)hl_cursor_u32(c);
	uint32_t n = hl_cursor_u32(c);

	if (c->failed || version != 1 || frames != (DW_EH_PE_PCREL | DW_EH_PE_SDATA4) ||
	    count != DW_EH_PE_UDATA4 || table != (DW_EH_PE_DATAREL | DW_EH_PE_SDATA4))
		return 0;
	*ret_frames = base + (uint64_t)(int64_t)distance;
	return n < hl_cursor_left(c) / 8 ? n : hl_cursor_left(c) / 8;
}

int hl_builder_read_fdes(struct hl_builder *b)
{
	_cleanup_free_ uint8_t *header = NULL;
	_cleanup_(frames_done) struct frames frames = { 0 };
	const struct hl_elf_segment *s;
	struct hl_cursor c;
	uint64_t address;
	size_t n, i;
	int r;

	s = hl_elf_segments(b->elf, &n);
	for (i = 0; i < n && s[i].type != PT_GNU_EH_FRAME; i++)
		;
	if (i == n || b->n_areas == 0)
		return 0;
	r = load_at(b->elf, s[i].offset, s[i].file_size, MAX_HEADER, &header);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	c = hl_cursor_of(header, (size_t)s[i].file_size, ".eh_frame_hdr");
	n = read_header(&c, s[i].address, &address);
	if (n == 0)
		return 0;
	r = load_frames(b->elf, address, &frames);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	b->out->fdes = malloc(n * sizeof(*b->out->fdes));
	if (!b->out->fdes)
		return -ENOMEM;
	b->out->fde_base = b->areas[0].start;
	c.len = c.pos + n * 8;
	read_table(b, &c, s[i].address, &frames);
	return 0;
}

bool hl_symbols_find_fde(const struct hl_symbols *s, uint64_t address, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t low = 0, high = s->n_fdes, mid;
	uint64_t at = address - s->fde_base;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->fdes[mid].start <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || address < s->fde_base || at - s->fdes[low - 1].start >= s->fdes[low - 1].size)
		return false;
	*ret_start = s->fde_base + s->fdes[low - 1].start;
	*ret_end = *ret_start + s->fdes[low - 1].size;
	return true;
}
