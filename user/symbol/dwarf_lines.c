// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/dwarf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "symbol/dwarf_names.h"

enum { MAX_ENTRIES = 1 << 20, MAX_FORMATS = 255 };

void hl_dwarf_lines_done(struct hl_dwarf_lines *lines)
{
	free(lines->files);
	free(lines->dirs);
	*lines = (struct hl_dwarf_lines){ 0 };
}

static int add_dir(struct hl_dwarf_lines *lines, const char *name)
{
	int r = hl_grow(&lines->dirs, &lines->cap_dirs, lines->n_dirs + 1, sizeof(*lines->dirs), MAX_ENTRIES);

	if (r == 0)
		lines->dirs[lines->n_dirs++] = name;
	return r;
}

static int add_file(struct hl_dwarf_lines *lines, const char *name, uint64_t dir)
{
	int r = hl_grow(&lines->files, &lines->cap_files, lines->n_files + 1, sizeof(*lines->files),
			MAX_ENTRIES);

	if (r == 0)
		lines->files[lines->n_files++] =
			(struct hl_dwarf_path){ .name = name, .dir = dir, .id = UINT32_MAX };
	return r;
}

/* DWARF 2 to 4: strings up to an empty one, then files with three numbers each (DWARF 4, 6.2.4). */
static int read_old_tables(struct hl_dwarf_lines *lines, struct hl_cursor *c)
{
	struct hl_dwarf *dwarf = lines->unit->file->dwarf;
	const char *name;
	uint64_t dir;
	int r = 0;

	while (r == 0 && (name = hl_cursor_string(c)) && name[0]) {
		r = add_dir(lines, name);
		if (r == 0)
			r = hl_dwarf_tick(dwarf, 2);
	}
	while (r == 0 && (name = hl_cursor_string(c)) && name[0]) {
		dir = hl_cursor_uleb(c);
		(void)hl_cursor_uleb(c); /* time */
		(void)hl_cursor_uleb(c); /* length */
		r = add_file(lines, name, dir);
		if (r == 0)
			r = hl_dwarf_tick(dwarf, 4);
	}
	return r;
}

/* DWARF 5: a table of directories, or of files, that says of which attributes its entries consist. */
static int read_table(struct hl_dwarf_lines *lines, struct hl_cursor *c, bool files)
{
	struct {
		uint16_t type, form;
	} formats[MAX_FORMATS];
	struct hl_dwarf *dwarf = lines->unit->file->dwarf;
	struct hl_dwarf_value value;
	uint8_t n_formats = hl_cursor_u8(c);
	uint64_t n, dir;
	const char *name;
	int r = 0;

	for (int i = 0; i < n_formats; i++) {
		formats[i].type = (uint16_t)hl_cursor_uleb(c);
		formats[i].form = (uint16_t)hl_cursor_uleb(c);
	}
	n = hl_cursor_uleb(c);
	/* Entries without attributes would take no bytes: as many as one cares to claim. */
	for (uint64_t i = 0; i < n && r == 0 && n_formats && hl_cursor_left(c); i++) {
		name = NULL;
		dir = 0;
		for (int k = 0; k < n_formats; k++) {
			hl_dwarf_read_value(c, lines->unit, formats[k].form, 0, &value);
			if (formats[k].type == DW_LNCT_path)
				name = hl_dwarf_string(lines->unit, &value);
			else if (formats[k].type == DW_LNCT_directory_index)
				dir = value.u;
		}
		if (c->failed)
			return 0;
		r = files ? add_file(lines, name, dir) : add_dir(lines, name);
		if (r == 0)
			r = hl_dwarf_tick(dwarf, 2u + n_formats);
	}
	return r;
}

static bool read_head(struct hl_dwarf_lines *lines, struct hl_cursor *c)
{
	uint64_t length = hl_cursor_u32(c), header;

	lines->offset_size = length == 0xffffffff ? 8 : 4;
	if (length == 0xffffffff)
		length = hl_cursor_u64(c);
	if (c->failed || length > hl_cursor_left(c))
		return false;
	lines->end = c->pos + length;
	c->len = (size_t)lines->end;
	lines->version = hl_cursor_u16(c);
	if (lines->version < 2 || lines->version > 5)
		return false;
	lines->address_size = lines->unit->address_size;
	if (lines->version >= 5) {
		lines->address_size = hl_cursor_u8(c);
		(void)hl_cursor_u8(c); /* segment selector size */
	}
	header = hl_cursor_word(c, lines->offset_size == 8);
	if (c->failed || header > hl_cursor_left(c))
		return false;
	lines->program = c->pos + header;
	lines->min_length = hl_cursor_u8(c);
	if (lines->version >= 4)
		(void)hl_cursor_u8(c); /* operations of an instruction: there are no such machines here */
	(void)hl_cursor_u8(c);         /* default_is_stmt */
	lines->line_base = (int8_t)hl_cursor_u8(c);
	lines->line_range = hl_cursor_u8(c);
	lines->opcode_base = hl_cursor_u8(c);
	for (int i = 1; i < lines->opcode_base; i++)
		lines->lengths[i] = hl_cursor_u8(c);
	return !c->failed && lines->opcode_base > 0 && lines->line_range > 0;
}

int hl_dwarf_lines_read(const struct hl_dwarf_unit *unit, uint64_t offset, struct hl_dwarf_lines *ret)
{
	struct hl_cursor c = hl_dwarf_cursor(unit->file, HL_DWARF_LINE);
	int r;

	*ret = (struct hl_dwarf_lines){ .unit = unit, .comp_dir = unit->comp_dir };
	if (!ret->comp_dir && unit->skeleton)
		ret->comp_dir = unit->skeleton->comp_dir;
	hl_cursor_seek(&c, offset < SIZE_MAX ? (size_t)offset : SIZE_MAX);
	if (!read_head(ret, &c)) {
		ret->program = ret->end = 0;
		return -EBADMSG;
	}
	c.len = (size_t)ret->program;
	if (c.pos > c.len)
		return -EBADMSG;
	if (ret->version < 5) {
		r = read_old_tables(ret, &c);
	} else {
		r = read_table(ret, &c, false);
		if (r == 0)
			r = read_table(ret, &c, true);
	}
	if (r < 0)
		hl_dwarf_lines_done(ret);
	return r;
}

struct hl_dwarf_path *hl_dwarf_lines_file(const struct hl_dwarf_lines *lines, uint64_t number)
{
	if (lines->version < 5 && number-- == 0)
		return NULL;
	return number < lines->n_files ? &lines->files[number] : NULL;
}

/* The registers of the line machine that we follow. */
struct machine {
	const struct hl_dwarf_lines *lines;
	uint64_t address, file, line;
	hl_dwarf_row_fn row;
	void *ctx;
};

static void reset(struct machine *m)
{
	m->address = 0;
	m->file = 1;
	m->line = 1;
}

static int run_extended(struct machine *m, struct hl_cursor *c)
{
	uint64_t len = hl_cursor_uleb(c);
	size_t next;
	int r = 0;

	if (c->failed || len == 0 || len > hl_cursor_left(c))
		return c->failed || len ? -EBADMSG : 0;
	next = c->pos + (size_t)len;
	switch (hl_cursor_u8(c)) {
	case DW_LNE_end_sequence:
		r = m->row(m->ctx, m->address, m->file, m->line, true);
		reset(m);
		break;
	case DW_LNE_set_address:
		m->address = len == 9 ? hl_cursor_u64(c) : len == 5 ? hl_cursor_u32(c) : 0;
		break;
	default: /* files defined here are of no use: no compiler does it */
		break;
	}
	hl_cursor_seek(c, next);
	return r;
}

static int run_standard(struct machine *m, struct hl_cursor *c, uint8_t opcode)
{
	const struct hl_dwarf_lines *lines = m->lines;

	switch (opcode) {
	case DW_LNS_copy:
		return m->row(m->ctx, m->address, m->file, m->line, false);
	case DW_LNS_advance_pc:
		m->address += hl_cursor_uleb(c) * lines->min_length;
		return 0;
	case DW_LNS_advance_line:
		m->line += (uint64_t)hl_cursor_sleb(c);
		return 0;
	case DW_LNS_set_file:
		m->file = hl_cursor_uleb(c);
		return 0;
	case DW_LNS_const_add_pc:
		m->address += (uint64_t)(255 - lines->opcode_base) / lines->line_range * lines->min_length;
		return 0;
	case DW_LNS_fixed_advance_pc:
		m->address += hl_cursor_u16(c);
		return 0;
	default:
		for (int i = 0; i < lines->lengths[opcode]; i++)
			(void)hl_cursor_uleb(c);
		return 0;
	}
}

int hl_dwarf_lines_run(const struct hl_dwarf_lines *lines, hl_dwarf_row_fn row, void *ctx)
{
	struct hl_cursor c = hl_dwarf_cursor(lines->unit->file, HL_DWARF_LINE);
	struct machine m = { .lines = lines, .row = row, .ctx = ctx };
	uint8_t opcode, special;
	int r = 0;

	if (lines->end == 0)
		return 0;
	c.len = (size_t)lines->end;
	hl_cursor_seek(&c, (size_t)lines->program);
	reset(&m);
	while (r == 0 && hl_cursor_left(&c)) {
		opcode = hl_cursor_u8(&c);
		if (opcode >= lines->opcode_base) {
			special = (uint8_t)(opcode - lines->opcode_base);
			m.address += (uint64_t)(special / lines->line_range) * lines->min_length;
			m.line += (uint64_t)(int64_t)(lines->line_base + special % lines->line_range);
			r = row(ctx, m.address, m.file, m.line, false);
		} else if (opcode == 0) {
			r = run_extended(&m, &c);
		} else {
			r = run_standard(&m, &c, opcode);
		}
		if (r == 0)
			r = hl_dwarf_tick(lines->unit->file->dwarf, 1);
	}
	return r == -EBADMSG ? 0 : r;
}
