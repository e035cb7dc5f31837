// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/jitdump.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "symbol/jitdump_format.h"
#include "symbol/symbol.h"

/*
 * The bytes of code are wanted seldom, and for one function at a time: nothing is kept for that. The file is gone
 * through for the last record about the address. If that says that the code was moved there, it is gone through once
 * more up to that record, for the address that it came from.
 */

enum { MAX_RECORDS = 8 << 20, MAX_MOVES = 8 };

/* The last record about an address. */
struct found {
	uint64_t at;   /* in the file; 0: none */
	uint64_t from; /* of a move */
	uint32_t id, size;
};

struct search {
	int fd;
	uint64_t until_ns;   /* 0: all times */
	uint64_t begin, end; /* of the records */
	uint32_t left;       /* records that may still be looked at */
};

static size_t read_at(int fd, void *bytes, size_t len, uint64_t at)
{
	ssize_t n = pread(fd, bytes, len, (off_t)at);

	return n > 0 ? (size_t)n : 0;
}

static int read_header(struct search *s, struct hl_err *err)
{
	uint8_t bytes[HL_JIT_HEADER_SIZE];
	struct hl_cursor c =
		hl_cursor_of(bytes, read_at(s->fd, bytes, sizeof(bytes), 0), "the jitdump's header");
	uint32_t magic = hl_cursor_u32(&c), size;
	uint64_t time, flags;

	hl_cursor_skip(&c, 4);
	size = hl_cursor_u32(&c);
	hl_cursor_skip(&c, 3 * 4);
	time = hl_cursor_u64(&c);
	flags = hl_cursor_u64(&c);
	if (hl_cursor_status(&c, err) < 0)
		return -EBADMSG;
	if (magic != HL_JIT_MAGIC || size < HL_JIT_HEADER_SIZE)
		return hl_err_set(err, -EBADMSG, "no jitdump");
	if ((flags & HL_JIT_ARCH_TIMESTAMP) || !time || time > s->until_ns)
		s->until_ns = 0;
	s->begin = size;
	return 0;
}

/* The last record about code at @start. */
static struct found find_last(struct search *s, uint64_t start)
{
	uint8_t bytes[HL_JIT_MOVE_SIZE];
	struct found last = { .at = 0 };
	uint64_t at = s->begin;

	while (at < s->end && s->left) {
		struct hl_cursor c = hl_cursor_of(bytes, read_at(s->fd, bytes, sizeof(bytes), at), "");
		struct found this = { .at = at, .id = hl_cursor_u32(&c), .size = hl_cursor_u32(&c) };
		uint64_t time = hl_cursor_u64(&c), first, second;

		s->left--;
		hl_cursor_skip(&c, 2 * 4 + 8);
		first = hl_cursor_u64(&c);
		second = hl_cursor_u64(&c);
		if (this.size < HL_JIT_PREFIX_SIZE || (s->until_ns && time > s->until_ns) ||
		    this.id == HL_JIT_CODE_CLOSE)
			break;
		this.from = first;
		if (hl_cursor_status(&c, NULL) == 0 && ((this.id == HL_JIT_CODE_LOAD && first == start) ||
							(this.id == HL_JIT_CODE_MOVE && second == start)))
			last = this;
		at += this.size;
	}
	return last;
}

/* The code of a LOAD stands behind the name. */
static int read_code(const struct search *s, const struct found *load, uint8_t *ret, size_t size)
{
	char name[HL_SYMBOL_NAME_MAX];
	uint64_t at = load->at + HL_JIT_LOAD_SIZE, end = load->at + load->size;
	size_t n = read_at(s->fd, name, sizeof(name), at), len = strnlen(name, n);

	if (len == n || at + len + 1 > end || size > end - (at + len + 1))
		return -ENODATA;
	return read_at(s->fd, ret, size, at + len + 1) == size ? 0 : -ENODATA;
}

int hl_jit_dump_find_code(int fd, uint64_t until_ns, uint64_t start, uint8_t *ret, size_t size,
			  struct hl_err *err)
{
	struct search s = { .fd = fd, .until_ns = until_ns, .end = INT64_MAX, .left = MAX_RECORDS };
	int r = read_header(&s, err);

	if (r < 0)
		return r;
	for (int moves = 0; moves <= MAX_MOVES; moves++) {
		struct found last = find_last(&s, start);

		if (!last.at || !s.left)
			break;
		if (last.id == HL_JIT_CODE_LOAD) {
			r = read_code(&s, &last, ret, size);
			return r < 0 ? hl_err_set(err, r, "the jitdump does not have the bytes of the code")
				     : 0;
		}
		start = last.from;
		s.end = last.at;
	}
	return hl_err_set(err, -ENODATA, "the jitdump does not tell of code at 0x%llx",
			  (unsigned long long)start);
}
