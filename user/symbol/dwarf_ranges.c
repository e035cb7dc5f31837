// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/dwarf.h"

#include <errno.h>

#include "base/cursor.h"
#include "symbol/dwarf_names.h"

/* A list of ranges while it is read. */
struct list {
	const struct hl_dwarf_unit *unit;
	struct hl_dwarf *dwarf;
	uint64_t base; /* what offsets are relative to */
	hl_dwarf_range_fn each;
	void *ctx;
};

static const struct hl_dwarf_unit *with_addresses(const struct hl_dwarf_unit *unit)
{
	return unit->skeleton ? unit->skeleton : unit;
}

static int hand_on(struct list *list, uint64_t start, uint64_t end)
{
	return start < end ? list->each(list->ctx, start, end) : 0;
}

/* DWARF 2 to 4: pairs of addresses in .debug_ranges (DWARF 4, 2.17.3), always in the main file. */
static int read_pairs(struct list *list, uint64_t offset)
{
	const struct hl_dwarf_unit *unit = list->unit;
	struct hl_cursor c = hl_dwarf_cursor(with_addresses(unit)->file, HL_DWARF_RANGES);
	bool wide = unit->address_size == 8;
	uint64_t start, end, selects = wide ? UINT64_MAX : UINT32_MAX;
	int r = 0;

	if (unit->skeleton)
		offset += unit->skeleton->ranges_base;
	hl_cursor_seek(&c, (size_t)offset);
	while (r == 0) {
		start = hl_cursor_word(&c, wide);
		end = hl_cursor_word(&c, wide);
		if (c.failed || (start == 0 && end == 0))
			break;
		if (start == selects)
			list->base = end;
		else
			r = hand_on(list, list->base + start, list->base + end);
		if (r == 0)
			r = hl_dwarf_tick(list->dwarf, 1);
	}
	return r;
}

/* One entry of a DWARF 5 list (2.17.3): 1 if it was the last one or is damaged. */
static int read_entry(struct list *list, struct hl_cursor *c)
{
	const struct hl_dwarf_unit *unit = list->unit;
	bool wide = unit->address_size == 8, known = true;
	uint64_t start = 0, end = 0;
	uint8_t kind = hl_cursor_u8(c);

	switch (c->failed ? DW_RLE_end_of_list : kind) {
	case DW_RLE_base_addressx:
		known = hl_dwarf_indexed_address(unit, hl_cursor_uleb(c), &list->base);
		break;
	case DW_RLE_base_address:
		list->base = hl_cursor_word(c, wide);
		break;
	case DW_RLE_startx_endx:
		known = hl_dwarf_indexed_address(unit, hl_cursor_uleb(c), &start) &&
			hl_dwarf_indexed_address(unit, hl_cursor_uleb(c), &end);
		break;
	case DW_RLE_startx_length:
		known = hl_dwarf_indexed_address(unit, hl_cursor_uleb(c), &start);
		end = start + hl_cursor_uleb(c);
		break;
	case DW_RLE_offset_pair:
		start = list->base + hl_cursor_uleb(c);
		end = list->base + hl_cursor_uleb(c);
		break;
	case DW_RLE_start_end:
		start = hl_cursor_word(c, wide);
		end = hl_cursor_word(c, wide);
		break;
	case DW_RLE_start_length:
		start = hl_cursor_word(c, wide);
		end = start + hl_cursor_uleb(c);
		break;
	default:
		return 1;
	}
	return c->failed || !known ? 1 : hand_on(list, start, end);
}

static int read_list(struct list *list, uint64_t offset)
{
	struct hl_cursor c = hl_dwarf_cursor(list->unit->file, HL_DWARF_RNGLISTS);
	int r = 0;

	hl_cursor_seek(&c, (size_t)offset);
	while (r == 0) {
		r = read_entry(list, &c);
		if (r == 0)
			r = hl_dwarf_tick(list->dwarf, 1);
	}
	return r == 1 ? 0 : r;
}

/* Where list number @index begins: an offset from the base, in a table that stands at the base. */
static bool list_offset(const struct hl_dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
	struct hl_cursor c = hl_dwarf_cursor(unit->file, HL_DWARF_RNGLISTS);
	uint64_t at;

	if (__builtin_mul_overflow(index, (uint64_t)unit->offset_size, &at) ||
	    __builtin_add_overflow(at, unit->rnglists_base, &at))
		return false;
	hl_cursor_seek(&c, (size_t)at);
	*ret = unit->rnglists_base + hl_cursor_word(&c, unit->offset_size == 8);
	return !c.failed;
}

int hl_dwarf_ranges(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *low_pc,
		    const struct hl_dwarf_value *high_pc, const struct hl_dwarf_value *ranges,
		    hl_dwarf_range_fn each, void *ctx)
{
	struct list list = { .unit = unit,
			     .dwarf = unit->file->dwarf,
			     .base = with_addresses(unit)->low_pc,
			     .each = each,
			     .ctx = ctx };
	uint64_t start, end;

	if (ranges->form == DW_FORM_rnglistx)
		return list_offset(unit, ranges->u, &start) ? read_list(&list, start) : 0;
	if (ranges->form)
		return unit->version >= 5 ? read_list(&list, unit->list_base + ranges->u)
					  : read_pairs(&list, ranges->u);
	if (!high_pc->form || !hl_dwarf_address(unit, low_pc, &start))
		return 0;
	/* A constant is a length (DWARF 4, 2.17.2). */
	if (!hl_dwarf_address(unit, high_pc, &end))
		end = start + high_pc->u;
	return hand_on(&list, start, end);
}
