/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_INLINES_BUILD_H
#define HL_SYMBOL_INLINES_BUILD_H

/* What the parts of the builder of inlines.h share; private to this folder. */

#include "base/mem.h"
#include "symbol/dwarf.h"
#include "symbol/inlines.h"
#include "symbol/table.h"

#define HL_NO_NODE UINT32_MAX

/* A function with code, or a call of one that was inlined. Callers stand before what they call. */
struct hl_node {
	uint32_t function;             /* string */
	uint32_t call_file, call_line; /* where it was inlined; 0 for a function of its own */
	uint32_t up;                   /* the node into which it was inlined, or HL_NO_NODE */
	uint32_t depth;                /* 1 without callers */
};

/* Code of a node. Sorting by the key puts callers before what was inlined into them. */
struct hl_span {
	uint64_t key; /* start << 32 | node; addresses are relative to the base */
	uint32_t end;
	uint32_t reserved;
};

/* From here to the next row, or to the end of the sequence, code comes from this line. */
struct hl_row {
	uint32_t start, file, line;
};

struct hl_sequence {
	uint64_t key; /* start << 32 | first row */
	uint32_t end, n;
};

struct hl_location {
	uint32_t function, file, line, up;
};

struct hl_inlines_builder {
	struct hl_dwarf dwarf;
	struct hl_area *areas; /* executable segments, by start */
	size_t n_areas;
	uint64_t base;
	size_t memory; /* limit of each of the arrays below, in bytes */
	struct hl_inlines_header header;

	char *strings;
	size_t strings_len, strings_cap;
	struct hl_index string_index; /* by offset */

	struct hl_index split_index; /* of `splits`, by id */
	struct hl_dwarf_unit **splits;
	size_t n_splits, cap_splits;

	struct hl_known_name {
		uint64_t key;
		uint32_t string;
	} * names; /* of functions that were referred to */
	size_t n_names, cap_names;
	struct hl_index name_index;

	struct hl_node *nodes;
	size_t n_nodes, cap_nodes;
	struct hl_span *spans;
	size_t n_spans, cap_spans;
	struct hl_row *rows;
	size_t n_rows, cap_rows;
	struct hl_sequence *sequences;
	size_t n_sequences, cap_sequences;

	struct hl_location *locations;
	size_t n_locations, cap_locations;
	struct hl_index location_index;
	uint32_t *starts, *numbers;
	size_t n_ranges, cap_starts, cap_numbers;
};

/* The offset of @text among the strings, cut at a length that names never have. 0 or -errno. */
int hl_inlines_intern(struct hl_inlines_builder *b, const char *text, uint32_t *ret);
/* The string of file number @number of @lines; 0 if there is no such file. */
int hl_inlines_file(struct hl_inlines_builder *b, const struct hl_dwarf_lines *lines, uint64_t number,
		    uint32_t *ret);
/* Whether code that starts at @start can be there, and if so, where the segment ends. */
bool hl_inlines_is_code(const struct hl_inlines_builder *b, uint64_t start, uint64_t *ret_end);

/* The three stages: functions of a unit, rows of a unit, then everything together. */
int hl_inlines_walk(struct hl_inlines_builder *b, struct hl_dwarf_unit *unit,
		    const struct hl_dwarf_lines *lines);
int hl_inlines_add_rows(struct hl_inlines_builder *b, const struct hl_dwarf_lines *lines);
int hl_inlines_merge(struct hl_inlines_builder *b);

#endif
