// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/perfmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "symbol/codemap.h"
#include "symbol/growing.h"

struct hl_perf_map {
	struct hl_growing file;
	bool in_long_line; /* the start of the line at the offset was taken already: its name is cut */
};

struct hl_perf_map *hl_perf_map_new(void)
{
	return calloc(1, sizeof(struct hl_perf_map));
}

void hl_perf_map_free(struct hl_perf_map *map)
{
	free(map);
}

/* Goes over blanks; false if there are none. */
static bool skip_blanks(const char **at, const char *end)
{
	const char *from = *at;

	while (*at < end && (**at == ' ' || **at == '\t'))
		++*at;
	return *at > from;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A hexadecimal number of at most 64 bits. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	const char *from;
	uint64_t value = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	for (from = *at; *at < end && digit_of(**at) >= 0; ++*at) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit_of(**at);
	}
	*ret = value;
	return *at > from;
}

static void take_line(const char *at, const char *end, struct hl_code_map *into)
{
	uint64_t start, size;

	(void)skip_blanks(&at, end);
	if (end > at && end[-1] == '\r')
		end--;
	if (at == end)
		return;
	if (take_number(&at, end, &start) && skip_blanks(&at, end) && take_number(&at, end, &size) &&
	    skip_blanks(&at, end))
		hl_code_map_add(into, start, size, at, (size_t)(end - at));
	else
		hl_code_map_count_damaged(into);
}

/* Takes the lines in the next @n bytes; how many of the bytes are done with. */
static size_t take_lines(struct hl_perf_map *map, const char *bytes, size_t n, struct hl_code_map *into)
{
	const char *at = bytes, *end = bytes + n, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (!map->in_long_line)
			take_line(at, newline, into);
		map->in_long_line = false;
		at = newline + 1;
	}
	/* What fills the buffer without an end is one line, of which the start is enough. */
	if (at == bytes && n == HL_GROWING_BUFFER) {
		if (!map->in_long_line)
			take_line(at, end, into);
		map->in_long_line = true;
	}
	return map->in_long_line ? n : (size_t)(at - bytes);
}

int hl_perf_map_read(struct hl_perf_map *map, int fd, struct hl_code_map *into, struct hl_err *err)
{
	const char *bytes;
	bool anew;
	size_t n, done;
	int r = hl_growing_begin(&map->file, fd, &anew);

	if (r < 0)
		return hl_err_errno(err, r, "cannot read the perf map");
	if (anew) {
		hl_code_map_clear(into);
		map->in_long_line = false;
	}
	do {
		n = hl_growing_peek(&map->file, HL_GROWING_BUFFER, &bytes);
		done = take_lines(map, bytes, n, into);
		map->file.offset += done;
	} while (done);
	hl_code_map_set_left(into, hl_growing_left(&map->file));
	hl_growing_finish(&map->file);
	return 0;
}
