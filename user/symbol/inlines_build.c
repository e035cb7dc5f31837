// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/inlines_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "elf/elf.h"
#include "elf/inflate.h"
#include "symbol/dwarf_names.h"

enum { MAX_STRING = 8192, MAX_AREAS = 4096, MAX_DWOS = 4096 };

static void done(struct hl_inlines_builder *b)
{
	for (size_t i = 0; i < b->dwarf.n_files; i++)
		hl_dwarf_file_free(b->dwarf.files[i]);
	free(b->dwarf.files);
	free(b->areas);
	free(b->strings);
	free(b->splits);
	free(b->names);
	free(b->nodes);
	free(b->spans);
	free(b->rows);
	free(b->sequences);
	free(b->locations);
	free(b->starts);
	free(b->numbers);
	hl_index_done(&b->string_index);
	hl_index_done(&b->split_index);
	hl_index_done(&b->name_index);
	hl_index_done(&b->location_index);
}

struct text {
	const struct hl_inlines_builder *b;
	const char *bytes;
	size_t len;
};

static int same_string(const void *ctx, uint32_t position)
{
	const struct text *text = ctx;
	const char *at = text->b->strings + position;

	return strncmp(at, text->bytes, text->len) == 0 && at[text->len] == '\0';
}

int hl_inlines_intern(struct hl_inlines_builder *b, const char *text, uint32_t *ret)
{
	struct text t = { b, text, strnlen(text, MAX_STRING) };
	uint64_t hash = hl_hash(text, t.len, 0);
	uint32_t found;
	size_t limit = b->memory < UINT32_MAX ? b->memory : UINT32_MAX;
	int r;

	if (t.len == 0) {
		*ret = 0;
		return 0;
	}
	found = hl_index_find(&b->string_index, hash, same_string, &t);
	if (found == HL_INDEX_NONE) {
		r = hl_grow(&b->strings, &b->strings_cap, b->strings_len + t.len + 1, 1, limit);
		if (r == 0)
			r = hl_index_add(&b->string_index, hash, (uint32_t)b->strings_len);
		if (r < 0)
			return r;
		found = (uint32_t)b->strings_len;
		memcpy(b->strings + found, text, t.len);
		b->strings[found + t.len] = '\0';
		b->strings_len += t.len + 1;
	}
	*ret = found;
	return hl_dwarf_tick(&b->dwarf, 4 + t.len / 16);
}

/* Appends @part to a path, behind one slash. */
static void append(struct hl_str *path, const char *part)
{
	if (!part || !part[0])
		return;
	if (path->len && path->data[path->len - 1] != '/')
		hl_str_addc(path, '/');
	hl_str_add(path, part, strnlen(part, MAX_STRING));
}

/* As the compiler was told: relative to the directory, and that to where it was started. */
static int make_path(const struct hl_dwarf_lines *lines, const struct hl_dwarf_path *file, struct hl_str *out)
{
	uint64_t number = file->dir;
	const char *dir = NULL;

	/* From DWARF 5 on, directory 0 stands in the table. */
	if (lines->version < 5)
		number--;
	if (number < lines->n_dirs)
		dir = lines->dirs[number];
	if (file->name && file->name[0] != '/') {
		if (!dir || dir[0] != '/')
			append(out, lines->comp_dir);
		append(out, dir);
	}
	append(out, file->name);
	return hl_str_status(out);
}

int hl_inlines_file(struct hl_inlines_builder *b, const struct hl_dwarf_lines *lines, uint64_t number,
		    uint32_t *ret)
{
	struct hl_dwarf_path *file = hl_dwarf_lines_file(lines, number);
	_cleanup_str_ struct hl_str path = { 0 };
	int r;

	*ret = 0;
	if (!file)
		return 0;
	if (file->id == UINT32_MAX) {
		r = make_path(lines, file, &path);
		if (r == 0)
			r = path.len ? hl_inlines_intern(b, path.data, &file->id) : 0;
		if (r < 0)
			return r;
	}
	*ret = file->id == UINT32_MAX ? 0 : file->id;
	return 0;
}

/*
 * Linkers leave the debug information of functions that they drop, with an address that is none: 0, 1, -1, -2 or
 * what is beside it. Such a start lies in no code; 0 is where the ELF header is, and nothing runs there.
 */
bool hl_inlines_is_code(const struct hl_inlines_builder *b, uint64_t start, uint64_t *ret_end)
{
	const struct hl_area *area = start ? hl_area_find(b->areas, b->n_areas, start) : NULL;

	if (!area)
		return false;
	*ret_end = area->end;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct hl_area *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Segments that overlap, or that lie past 4 GiB of the first, are cut. */
static int read_areas(struct hl_inlines_builder *b, const struct hl_elf *elf)
{
	const struct hl_elf_segment *s = NULL;
	uint64_t last = 0;
	size_t n = 0;

	while ((s = hl_elf_next_code(elf, s)))
		n++;
	if (n == 0 || n > MAX_AREAS)
		return -ENODATA;
	b->areas = calloc(n, sizeof(*b->areas));
	if (!b->areas)
		return -ENOMEM;
	while ((s = hl_elf_next_code(elf, s)))
		if (s->address + s->memory_size > s->address)
			b->areas[b->n_areas++] = (struct hl_area){ s->address, s->address + s->memory_size };
	qsort(b->areas, b->n_areas, sizeof(*b->areas), by_start);
	n = b->n_areas;
	b->n_areas = 0;
	b->base = n ? b->areas[0].start : 0;
	for (size_t i = 0; i < n; i++) {
		struct hl_area area = b->areas[i];

		if (area.start < last)
			area.start = last;
		if (area.end - b->base > UINT32_MAX)
			area.end = b->base + UINT32_MAX;
		if (area.start >= area.end)
			continue;
		last = area.end;
		b->areas[b->n_areas++] = area;
	}
	return b->n_areas ? 0 : -ENODATA;
}

static int load_file(struct hl_inlines_builder *b, const struct hl_elf *elf, bool is_dwo, struct hl_err *err)
{
	struct hl_dwarf_file **slot = &b->dwarf.files[b->dwarf.n_files];
	int r = 0;

	if (elf) {
		r = hl_dwarf_file_load(&b->dwarf, elf, is_dwo, HL_DWARF_ALL, slot, err);
		if (r == 0) {
			(*slot)->number = (uint32_t)b->dwarf.n_files;
			b->dwarf.n_files++;
			return hl_dwarf_read_units(*slot);
		}
	}
	b->dwarf.n_files++;
	return r;
}

struct wanted_split {
	const struct hl_inlines_builder *b;
	uint64_t id;
};

static int same_id(const void *ctx, uint32_t position)
{
	const struct wanted_split *w = ctx;

	return w->b->splits[position]->dwo_id == w->id;
}

static uint64_t hash_id(uint64_t id)
{
	return hl_hash(&id, sizeof(id), 0);
}

/* Of several units with one id the first counts. */
static int index_splits(struct hl_inlines_builder *b, const struct hl_dwarf_file *file)
{
	int r = 0;

	for (size_t i = 0; file && i < file->n_units && r == 0; i++) {
		struct hl_dwarf_unit *unit = &file->units[i];
		const struct wanted_split wanted = { b, unit->dwo_id };

		if (!unit->has_dwo_id || unit->tag != DW_TAG_compile_unit ||
		    hl_index_find(&b->split_index, hash_id(unit->dwo_id), same_id, &wanted) != HL_INDEX_NONE)
			continue;
		r = hl_grow(&b->splits, &b->cap_splits, b->n_splits + 1, sizeof(struct hl_dwarf_unit *),
			    UINT32_MAX - 1);
		if (r == 0)
			r = hl_index_add(&b->split_index, hash_id(unit->dwo_id), (uint32_t)b->n_splits);
		if (r == 0)
			b->splits[b->n_splits++] = unit;
	}
	return r;
}

/* The unit of a .dwo file that has the same id as a skeleton. */
static struct hl_dwarf_unit *find_split(const struct hl_inlines_builder *b,
					const struct hl_dwarf_unit *skeleton)
{
	const struct wanted_split wanted = { b, skeleton->dwo_id };
	uint32_t found = hl_index_find(&b->split_index, hash_id(skeleton->dwo_id), same_id, &wanted);

	return found == HL_INDEX_NONE ? NULL : b->splits[found];
}

static int load(struct hl_inlines_builder *b, const struct hl_inlines_source *source, struct hl_err *err)
{
	const struct hl_elf *main = source->elf;
	int r;

	if (source->n_dwos > MAX_DWOS)
		return -E2BIG;
	if (source->debug && hl_elf_debug_section(source->debug, "info"))
		main = source->debug;
	b->dwarf.files = calloc(2 + source->n_dwos, sizeof(struct hl_dwarf_file *));
	if (!b->dwarf.files)
		return -ENOMEM;
	/* The alternate file first: strings of units may stand there. */
	b->dwarf.n_files = 1;
	r = load_file(b, source->alt, false, err);
	b->dwarf.n_files = 0;
	if (r == 0)
		r = load_file(b, main, false, err);
	b->dwarf.n_files = 2;
	for (size_t i = 0; i < source->n_dwos && r == 0; i++)
		r = load_file(b, source->dwos[i], true, err);
	for (size_t i = 2; i < b->dwarf.n_files && r == 0; i++)
		r = index_splits(b, b->dwarf.files[i]);
	return r;
}

/* A split unit counts its files in a table of its own, if it has one. */
static int walk_split(struct hl_inlines_builder *b, struct hl_dwarf_unit *unit,
		      const struct hl_dwarf_lines *skeleton_lines)
{
	struct hl_dwarf_lines lines = { 0 };
	int r = 0;

	if (unit->file->sections[HL_DWARF_LINE].len)
		r = hl_dwarf_lines_read(unit, unit->stmt_list, &lines);
	if (r == 0 || r == -EBADMSG)
		r = hl_inlines_walk(b, unit, lines.n_files ? &lines : skeleton_lines);
	hl_dwarf_lines_done(&lines);
	return r;
}

static int add_unit(struct hl_inlines_builder *b, struct hl_dwarf_unit *unit, bool with_rows)
{
	struct hl_dwarf_unit *split = unit->dwo_name ? find_split(b, unit) : NULL;
	struct hl_dwarf_lines lines = { 0 };
	int r = 0;

	b->header.missing_dwo += unit->dwo_name && !split;
	if (unit->has_lines)
		r = hl_dwarf_lines_read(unit, unit->stmt_list, &lines);
	if (r == 0 && with_rows)
		r = hl_inlines_add_rows(b, &lines);
	if (r == -EBADMSG) {
		b->header.damaged_units++;
		r = 0;
	}
	if (r == 0 && split) {
		split->skeleton = unit;
		r = walk_split(b, split, &lines);
	} else if (r == 0) {
		r = hl_inlines_walk(b, unit, &lines);
	}
	hl_dwarf_lines_done(&lines);
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The units' line programs, each once, ascending. */
static int list_programs(const struct hl_dwarf_file *file, uint64_t **ret, size_t *ret_n)
{
	uint64_t *offsets = calloc(file->n_units + 1, sizeof(*offsets));
	size_t n = 0, kept = 0;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < file->n_units; i++)
		if (file->units[i].has_lines && file->units[i].tag != DW_TAG_partial_unit)
			offsets[n++] = file->units[i].stmt_list;
	qsort(offsets, n, sizeof(*offsets), by_value);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || offsets[i] != offsets[kept - 1])
			offsets[kept++] = offsets[i];
	*ret = offsets;
	*ret_n = kept;
	return 0;
}

/* Several units may share a line program: the first runs it. */
static int add_units(struct hl_inlines_builder *b)
{
	struct hl_dwarf_file *file = b->dwarf.files[0];
	_cleanup_free_ uint64_t *programs = NULL;
	_cleanup_free_ bool *ran = NULL;
	struct hl_dwarf_unit *unit;
	const uint64_t *program;
	size_t n_programs;
	bool run;
	int r = list_programs(file, &programs, &n_programs);

	if (r < 0)
		return r;
	ran = calloc(n_programs + 1, sizeof(*ran));
	if (!ran)
		return -ENOMEM;
	for (size_t i = 0; i < file->n_units && r == 0; i++) {
		unit = &file->units[i];
		if (unit->tag == 0) {
			b->header.damaged_units++;
			continue;
		}
		program = bsearch(&unit->stmt_list, programs, n_programs, sizeof(*programs), by_value);
		run = unit->has_lines && program && !ran[program - programs];
		if (run)
			ran[program - programs] = true;
		r = add_unit(b, unit, run);
	}
	return r;
}

static int flatten(struct hl_inlines_builder *b, uint8_t **ret, size_t *ret_len)
{
	size_t starts = b->n_ranges * sizeof(*b->starts), locations = b->n_locations * sizeof(*b->locations);
	size_t len = sizeof(b->header) + 2 * starts + locations + b->strings_len;
	uint8_t *bytes = malloc(len), *at = bytes;

	if (!bytes)
		return -ENOMEM;
	b->header.magic = HL_INLINES_MAGIC;
	b->header.version = HL_INLINES_VERSION;
	b->header.base = b->base;
	b->header.n_ranges = (uint32_t)b->n_ranges;
	b->header.n_locations = (uint32_t)b->n_locations;
	b->header.strings_len = b->strings_len;
	at = mempcpy(at, &b->header, sizeof(b->header));
	if (starts) {
		at = mempcpy(at, b->starts, starts);
		at = mempcpy(at, b->numbers, starts);
	}
	at = mempcpy(at, b->locations, locations);
	memcpy(at, b->strings, b->strings_len);
	*ret = bytes;
	*ret_len = len;
	return 0;
}

static int build(struct hl_inlines_builder *b, const struct hl_inlines_source *source, uint8_t **ret,
		 size_t *ret_len, struct hl_err *err)
{
	int r = hl_grow(&b->strings, &b->strings_cap, 1, 1, SIZE_MAX);

	if (r < 0)
		return r;
	b->strings[b->strings_len++] = '\0';
	r = read_areas(b, source->elf);
	if (r == 0)
		r = load(b, source, err);
	if (r == 0 && (!b->dwarf.files || !b->dwarf.files[0] || b->dwarf.files[0]->n_units == 0))
		r = -ENODATA;
	if (r == 0)
		r = add_units(b);
	if (r == 0)
		r = hl_inlines_merge(b);
	return r == 0 ? flatten(b, ret, ret_len) : r;
}

/* Says what @r means, unless something already did. */
static int explain(const struct hl_inlines_source *source, int r, struct hl_err *err)
{
	const char *name = hl_elf_name(source->elf);

	if (err && err->text[0])
		return r;
	if (r == -ENODATA)
		return hl_err_set(err, r, "'%s' has no debug information", name);
	if (r == -ETIME)
		return hl_err_set(err, r, "'%s': reading its debug information takes too long", name);
	if (r == -E2BIG)
		return hl_err_set(err, r, "'%s' has more debug information than the limit allows", name);
	return hl_err_errno(err, r, "'%s': cannot read its debug information", name);
}

static struct hl_inlines_builder start(const struct hl_inlines_limits *limits)
{
	return (struct hl_inlines_builder){ .memory = limits->memory,
					    .dwarf = { .memory_left = limits->memory,
						       .deadline_ns = limits->deadline_ns } };
}

int hl_inlines_build(const struct hl_inlines_source *source, const struct hl_inlines_limits *limits,
		     uint8_t **ret, size_t *ret_len, struct hl_err *err)
{
	struct hl_inlines_builder b = start(limits);
	struct hl_err why = { "" };
	int r = build(&b, source, ret, ret_len, &why);

	done(&b);
	if (r < 0)
		(void)explain(source, r, &why);
	if (r < 0 && err)
		*err = why;
	return r;
}
