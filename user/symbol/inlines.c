// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/inlines.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

struct location {
	uint32_t function, file, line, up;
};

/* Where the parts of a table stand. */
struct parts {
	struct hl_inlines_header header;
	const uint32_t *starts, *numbers;
	const struct location *locations;
	const char *strings;
};

_Static_assert(sizeof(struct hl_inlines_header) == 64, "the header's size is part of the format");

static struct parts split(const void *table)
{
	struct parts p;
	const char *at = table;

	memcpy(&p.header, at, sizeof(p.header));
	at += sizeof(p.header);
	p.starts = (const void *)at;
	p.numbers = p.starts + p.header.n_ranges;
	p.locations = (const void *)(p.numbers + p.header.n_ranges);
	p.strings = (const char *)(p.locations + p.header.n_locations);
	return p;
}

static int check_locations(const struct parts *p, struct hl_err *err)
{
	for (uint32_t i = 0; i < p->header.n_locations; i++) {
		const struct location *l = &p->locations[i];

		if (l->function >= p->header.strings_len || l->file >= p->header.strings_len)
			return hl_err_set(err, -EBADMSG, "location %u names a string past the end", i);
		/* So that no chain is a ring. */
		if (l->up >= i && l->up != 0)
			return hl_err_set(err, -EBADMSG, "location %u is inlined into location %u", i, l->up);
	}
	return 0;
}

int hl_inlines_check(const void *bytes, size_t len, struct hl_err *err)
{
	struct parts p;
	uint64_t need;

	if (len < sizeof(p.header))
		return hl_err_set(err, -EBADMSG, "%zu bytes are too short for a table of lines", len);
	memcpy(&p.header, bytes, sizeof(p.header));
	if (p.header.magic != HL_INLINES_MAGIC || p.header.version != HL_INLINES_VERSION)
		return hl_err_set(err, -EBADMSG, "no table of lines of version %u", HL_INLINES_VERSION);
	need = sizeof(p.header) + 8 * (uint64_t)p.header.n_ranges +
	       sizeof(struct location) * (uint64_t)p.header.n_locations;
	if (need > len || p.header.strings_len != len - need || p.header.strings_len == 0 ||
	    p.header.n_locations == 0)
		return hl_err_set(err, -EBADMSG, "the counts of a table of lines do not add up to %zu bytes",
				  len);
	p = split(bytes);
	for (uint32_t i = 0; i < p.header.n_ranges; i++) {
		if (i && p.starts[i] <= p.starts[i - 1])
			return hl_err_set(err, -EBADMSG, "range %u does not ascend", i);
		if (p.numbers[i] >= p.header.n_locations)
			return hl_err_set(err, -EBADMSG, "range %u has a location that there is not", i);
	}
	if (p.strings[0] || p.strings[p.header.strings_len - 1])
		return hl_err_set(err, -EBADMSG, "the strings of a table of lines are not terminated");
	return check_locations(&p, err);
}

size_t hl_inlines_find(const void *table, uint64_t address, struct hl_inlines_frame ret[HL_INLINES_DEPTH])
{
	struct parts p = split(table);
	uint64_t offset = address - p.header.base;
	size_t low = 0, high = p.header.n_ranges, middle, n;
	const struct location *l;
	uint32_t number;

	if (offset > UINT32_MAX)
		return 0;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (p.starts[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	number = low ? p.numbers[low - 1] : 0;
	for (n = 0; number && n < HL_INLINES_DEPTH; n++) {
		l = &p.locations[number];
		ret[n] = (struct hl_inlines_frame){ .function = p.strings + l->function,
						    .file = p.strings + l->file,
						    .function_id = l->function,
						    .file_id = l->file,
						    .line = l->line };
		number = l->up;
	}
	return n;
}
