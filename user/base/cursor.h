/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_CURSOR_H
#define HL_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hl_err;

/*
 * A reader of little-endian fields over bytes that nobody vouches for. A read past the end gives zeros,
 * moves nothing and is remembered; every later read gives zeros too. So a caller reads a whole record and
 * asks once, with hl_cursor_status(), whether all of it was there.
 */
struct hl_cursor {
	const uint8_t *data; /* borrowed */
	size_t len, pos;
	const char *name; /* what the bytes are, for sentences: "section '.symtab' of 'file 3'"; borrowed */
	size_t wanted;    /* bytes that the failed read asked for */
	bool failed;
};

static inline struct hl_cursor hl_cursor_of(const void *data, size_t len, const char *name)
{
	return (struct hl_cursor){ .data = data, .len = len, .name = name };
}

/* The next @n bytes, or NULL past the end. Valid as long as the bytes that the cursor reads. */
static inline const void *hl_cursor_bytes(struct hl_cursor *c, size_t n)
{
	const void *at;

	if (c->failed || n > c->len - c->pos) {
		if (!c->failed)
			c->wanted = n;
		c->failed = true;
		return NULL;
	}
	at = c->data + c->pos;
	c->pos += n;
	return at;
}

static inline size_t hl_cursor_left(const struct hl_cursor *c)
{
	return c->failed ? 0 : c->len - c->pos;
}

static inline void hl_cursor_skip(struct hl_cursor *c, size_t n)
{
	(void)hl_cursor_bytes(c, n);
}

/* Goes to @pos; past the end is a failure, the end itself is not. */
static inline void hl_cursor_seek(struct hl_cursor *c, size_t pos)
{
	if (c->failed)
		return;
	c->pos = 0;
	(void)hl_cursor_bytes(c, pos);
}

#define HL_CURSOR_DEFINE_READ(name, type)                          \
	static inline type hl_cursor_##name(struct hl_cursor *c)   \
	{                                                          \
		const void *at = hl_cursor_bytes(c, sizeof(type)); \
		type value = 0;                                    \
                                                                   \
		if (at)                                            \
			memcpy(&value, at, sizeof(value));         \
		return value;                                      \
	}
HL_CURSOR_DEFINE_READ(u8, uint8_t)
HL_CURSOR_DEFINE_READ(u16, uint16_t)
HL_CURSOR_DEFINE_READ(u32, uint32_t)
HL_CURSOR_DEFINE_READ(u64, uint64_t)
#undef HL_CURSOR_DEFINE_READ

/* A field that is 64 bits wide in one class of a format and 32 in the other. */
static inline uint64_t hl_cursor_word(struct hl_cursor *c, bool wide)
{
	return wide ? hl_cursor_u64(c) : hl_cursor_u32(c);
}

/* (S)LEB128, DWARF 5 section 7.6. More than 64 significant bits are a failure. */
uint64_t hl_cursor_uleb(struct hl_cursor *c);
int64_t hl_cursor_sleb(struct hl_cursor *c);

/* The NUL-terminated string here, and goes behind its NUL; NULL (a failure) if no NUL follows. */
const char *hl_cursor_string(struct hl_cursor *c);

/* 0; or -EBADMSG with a sentence about the first read that failed. */
int hl_cursor_status(const struct hl_cursor *c, struct hl_err *err);

#endif
