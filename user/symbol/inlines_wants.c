// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "elf/elf.h"
#include "elf/inflate.h"
#include "symbol/dwarf.h"
#include "symbol/inlines.h"

enum { MAX_LINK = 8192 };

/*
 * .gnu_debugaltlink (dwz, and "Separate Debug Files" of GDB's manual): a name, NUL, and the build-id of the file
 * of that name.
 */
static int want_alt(const struct hl_elf *elf, hl_inlines_wanted_fn each, void *ctx)
{
	const struct hl_elf_section *section = hl_elf_section_named(elf, ".gnu_debugaltlink");
	struct hl_inlines_wanted wanted = { .is_alt = true };
	_cleanup_free_ uint8_t *bytes = NULL;
	struct hl_cursor c;
	size_t len, left;
	int r;

	if (!section)
		return 0;
	r = hl_elf_inflate(elf, section, MAX_LINK, &bytes, &len, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	c = hl_cursor_of(bytes, len, section->name);
	wanted.name = hl_cursor_string(&c);
	left = hl_cursor_left(&c);
	if (!wanted.name || !wanted.name[0] || left == 0 || left > sizeof(wanted.id))
		return 0;
	memcpy(wanted.id, hl_cursor_bytes(&c, left), left);
	wanted.id_len = left;
	return each(ctx, &wanted);
}

static int want_dwos(const struct hl_dwarf_file *file, hl_inlines_wanted_fn each, void *ctx)
{
	int r = 0;

	for (size_t i = 0; i < file->n_units && r == 0; i++) {
		const struct hl_dwarf_unit *unit = &file->units[i];
		struct hl_inlines_wanted wanted = { .name = unit->dwo_name, .directory = unit->comp_dir };

		if (!unit->dwo_name || !unit->dwo_name[0] || !unit->has_dwo_id)
			continue;
		wanted.id_len = sizeof(unit->dwo_id);
		memcpy(wanted.id, &unit->dwo_id, sizeof(unit->dwo_id));
		r = each(ctx, &wanted);
	}
	return r;
}

int hl_inlines_wants(const struct hl_inlines_source *source, const struct hl_inlines_limits *limits,
		     hl_inlines_wanted_fn each, void *ctx, struct hl_err *err)
{
	struct hl_dwarf dwarf = { .memory_left = limits->memory, .deadline_ns = limits->deadline_ns };
	struct hl_dwarf_file *files[2] = { NULL }, *file = NULL;
	const struct hl_elf *elf = source->elf;
	int r;

	if (source->debug && hl_elf_debug_section(source->debug, "info"))
		elf = source->debug;
	if (!hl_elf_debug_section(elf, "info"))
		return hl_err_set(err, -ENODATA, "'%s' has no debug information", hl_elf_name(elf));
	r = source->alt ? 0 : want_alt(elf, each, ctx);
	/* A unit of which the rest is elsewhere has its addresses here, in a section of their own. */
	if (r != 0 || !hl_elf_debug_section(elf, "addr"))
		return r;
	dwarf.files = files;
	dwarf.n_files = 2;
	r = hl_dwarf_file_load(&dwarf, elf, false, HL_DWARF_FOR_UNITS, &file, err);
	if (r < 0)
		return r;
	files[0] = file;
	r = hl_dwarf_read_units(file);
	if (r < 0)
		(void)hl_err_errno(err, r, "'%s': cannot read its debug information", hl_elf_name(elf));
	if (r == 0)
		r = want_dwos(file, each, ctx);
	hl_dwarf_file_free(file);
	return r;
}
