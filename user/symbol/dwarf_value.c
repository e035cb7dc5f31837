// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/dwarf.h"

#include <errno.h>

#include "base/cursor.h"
#include "symbol/dwarf_names.h"

static uint64_t read_u24(struct hl_cursor *c)
{
	uint64_t low = hl_cursor_u16(c);

	return low | (uint64_t)hl_cursor_u8(c) << 16;
}

static void skip_block(struct hl_cursor *c, uint64_t len)
{
	hl_cursor_skip(c, len < SIZE_MAX ? (size_t)len : SIZE_MAX);
}

/* The form that stands in front of an indirect value. Once: one that is indirect again is damaged. */
static uint16_t read_form(struct hl_cursor *c, int32_t *ret_value)
{
	uint64_t form = hl_cursor_uleb(c);

	if (form == DW_FORM_implicit_const)
		*ret_value = (int32_t)hl_cursor_sleb(c);
	return form <= UINT16_MAX && form != DW_FORM_indirect ? (uint16_t)form : 0;
}

void hl_dwarf_read_value(struct hl_cursor *c, const struct hl_dwarf_unit *unit, uint16_t form, int32_t value,
			 struct hl_dwarf_value *ret)
{
	bool wide = unit->offset_size == 8;

	if (form == DW_FORM_indirect)
		form = read_form(c, &value);
	ret->form = form;
	ret->u = 0;
	ret->string = NULL;
	switch (form) {
	case DW_FORM_addr:
		ret->u = hl_cursor_word(c, unit->address_size == 8);
		break;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		ret->u = hl_cursor_u8(c);
		break;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		ret->u = hl_cursor_u16(c);
		break;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		ret->u = read_u24(c);
		break;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		ret->u = hl_cursor_u32(c);
		break;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		ret->u = hl_cursor_u64(c);
		break;
	case DW_FORM_ref_addr:
		ret->u = hl_cursor_word(c, unit->version == 2 ? unit->address_size == 8 : wide);
		break;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		ret->u = hl_cursor_word(c, wide);
		break;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		ret->u = hl_cursor_uleb(c);
		break;
	case DW_FORM_sdata:
		ret->u = (uint64_t)hl_cursor_sleb(c);
		break;
	case DW_FORM_implicit_const:
		ret->u = (uint64_t)(int64_t)value;
		break;
	case DW_FORM_flag_present:
		ret->u = 1;
		break;
	case DW_FORM_string:
		ret->string = hl_cursor_string(c);
		break;
	case DW_FORM_data16:
		hl_cursor_skip(c, 16);
		break;
	case DW_FORM_block1:
		skip_block(c, hl_cursor_u8(c));
		break;
	case DW_FORM_block2:
		skip_block(c, hl_cursor_u16(c));
		break;
	case DW_FORM_block4:
		skip_block(c, hl_cursor_u32(c));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		skip_block(c, hl_cursor_uleb(c));
		break;
	default:
		c->failed = true;
	}
}

void hl_dwarf_skip_die(struct hl_cursor *c, const struct hl_dwarf_unit *unit,
		       const struct hl_dwarf_abbrev *abbrev)
{
	const struct hl_dwarf_spec *spec = &unit->file->specs[abbrev->first];
	struct hl_dwarf_value value;

	if (abbrev->is_fixed) {
		hl_cursor_skip(c, abbrev->fixed + (size_t)abbrev->n_offsets * unit->offset_size +
					  (size_t)abbrev->n_addresses * unit->address_size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->n && !c->failed; i++)
		hl_dwarf_read_value(c, unit, spec[i].form, spec[i].value, &value);
}

/* The string at @offset of a section: they all have a NUL behind their last byte. */
static const char *string_at(const struct hl_dwarf_file *file, enum hl_dwarf_section section, uint64_t offset)
{
	return file && offset < file->sections[section].len
		       ? (const char *)file->sections[section].data + offset
		       : NULL;
}

/* The word at @base + @index * @size of a section. */
static bool word_at(const struct hl_dwarf_file *file, enum hl_dwarf_section section, uint64_t base,
		    uint64_t index, uint8_t size, uint64_t *ret)
{
	struct hl_cursor c = hl_dwarf_cursor(file, section);
	uint64_t at;

	if (__builtin_mul_overflow(index, (uint64_t)size, &at) || __builtin_add_overflow(at, base, &at) ||
	    at >= c.len)
		return false;
	hl_cursor_seek(&c, (size_t)at);
	*ret = hl_cursor_word(&c, size == 8);
	return !c.failed;
}

const char *hl_dwarf_string(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value)
{
	const struct hl_dwarf_file *file = unit->file;
	uint64_t offset;

	switch (value->form) {
	case DW_FORM_string:
		return value->string;
	case DW_FORM_strp:
		return string_at(file, HL_DWARF_STR, value->u);
	case DW_FORM_line_strp:
		return string_at(file, HL_DWARF_LINE_STR, value->u);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		return string_at(file->dwarf->files[1], HL_DWARF_STR, value->u);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (!word_at(file, HL_DWARF_STR_OFFSETS, unit->str_offsets_base, value->u, unit->offset_size,
			     &offset))
			return NULL;
		return string_at(file, HL_DWARF_STR, offset);
	default:
		return NULL;
	}
}

bool hl_dwarf_indexed_address(const struct hl_dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
	if (unit->skeleton)
		unit = unit->skeleton;
	return word_at(unit->file, HL_DWARF_ADDR, unit->addr_base, index, unit->address_size, ret);
}

bool hl_dwarf_address(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value, uint64_t *ret)
{
	switch (value->form) {
	case DW_FORM_addr:
		*ret = value->u;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return hl_dwarf_indexed_address(unit, value->u, ret);
	default:
		return false;
	}
}

bool hl_dwarf_reference(struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value,
			struct hl_dwarf_unit **ret_unit, uint64_t *ret_offset)
{
	const struct hl_dwarf_file *file = unit->file;
	uint64_t base = 0;

	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (value->u >= unit->end - unit->offset)
			return false;
		*ret_offset = unit->offset + value->u;
		*ret_unit = unit;
		return *ret_offset >= unit->die;
	case DW_FORM_ref_addr:
		base = unit->info_base;
		break;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		file = file->dwarf->files[1];
		if (!file)
			return false;
		break;
	default:
		return false;
	}
	*ret_offset = base + value->u;
	*ret_unit = hl_dwarf_unit_at(file, *ret_offset);
	return *ret_unit != NULL;
}

/* What a function's DIE says of its name: @ret_name by DW_AT_name, @ret_linkage, @ret_origin. */
static void read_names(struct hl_dwarf_unit *unit, struct hl_cursor *c, const struct hl_dwarf_abbrev *abbrev,
		       const char **ret_name, const char **ret_linkage, struct hl_dwarf_value *ret_origin)
{
	const struct hl_dwarf_spec *spec = &unit->file->specs[abbrev->first];
	struct hl_dwarf_value value;

	for (uint32_t i = 0; i < abbrev->n && !c->failed; i++) {
		hl_dwarf_read_value(c, unit, spec[i].form, spec[i].value, &value);
		switch (c->failed ? 0 : spec[i].name) {
		case DW_AT_name:
			if (!*ret_name)
				*ret_name = hl_dwarf_string(unit, &value);
			break;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			*ret_linkage = hl_dwarf_string(unit, &value);
			break;
		case DW_AT_abstract_origin:
		case DW_AT_specification:
			*ret_origin = value;
			break;
		default:
			break;
		}
	}
}

/*
 * A function inlined, or one that has its code apart from its declaration, refers to another DIE for its
 * name, and that perhaps to a third.
 */
int hl_dwarf_function_name(struct hl_dwarf_unit *unit, uint64_t offset, const char **ret)
{
	enum { MAX_HOPS = 8 };
	const char *name = NULL, *linkage = NULL;
	const struct hl_dwarf_abbrev *abbrev;
	struct hl_dwarf_value origin;
	struct hl_cursor c;
	int r;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		r = hl_dwarf_load_abbrevs(unit);
		if (r < 0 && r != -EBADMSG)
			return r;
		c = hl_dwarf_unit_cursor(unit, offset);
		abbrev = hl_dwarf_abbrev(unit, hl_cursor_uleb(&c));
		if (!abbrev)
			break;
		r = hl_dwarf_tick(unit->file->dwarf, abbrev->n);
		if (r < 0)
			return r;
		origin.form = 0;
		read_names(unit, &c, abbrev, &name, &linkage, &origin);
		if (linkage || !hl_dwarf_reference(unit, &origin, &unit, &offset))
			break;
	}
	*ret = linkage ? linkage : name;
	return 0;
}
