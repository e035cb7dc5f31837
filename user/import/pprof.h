/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_IMPORT_PPROF_H
#define HL_IMPORT_PPROF_H

/* The tables of a profile.proto, and what the reader's files share; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/mem.h"

struct hl_profile;

struct hl_pp_string {
	const char *text; /* not NUL-terminated, any bytes */
	size_t len;
};

struct hl_pp_mapping {
	uint64_t id, start, limit, offset;
	uint32_t file, build_id; /* strings */
	uint32_t binary;         /* its number in the profile, from 1; 0: code of no file */
	uint8_t kind;            /* enum hl_frame_kind of functions in it; HL_FRAME_MARK: our own remarks */
};

struct hl_pp_function {
	uint64_t id;
	uint64_t start; /* address, where the file lets us know it; else 0 */
	uint32_t name;  /* string */
	bool is_exact;  /* `start` is the start, not the least address seen */
};

struct hl_pp_location {
	uint64_t id, address;
	uint64_t mapping_id;
	uint32_t mapping;    /* index, HL_INDEX_NONE: none */
	uint32_t first_line; /* in hl_pp.lines; innermost first */
	uint32_t n_lines;
};

struct hl_pp_type {
	uint32_t type, unit; /* strings */
};

struct hl_pp {
	const char *path; /* for sentences */
	struct hl_err *err;
	struct hl_pp_string *strings;
	size_t n_strings, cap_strings;
	struct hl_pp_mapping *mappings;
	size_t n_mappings, cap_mappings;
	struct hl_pp_function *functions;
	size_t n_functions, cap_functions;
	struct hl_pp_location *locations;
	size_t n_locations, cap_locations;
	uint64_t *lines; /* function ids, then their indices */
	size_t n_lines, cap_lines;
	struct hl_cursor *samples; /* a message each */
	size_t n_samples, cap_samples;
	uint32_t *comments; /* strings */
	size_t n_comments, cap_comments;
	struct hl_pp_type types[16], period_type;
	size_t n_types;
	uint64_t time_ns, duration_ns, period;
	uint32_t default_type; /* string */
	struct hl_index mapping_ids, function_ids, location_ids;
};

/* Reads the tables at @bytes, which outlive @pp, and checks every id and string that they name. 0 or -errno. */
int hl_pp_read(struct hl_pp *pp, const uint8_t *bytes, size_t len);
void hl_pp_done(struct hl_pp *pp);

/* The index of location @id, HL_INDEX_NONE: there is none. */
uint32_t hl_pp_location(const struct hl_pp *pp, uint64_t id);
/* True if string @index is @text. */
bool hl_pp_is(const struct hl_pp *pp, uint32_t index, const char *text);

/* Adds the samples to @profile. 0 or -errno. */
int hl_pp_add_samples(struct hl_pp *pp, struct hl_profile *profile);
/* Sets the profile's header from what the file says of itself. 0 or -ENOMEM. */
int hl_pp_set_header(const struct hl_pp *pp, struct hl_profile *profile);

/* The unit of weights, and the position of counts and weights among a sample's values (SIZE_MAX: none). */
struct hl_pp_values {
	size_t count, weight;
};
struct hl_pp_values hl_pp_values(const struct hl_pp *pp);

#endif
