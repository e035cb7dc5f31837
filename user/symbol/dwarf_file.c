// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/hash.h"
#include "elf/elf.h"
#include "elf/inflate.h"
#include "symbol/dwarf_names.h"

enum {
	MAX_UNITS = 16 << 20,
	MAX_SPECS = 32 << 20, /* far more than any linker has made yet */
	WORK_BETWEEN_CHECKS = 1 << 18,
};

HL_DEFINE_CLEANUP(struct hl_dwarf_file, hl_dwarf_file_free)

int hl_dwarf_tick(struct hl_dwarf *dwarf, uint64_t work)
{
	dwarf->work += work;
	if (dwarf->work - dwarf->checked < WORK_BETWEEN_CHECKS)
		return 0;
	dwarf->checked = dwarf->work;
	return hl_monotonic_ns() < dwarf->deadline_ns ? 0 : -ETIME;
}

static const struct hl_elf_section *find_section(const struct hl_elf *elf, bool is_dwo, int number)
{
	static const char *const names[HL_DWARF_SECTIONS] = {
		"info", "abbrev", "line", "str", "line_str", "ranges", "rnglists", "addr", "str_offsets",
	};
	char name[32];

	(void)snprintf(name, sizeof(name), "%s%s", names[number], is_dwo ? ".dwo" : "");
	return hl_elf_debug_section(elf, name);
}

int hl_dwarf_file_load(struct hl_dwarf *dwarf, const struct hl_elf *elf, bool is_dwo, uint32_t sections,
		       struct hl_dwarf_file **ret, struct hl_err *err)
{
	_cleanup_(hl_dwarf_file_freep) struct hl_dwarf_file *file = calloc(1, sizeof(*file));
	const struct hl_elf_section *section;
	int r;

	if (!file)
		return -ENOMEM;
	file->dwarf = dwarf;
	file->is_dwo = is_dwo;
	/* So that the first attribute of an abbreviation without any has an address too. */
	if (hl_grow(&file->abbrevs, &file->cap_abbrevs, 1, sizeof(*file->abbrevs), MAX_SPECS) < 0 ||
	    hl_grow(&file->specs, &file->cap_specs, 1, sizeof(*file->specs), MAX_SPECS) < 0)
		return -ENOMEM;
	for (int i = 0; i < HL_DWARF_SECTIONS; i++) {
		section = sections & 1u << i ? find_section(elf, is_dwo, i) : NULL;
		if (!section)
			continue;
		r = hl_elf_inflate(elf, section, dwarf->memory_left, &file->sections[i].data,
				   &file->sections[i].len, err);
		if (r < 0)
			return r;
		dwarf->memory_left -= file->sections[i].len;
	}
	r = is_dwo ? hl_dwarf_package_read(file, elf, err) : 0;
	if (r == -EBADMSG)
		file->sections[HL_DWARF_INFO].len = 0;
	else if (r < 0)
		return r;
	*ret = TAKE_PTR(file);
	return 0;
}

void hl_dwarf_file_free(struct hl_dwarf_file *file)
{
	if (!file)
		return;
	for (int i = 0; i < HL_DWARF_SECTIONS; i++)
		free(file->sections[i].data);
	free(file->parts);
	free(file->units);
	free(file->tables);
	free(file->abbrevs);
	free(file->specs);
	hl_index_done(&file->table_index);
	free(file);
}

struct hl_cursor hl_dwarf_cursor(const struct hl_dwarf_file *file, enum hl_dwarf_section section)
{
	const uint8_t *data = file->sections[section].data;

	return hl_cursor_of(data ? (const void *)data : "", file->sections[section].len, "debug information");
}

struct hl_cursor hl_dwarf_unit_cursor(const struct hl_dwarf_unit *unit, uint64_t offset)
{
	struct hl_cursor c = hl_cursor_of(unit->file->sections[HL_DWARF_INFO].data, (size_t)unit->end,
					  "a unit of debug information");

	hl_cursor_seek(&c, (size_t)offset);
	return c;
}

/* Reads a unit's header (7.5.1) at @c. False if what follows cannot be found either. */
static bool read_header(struct hl_cursor *c, struct hl_dwarf_unit *ret)
{
	uint64_t length;

	ret->offset = c->pos;
	length = hl_cursor_u32(c);
	ret->offset_size = 4;
	if (length == 0xffffffff) {
		ret->offset_size = 8;
		length = hl_cursor_u64(c);
	}
	if (c->failed || length > hl_cursor_left(c))
		return false;
	ret->end = c->pos + length;
	ret->version = hl_cursor_u16(c);
	ret->type = DW_UT_compile;
	if (ret->version >= 5) {
		ret->type = hl_cursor_u8(c);
		ret->address_size = hl_cursor_u8(c);
		ret->abbrev_offset = hl_cursor_word(c, ret->offset_size == 8);
	} else {
		ret->abbrev_offset = hl_cursor_word(c, ret->offset_size == 8);
		ret->address_size = hl_cursor_u8(c);
	}
	if (ret->type == DW_UT_skeleton || ret->type == DW_UT_split_compile) {
		ret->dwo_id = hl_cursor_u64(c);
		ret->has_dwo_id = true;
	}
	ret->die = c->pos;
	ret->abbrevs = UINT32_MAX;
	return !c->failed && ret->die <= ret->end;
}

/* Units of types, and of versions and machines that we do not read, have no code for us. */
static bool is_known(const struct hl_dwarf_unit *unit)
{
	return unit->version >= 2 && unit->version <= 5 && unit->type != DW_UT_type &&
	       unit->type != DW_UT_split_type && (unit->address_size == 8 || unit->address_size == 4);
}

/* Notes what the first DIE says of the whole unit. */
static void note_root(struct hl_dwarf_unit *unit, uint16_t name, const struct hl_dwarf_value *value,
		      struct hl_dwarf_value *strings)
{
	switch (name) {
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = value->u;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = value->u;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->u;
		break;
	case DW_AT_GNU_ranges_base:
		unit->ranges_base = value->u;
		break;
	case DW_AT_stmt_list:
		unit->stmt_list += value->u; /* in a package, it counts from the unit's part */
		unit->has_lines = true;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value->u;
		unit->has_dwo_id = true;
		break;
	case DW_AT_comp_dir:
		strings[0] = *value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		strings[1] = *value;
		break;
	case DW_AT_low_pc:
		strings[2] = *value;
		break;
	default:
		break;
	}
}

/*
 * In a .dwo file nobody says where the tables begin: behind the first header (7.26, 7.28), of the unit's own part in
 * a package.
 */
static void set_bases(struct hl_dwarf_unit *unit)
{
	const struct hl_dwarf_parts *parts = hl_dwarf_parts_at(unit->file, unit->offset);
	bool has_headers = unit->version >= 5;

	if (has_headers) {
		unit->str_offsets_base = unit->offset_size == 8 ? 16 : 8;
		unit->rnglists_base = unit->offset_size == 8 ? 20 : 12;
	}
	if (!parts)
		return;
	unit->abbrev_offset += parts->abbrev;
	unit->str_offsets_base += parts->str_offsets;
	unit->rnglists_base += parts->rnglists;
	unit->stmt_list = parts->line;
	unit->info_base = parts->info;
	unit->list_base = parts->rnglists;
}

/* Reads the first DIE. What is damaged leaves the unit without a tag. 0, -ENOMEM, -E2BIG, -ETIME. */
static int read_root(struct hl_dwarf_unit *unit)
{
	struct hl_dwarf_value value, later[3] = { { 0 } };
	struct hl_cursor c = hl_dwarf_unit_cursor(unit, unit->die);
	const struct hl_dwarf_abbrev *abbrev;
	const struct hl_dwarf_spec *spec;
	int r;

	if (unit->file->is_dwo)
		set_bases(unit);
	r = hl_dwarf_load_abbrevs(unit);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	abbrev = hl_dwarf_abbrev(unit, hl_cursor_uleb(&c));
	if (!abbrev)
		return 0;
	spec = &unit->file->specs[abbrev->first];
	for (uint32_t i = 0; i < abbrev->n; i++) {
		hl_dwarf_read_value(&c, unit, spec[i].form, spec[i].value, &value);
		if (c.failed)
			return 0;
		note_root(unit, spec[i].name, &value, later);
	}
	/* These may need a base that stands behind them. */
	unit->comp_dir = hl_dwarf_string(unit, &later[0]);
	unit->dwo_name = hl_dwarf_string(unit, &later[1]);
	(void)hl_dwarf_address(unit, &later[2], &unit->low_pc);
	unit->tag = abbrev->tag;
	return 0;
}

int hl_dwarf_read_units(struct hl_dwarf_file *file)
{
	struct hl_cursor c = hl_dwarf_cursor(file, HL_DWARF_INFO);
	struct hl_dwarf_unit *unit;
	int r = 0;

	while (r == 0 && hl_cursor_left(&c) > 0) {
		r = hl_grow(&file->units, &file->cap_units, file->n_units + 1, sizeof(*file->units),
			    MAX_UNITS);
		if (r < 0)
			return r;
		unit = &file->units[file->n_units];
		*unit = (struct hl_dwarf_unit){ .file = file };
		if (!read_header(&c, unit))
			break;
		if (is_known(unit)) {
			r = read_root(unit);
			file->n_units++;
		}
		if (r == 0)
			r = hl_dwarf_tick(file->dwarf, 64);
		hl_cursor_seek(&c, (size_t)unit->end);
	}
	return r;
}

struct hl_dwarf_unit *hl_dwarf_unit_at(const struct hl_dwarf_file *file, uint64_t offset)
{
	size_t low = 0, high = file->n_units, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (file->units[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < file->n_units && offset >= file->units[low].die ? &file->units[low] : NULL;
}

/* ---- abbreviations --------------------------------------------------------------------------------- */

/* Counts a form's bytes in @abbrev, or marks that it has no fixed number of them. */
static void count_bytes(struct hl_dwarf_abbrev *abbrev, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		abbrev->fixed += 1;
		return;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		abbrev->fixed += 2;
		return;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		abbrev->fixed += 4;
		return;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
		abbrev->fixed += 8;
		return;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		if (++abbrev->n_offsets == UINT8_MAX)
			abbrev->is_fixed = false;
		return;
	case DW_FORM_addr:
		if (++abbrev->n_addresses == UINT8_MAX)
			abbrev->is_fixed = false;
		return;
	default:
		abbrev->is_fixed = false;
	}
}

/* Reads the attributes of one abbreviation. */
static int read_specs(struct hl_dwarf_file *file, struct hl_cursor *c, struct hl_dwarf_abbrev *abbrev)
{
	uint64_t name, form;
	int64_t value;
	int r;

	abbrev->first = (uint32_t)file->n_specs;
	abbrev->is_fixed = true;
	for (;;) {
		name = hl_cursor_uleb(c);
		form = hl_cursor_uleb(c);
		value = form == DW_FORM_implicit_const ? hl_cursor_sleb(c) : 0;
		if (c->failed || name > UINT16_MAX || form > UINT16_MAX)
			return -EBADMSG;
		if (name == 0 && form == 0)
			break;
		r = hl_grow(&file->specs, &file->cap_specs, file->n_specs + 1, sizeof(*file->specs),
			    MAX_SPECS);
		if (r < 0)
			return r;
		file->specs[file->n_specs++] =
			(struct hl_dwarf_spec){ (uint16_t)name, (uint16_t)form, (int32_t)value };
		count_bytes(abbrev, (uint16_t)form);
	}
	abbrev->n = (uint32_t)file->n_specs - abbrev->first;
	return hl_dwarf_tick(file->dwarf, abbrev->n + 1);
}

static int by_code(const void *a, const void *b)
{
	const struct hl_dwarf_abbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

static int read_table(struct hl_dwarf_file *file, uint64_t offset, struct hl_dwarf_abbrevs *ret)
{
	struct hl_cursor c = hl_dwarf_cursor(file, HL_DWARF_ABBREV);
	bool ascending = true;
	uint64_t last = 0;
	int r = 0;

	*ret = (struct hl_dwarf_abbrevs){ .offset = offset, .first = (uint32_t)file->n_abbrevs };
	hl_cursor_seek(&c, offset < SIZE_MAX ? (size_t)offset : SIZE_MAX);
	while (r == 0) {
		struct hl_dwarf_abbrev abbrev = { .code = hl_cursor_uleb(&c) };

		if (c.failed)
			return -EBADMSG;
		if (abbrev.code == 0)
			break;
		abbrev.tag = (uint16_t)hl_cursor_uleb(&c);
		abbrev.children = hl_cursor_u8(&c) != 0;
		r = hl_grow(&file->abbrevs, &file->cap_abbrevs, file->n_abbrevs + 1, sizeof(*file->abbrevs),
			    MAX_SPECS);
		if (r == 0)
			r = read_specs(file, &c, &abbrev);
		if (r < 0)
			return r;
		ascending = ascending && abbrev.code > last;
		last = abbrev.code;
		file->abbrevs[file->n_abbrevs++] = abbrev;
	}
	ret->n = (uint32_t)file->n_abbrevs - ret->first;
	if (!ascending)
		qsort(file->abbrevs + ret->first, ret->n, sizeof(*file->abbrevs), by_code);
	return r;
}

static int same_offset(const void *ctx, uint32_t position)
{
	const struct hl_dwarf_unit *unit = ctx;

	return unit->file->tables[position].offset == unit->abbrev_offset;
}

int hl_dwarf_load_abbrevs(struct hl_dwarf_unit *unit)
{
	struct hl_dwarf_file *file = unit->file;
	uint64_t hash = hl_hash(&unit->abbrev_offset, sizeof(unit->abbrev_offset), 0);
	uint32_t found = unit->abbrevs;
	int r;

	if (found != UINT32_MAX)
		return 0;
	found = hl_index_find(&file->table_index, hash, same_offset, unit);
	if (found == HL_INDEX_NONE) {
		found = (uint32_t)file->n_tables;
		r = hl_grow(&file->tables, &file->cap_tables, file->n_tables + 1, sizeof(*file->tables),
			    UINT32_MAX - 1);
		if (r == 0)
			r = read_table(file, unit->abbrev_offset, &file->tables[found]);
		if (r == 0)
			r = hl_index_add(&file->table_index, hash, found);
		if (r < 0)
			return r;
		file->n_tables++;
	}
	unit->abbrevs = found;
	return 0;
}

const struct hl_dwarf_abbrev *hl_dwarf_abbrev(const struct hl_dwarf_unit *unit, uint64_t code)
{
	const struct hl_dwarf_abbrevs *table;
	const struct hl_dwarf_abbrev *items;
	size_t low = 0, high, middle;

	if (unit->abbrevs == UINT32_MAX || code == 0)
		return NULL;
	table = &unit->file->tables[unit->abbrevs];
	items = &unit->file->abbrevs[table->first];
	/* Nearly always they are numbered 1, 2, … */
	if (code <= table->n && items[code - 1].code == code)
		return &items[code - 1];
	high = table->n;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (items[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->n && items[low].code == code ? &items[low] : NULL;
}
