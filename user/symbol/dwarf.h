/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_DWARF_H
#define HL_SYMBOL_DWARF_H

/*
 * A reader of DWARF 2 to 5 (dwarfstd.org) for one purpose: which functions were inlined where, and which
 * lines code comes from. Private to this folder.
 *
 * It is our own because debug information is hostile: sections are inflated within a limit, nothing that a
 * file names is opened, every loop counts its work against a deadline, and nothing recurses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct hl_cursor;
struct hl_elf;
struct hl_err;

enum hl_dwarf_section {
	HL_DWARF_INFO,
	HL_DWARF_ABBREV,
	HL_DWARF_LINE,
	HL_DWARF_STR,
	HL_DWARF_LINE_STR,
	HL_DWARF_RANGES,
	HL_DWARF_RNGLISTS,
	HL_DWARF_ADDR,
	HL_DWARF_STR_OFFSETS,
	HL_DWARF_SECTIONS,
};
/* Sets of them: what the first DIEs of units need, and everything. */
#define HL_DWARF_FOR_UNITS                                                                            \
	(1u << HL_DWARF_INFO | 1u << HL_DWARF_ABBREV | 1u << HL_DWARF_STR | 1u << HL_DWARF_LINE_STR | \
	 1u << HL_DWARF_STR_OFFSETS)
#define HL_DWARF_ALL ((1u << HL_DWARF_SECTIONS) - 1)

/* An attribute of an abbreviation (7.5.3). */
struct hl_dwarf_spec {
	uint16_t name, form;
	int32_t value; /* of DW_FORM_implicit_const */
};

struct hl_dwarf_abbrev {
	uint64_t code;
	uint32_t first, n; /* its attributes among the file's specs */
	uint32_t fixed;    /* bytes of all attributes, without those that are as wide as the unit says */
	uint16_t tag;
	uint8_t n_offsets, n_addresses; /* … of which there are so many */
	bool is_fixed, children;
};

/* The abbreviations that units at one offset share. */
struct hl_dwarf_abbrevs {
	uint64_t offset;
	uint32_t first, n; /* among the file's abbreviations, ascending by code */
};

struct hl_dwarf_unit {
	struct hl_dwarf_file *file;
	const struct hl_dwarf_unit *skeleton; /* of a split unit, in the main file; else NULL */
	uint64_t offset, die, end;            /* of the header, the first DIE and the end in .debug_info */
	uint64_t abbrev_offset;
	uint64_t dwo_id;
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	uint64_t low_pc, stmt_list;
	uint64_t info_base, list_base;   /* what offsets into .debug_info and .debug_rnglists count from */
	const char *comp_dir, *dwo_name; /* NULL: none */
	uint32_t abbrevs;                /* number of its table, UINT32_MAX: not read yet */
	uint16_t version, tag;           /* tag: of its first DIE; 0: damaged */
	uint8_t type, address_size, offset_size;
	bool has_lines, has_dwo_id;
};

/* Where a unit's parts of the sections of a package begin. */
struct hl_dwarf_parts {
	uint32_t info, info_size, abbrev, line, str_offsets, rnglists;
};

/* One ELF file with debug information: the main one, an alternate file of dwz, a .dwo file, or a package of those. */
struct hl_dwarf_file {
	struct hl_dwarf *dwarf;
	struct {
		uint8_t *data; /* NULL: not there; else a NUL stands behind it */
		size_t len;
	} sections[HL_DWARF_SECTIONS];
	bool is_dwo;
	struct hl_dwarf_parts *parts; /* of a package, ascending by info */
	size_t n_parts;
	uint32_t number;
	struct hl_dwarf_unit *units; /* ascending by offset */
	size_t n_units, cap_units;
	struct hl_dwarf_abbrevs *tables;
	size_t n_tables, cap_tables;
	struct hl_index table_index;
	struct hl_dwarf_abbrev *abbrevs;
	size_t n_abbrevs, cap_abbrevs;
	struct hl_dwarf_spec *specs;
	size_t n_specs, cap_specs;
};

struct hl_dwarf {
	struct hl_dwarf_file **files; /* 0: main, 1: alternate or NULL, then .dwo files */
	size_t n_files;
	size_t memory_left;   /* for sections */
	uint64_t deadline_ns; /* of the monotonic clock */
	uint64_t work, checked;
};

/* An attribute's value. What @u is, the form says. */
struct hl_dwarf_value {
	uint16_t form; /* 0: the DIE has no such attribute */
	uint64_t u;
	const char *string; /* of DW_FORM_string */
};

/* Counts work, about 10 ns each. -ETIME when the deadline is over. */
int hl_dwarf_tick(struct hl_dwarf *dwarf, uint64_t work);

/* Loads those of the @sections that @elf has, without units yet. 0, or as hl_elf_inflate(). */
int hl_dwarf_file_load(struct hl_dwarf *dwarf, const struct hl_elf *elf, bool is_dwo, uint32_t sections,
		       struct hl_dwarf_file **ret, struct hl_err *err);
void hl_dwarf_file_free(struct hl_dwarf_file *file);
/* Reads the index of a package; a file without one is none. 0, -EBADMSG, or as hl_elf_inflate(). */
int hl_dwarf_package_read(struct hl_dwarf_file *file, const struct hl_elf *elf, struct hl_err *err);
/* The parts of the unit at @offset of .debug_info, or NULL. */
const struct hl_dwarf_parts *hl_dwarf_parts_at(const struct hl_dwarf_file *file, uint64_t offset);
/* Lists the units of @file. Damage ends the list. 0, -ENOMEM, -ETIME. */
int hl_dwarf_read_units(struct hl_dwarf_file *file);
/* The unit that holds @offset of .debug_info, or NULL. */
struct hl_dwarf_unit *hl_dwarf_unit_at(const struct hl_dwarf_file *file, uint64_t offset);

/* Reads the abbreviations of @unit unless they are known. 0, -EBADMSG, -ENOMEM, -E2BIG, -ETIME. */
int hl_dwarf_load_abbrevs(struct hl_dwarf_unit *unit);
/* The abbreviation with that code, or NULL. */
const struct hl_dwarf_abbrev *hl_dwarf_abbrev(const struct hl_dwarf_unit *unit, uint64_t code);

/* A cursor over a section; empty if there is none. */
struct hl_cursor hl_dwarf_cursor(const struct hl_dwarf_file *file, enum hl_dwarf_section section);
/* A cursor over .debug_info at @offset that ends where @unit does. */
struct hl_cursor hl_dwarf_unit_cursor(const struct hl_dwarf_unit *unit, uint64_t offset);

/* Reads one attribute; what is damaged fails @c. */
void hl_dwarf_read_value(struct hl_cursor *c, const struct hl_dwarf_unit *unit, uint16_t form, int32_t value,
			 struct hl_dwarf_value *ret);
/* Goes over all attributes of a DIE. */
void hl_dwarf_skip_die(struct hl_cursor *c, const struct hl_dwarf_unit *unit,
		       const struct hl_dwarf_abbrev *abbrev);
/* The value as a string, which lives as long as its file; NULL if it is none. */
const char *hl_dwarf_string(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value);
/* The value as an address. */
bool hl_dwarf_address(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value, uint64_t *ret);
/* Entry @index of the unit's addresses. */
bool hl_dwarf_indexed_address(const struct hl_dwarf_unit *unit, uint64_t index, uint64_t *ret);
/* The value as a reference to a DIE: its unit and offset. */
bool hl_dwarf_reference(struct hl_dwarf_unit *unit, const struct hl_dwarf_value *value,
			struct hl_dwarf_unit **ret_unit, uint64_t *ret_offset);

/* The name of the function at @offset, by its linkage name if there is one; NULL if it has none. */
int hl_dwarf_function_name(struct hl_dwarf_unit *unit, uint64_t offset, const char **ret);

/* Calls @each for the ranges of a DIE with these attributes, until that returns another value than 0. */
typedef int (*hl_dwarf_range_fn)(void *ctx, uint64_t start, uint64_t end);
int hl_dwarf_ranges(const struct hl_dwarf_unit *unit, const struct hl_dwarf_value *low_pc,
		    const struct hl_dwarf_value *high_pc, const struct hl_dwarf_value *ranges,
		    hl_dwarf_range_fn each, void *ctx);

/* The head of a line program (6.2.4): its files, and where the program is. */
struct hl_dwarf_lines {
	const struct hl_dwarf_unit *unit;
	struct hl_dwarf_path {
		const char *name;
		uint64_t dir;
		uint32_t id; /* the caller's, UINT32_MAX at first */
	} * files;
	size_t n_files, cap_files;
	const char **dirs;
	size_t n_dirs, cap_dirs;
	const char *comp_dir;
	uint64_t program, end;
	uint16_t version;
	uint8_t min_length, line_range, opcode_base, address_size, offset_size;
	int8_t line_base;
	uint8_t lengths[256]; /* of standard opcodes */
};

/* Reads the head at the unit's stmt_list. 0; -EBADMSG, with no files; -ENOMEM, -ETIME. */
int hl_dwarf_lines_read(const struct hl_dwarf_unit *unit, uint64_t offset, struct hl_dwarf_lines *ret);
void hl_dwarf_lines_done(struct hl_dwarf_lines *lines);
/* The file that number @number of a row or of DW_AT_call_file means, or NULL. */
struct hl_dwarf_path *hl_dwarf_lines_file(const struct hl_dwarf_lines *lines, uint64_t number);
/* Calls @row for every row, with @end at the end of a sequence, until it returns another value than 0. */
typedef int (*hl_dwarf_row_fn)(void *ctx, uint64_t address, uint64_t file, uint64_t line, bool end);
int hl_dwarf_lines_run(const struct hl_dwarf_lines *lines, hl_dwarf_row_fn row, void *ctx);

#endif
