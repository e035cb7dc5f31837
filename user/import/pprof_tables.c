// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "import/pprof.h"
#include "import/proto.h"
#include "profile/pprof_fields.h"

/*
 * Fields stand in any order: strings may come behind what names them, functions behind the locations that run
 * them. So the tables are read first, and only then is looked whether what they name is there.
 */

enum { MOST_ITEMS = 1 << 24, MOST_TYPES = 16 };

#define PUSH(pp, array, value)                                                                            \
	(hl_grow(&(pp)->array, &(pp)->cap_##array, (pp)->n_##array + 1, sizeof(*(pp)->array), MOST_ITEMS) \
		 ? -E2BIG                                                                                 \
		 : ((pp)->array[(pp)->n_##array++] = (value), 0))

/* An index into the string table; what cannot be one is found out later. */
static uint32_t string_index(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int damaged(const struct hl_pp *pp, const char *what, size_t number)
{
	return hl_err_set(pp->err, -EBADMSG, "'%s': %s %zu is cut off or damaged", pp->path, what, number);
}

static int read_type(struct hl_pp *pp, struct hl_cursor c, struct hl_pp_type *ret)
{
	struct hl_proto_field f;

	while (hl_proto_next(&c, &f)) {
		if (f.number == 1)
			ret->type = string_index(f.value);
		else if (f.number == 2)
			ret->unit = string_index(f.value);
	}
	return c.failed ? damaged(pp, "sample type", pp->n_types) : 0;
}

static int read_mapping(struct hl_pp *pp, struct hl_cursor c)
{
	struct hl_pp_mapping m = { 0 };
	struct hl_proto_field f;

	while (hl_proto_next(&c, &f)) {
		switch (f.number) {
		case 1:
			m.id = f.value;
			break;
		case 2:
			m.start = f.value;
			break;
		case 3:
			m.limit = f.value;
			break;
		case 4:
			m.offset = f.value;
			break;
		case 5:
			m.file = string_index(f.value);
			break;
		case 6:
			m.build_id = string_index(f.value);
			break;
		default:
			break;
		}
	}
	return c.failed ? damaged(pp, "mapping", pp->n_mappings) : PUSH(pp, mappings, m);
}

static int read_line(struct hl_pp *pp, struct hl_cursor c, uint64_t *ret)
{
	struct hl_proto_field f;

	*ret = 0;
	while (hl_proto_next(&c, &f))
		if (f.number == 1)
			*ret = f.value;
	return c.failed ? damaged(pp, "a line of location", pp->n_locations) : 0;
}

static int read_location(struct hl_pp *pp, struct hl_cursor c)
{
	struct hl_pp_location l = { .first_line = (uint32_t)pp->n_lines };
	struct hl_proto_field f;
	uint64_t line;
	int code = 0;

	while (!code && hl_proto_next(&c, &f)) {
		if (f.number == 1) {
			l.id = f.value;
		} else if (f.number == 2) {
			l.mapping_id = f.value;
		} else if (f.number == 3) {
			l.address = f.value;
		} else if (f.number == 4 && f.is_bytes) {
			code = read_line(pp, f.bytes, &line);
			if (!code)
				code = PUSH(pp, lines, line);
		}
	}
	l.n_lines = (uint32_t)pp->n_lines - l.first_line;
	if (!code && c.failed)
		return damaged(pp, "location", pp->n_locations);
	return code ? code : PUSH(pp, locations, l);
}

static int read_function(struct hl_pp *pp, struct hl_cursor c)
{
	struct hl_pp_function fn = { 0 };
	struct hl_proto_field f;

	while (hl_proto_next(&c, &f)) {
		if (f.number == 1)
			fn.id = f.value;
		else if (f.number == 2 ||
			 (f.number == 3 && !fn.name)) /* the system's name where there is no other */
			fn.name = string_index(f.value);
	}
	return c.failed ? damaged(pp, "function", pp->n_functions) : PUSH(pp, functions, fn);
}

static int read_string(struct hl_pp *pp, const struct hl_cursor *bytes)
{
	struct hl_pp_string s = { (const char *)bytes->data, bytes->len };

	return PUSH(pp, strings, s);
}

static int read_comments(struct hl_pp *pp, struct hl_proto_field *f)
{
	uint64_t value;
	int code = 0;

	while (!code && hl_proto_next_int(f, &value))
		code = PUSH(pp, comments, string_index(value));
	return code;
}

static int read_message(struct hl_pp *pp, struct hl_proto_field *f)
{
	struct hl_pp_type type = { 0 };
	int code;

	switch (f->number) {
	case HL_PPROF_SAMPLE_TYPE:
		if (pp->n_types == MOST_TYPES)
			return hl_err_set(pp->err, -EBADMSG, "'%s' has more than %d sample types", pp->path,
					  MOST_TYPES);
		code = read_type(pp, f->bytes, &type);
		pp->types[pp->n_types++] = type;
		return code;
	case HL_PPROF_SAMPLE:
		return PUSH(pp, samples, f->bytes);
	case HL_PPROF_MAPPING:
		return read_mapping(pp, f->bytes);
	case HL_PPROF_LOCATION:
		return read_location(pp, f->bytes);
	case HL_PPROF_FUNCTION:
		return read_function(pp, f->bytes);
	case HL_PPROF_STRING:
		return read_string(pp, &f->bytes);
	case HL_PPROF_PERIOD_TYPE:
		return read_type(pp, f->bytes, &pp->period_type);
	case HL_PPROF_COMMENT:
		return read_comments(pp, f);
	default:
		return 0;
	}
}

static int read_value(struct hl_pp *pp, struct hl_proto_field *f)
{
	switch (f->number) {
	case HL_PPROF_TIME:
		pp->time_ns = f->value;
		return 0;
	case HL_PPROF_DURATION:
		pp->duration_ns = f->value;
		return 0;
	case HL_PPROF_PERIOD:
		pp->period = f->value;
		return 0;
	case HL_PPROF_DEFAULT_TYPE:
		pp->default_type = string_index(f->value);
		return 0;
	case HL_PPROF_COMMENT:
		return read_comments(pp, f);
	default:
		return 0;
	}
}

/* ---- what names what ------------------------------------------------------------------------------------- */

struct wanted {
	const uint8_t *items; /* structs that begin with a u64 id */
	size_t size;
	uint64_t id;
};

static int same_id(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	uint64_t id;

	memcpy(&id, w->items + position * w->size, sizeof(id));
	return id == w->id;
}

static uint32_t find_id(const struct hl_index *index, const void *items, size_t size, uint64_t id)
{
	struct wanted wanted = { items, size, id };

	return hl_index_find(index, hl_hash(&id, sizeof(id), 0), same_id, &wanted);
}

static int index_ids(const struct hl_pp *pp, struct hl_index *index, const void *items, size_t n, size_t size,
		     const char *what)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t id;

		memcpy(&id, (const uint8_t *)items + i * size, sizeof(id));
		if (!id)
			return hl_err_set(pp->err, -EBADMSG, "'%s': %s %zu has the id 0", pp->path, what, i);
		if (find_id(index, items, size, id) != HL_INDEX_NONE)
			return hl_err_set(pp->err, -EBADMSG,
					  "'%s': two have the id %" PRIu64 ", %s %zu is one", pp->path, id,
					  what, i);
		if (hl_index_add(index, hl_hash(&id, sizeof(id), 0), (uint32_t)i))
			return hl_err_set(pp->err, -ENOMEM, "no memory for '%s'", pp->path);
	}
	return 0;
}

static int check_string(const struct hl_pp *pp, uint32_t index, const char *what, size_t number)
{
	if (index < pp->n_strings)
		return 0;
	return hl_err_set(pp->err, -EBADMSG, "'%s': %s %zu names string %" PRIu32 " of %zu", pp->path, what,
			  number, index, pp->n_strings);
}

static int check_strings(const struct hl_pp *pp)
{
	int code = check_string(pp, pp->default_type, "default type", 0);

	for (size_t i = 0; i < pp->n_types && !code; i++) {
		code = check_string(pp, pp->types[i].type, "sample type", i);
		if (!code)
			code = check_string(pp, pp->types[i].unit, "unit of sample type", i);
	}
	for (size_t i = 0; i < pp->n_mappings && !code; i++) {
		code = check_string(pp, pp->mappings[i].file, "mapping", i);
		if (!code)
			code = check_string(pp, pp->mappings[i].build_id, "build-id of mapping", i);
	}
	for (size_t i = 0; i < pp->n_functions && !code; i++)
		code = check_string(pp, pp->functions[i].name, "function", i);
	for (size_t i = 0; i < pp->n_comments && !code; i++)
		code = check_string(pp, pp->comments[i], "comment", i);
	return code;
}

/* Turns the ids in lines and locations into indices. */
static int link_locations(struct hl_pp *pp)
{
	for (size_t i = 0; i < pp->n_locations; i++) {
		struct hl_pp_location *l = &pp->locations[i];

		l->mapping = HL_INDEX_NONE;
		if (l->mapping_id)
			l->mapping =
				find_id(&pp->mapping_ids, pp->mappings, sizeof(*pp->mappings), l->mapping_id);
		if (l->mapping_id && l->mapping == HL_INDEX_NONE)
			return hl_err_set(pp->err, -EBADMSG,
					  "'%s': location %zu is in mapping %" PRIu64 ", which is not there",
					  pp->path, i, l->mapping_id);
		for (uint32_t k = 0; k < l->n_lines; k++) {
			uint64_t *line = &pp->lines[l->first_line + k];
			uint32_t function =
				find_id(&pp->function_ids, pp->functions, sizeof(*pp->functions), *line);

			if (function == HL_INDEX_NONE)
				return hl_err_set(pp->err, -EBADMSG,
						  "'%s': location %zu is in function %" PRIu64
						  ", which is not there",
						  pp->path, i, *line);
			*line = function;
		}
	}
	return 0;
}

static int link(struct hl_pp *pp)
{
	int code = check_strings(pp);

	if (!code)
		code = index_ids(pp, &pp->mapping_ids, pp->mappings, pp->n_mappings, sizeof(*pp->mappings),
				 "mapping");
	if (!code)
		code = index_ids(pp, &pp->function_ids, pp->functions, pp->n_functions,
				 sizeof(*pp->functions), "function");
	if (!code)
		code = index_ids(pp, &pp->location_ids, pp->locations, pp->n_locations,
				 sizeof(*pp->locations), "location");
	return code ? code : link_locations(pp);
}

int hl_pp_read(struct hl_pp *pp, const uint8_t *bytes, size_t len)
{
	struct hl_cursor c = hl_cursor_of(bytes, len, pp->path);
	struct hl_proto_field f;
	int code = 0;

	while (!code && hl_proto_next(&c, &f)) {
		bool message = f.number >= HL_PPROF_SAMPLE_TYPE && f.number <= HL_PPROF_COMMENT &&
			       f.number != HL_PPROF_TIME && f.number != HL_PPROF_DURATION &&
			       f.number != HL_PPROF_PERIOD;

		if (f.is_bytes && message)
			code = read_message(pp, &f);
		else if (!f.is_bytes)
			code = read_value(pp, &f);
	}
	if (code == -E2BIG)
		return hl_err_set(pp->err, code, "'%s' is too large: more than %d items of one kind",
				  pp->path, MOST_ITEMS);
	if (!code && c.failed)
		return hl_err_set(pp->err, -EBADMSG, "'%s' is no profile, or is cut off at byte %zu of %zu",
				  pp->path, c.pos, len);
	if (!code && (!pp->n_strings || pp->strings[0].len || !pp->n_types))
		return hl_err_set(pp->err, -EBADMSG, "'%s' is no profile: it has no %s", pp->path,
				  pp->n_types ? "string table that begins with \"\"" : "sample type");
	return code ? code : link(pp);
}

void hl_pp_done(struct hl_pp *pp)
{
	free(pp->strings);
	free(pp->mappings);
	free(pp->functions);
	free(pp->locations);
	free(pp->lines);
	free(pp->samples);
	free(pp->comments);
	hl_index_done(&pp->mapping_ids);
	hl_index_done(&pp->function_ids);
	hl_index_done(&pp->location_ids);
}

uint32_t hl_pp_location(const struct hl_pp *pp, uint64_t id)
{
	return find_id(&pp->location_ids, pp->locations, sizeof(*pp->locations), id);
}

bool hl_pp_is(const struct hl_pp *pp, uint32_t index, const char *text)
{
	const struct hl_pp_string *s = &pp->strings[index];

	return s->len == strlen(text) && memcmp(s->text, text, s->len) == 0;
}

struct hl_pp_values hl_pp_values(const struct hl_pp *pp)
{
	struct hl_pp_values v = { SIZE_MAX, pp->n_types - 1 };

	for (size_t i = 0; i < pp->n_types; i++) {
		if (hl_pp_is(pp, pp->types[i].unit, "count") && hl_pp_is(pp, pp->types[i].type, "samples"))
			v.count = i;
		if (pp->default_type && pp->types[i].type == pp->default_type)
			v.weight = i;
	}
	return v;
}
