// SPDX-License-Identifier: BSD-2-Clause
#include "base/cursor.h"

#include <errno.h>

#include "base/err.h"

static uint64_t cursor_fail(struct hl_cursor *c, size_t wanted)
{
	if (!c->failed)
		c->wanted = wanted;
	c->failed = true;
	return 0;
}

uint64_t hl_cursor_uleb(struct hl_cursor *c)
{
	uint64_t value = 0, bits;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = hl_cursor_u8(c);
		bits = byte & 0x7f;
		if (shift > 63 ? bits != 0 : (bits << shift) >> shift != bits)
			return cursor_fail(c, 1);
		if (shift <= 63)
			value |= bits << shift;
		shift += 7;
	} while (byte & 0x80);
	return c->failed ? 0 : value;
}

int64_t hl_cursor_sleb(struct hl_cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (shift > 63)
			return (int64_t)cursor_fail(c, 1);
		byte = hl_cursor_u8(c);
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift <= 63 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return c->failed ? 0 : (int64_t)value;
}

const char *hl_cursor_string(struct hl_cursor *c)
{
	const uint8_t *nul = hl_cursor_left(c) ? memchr(c->data + c->pos, 0, c->len - c->pos) : NULL;

	if (!nul) {
		(void)cursor_fail(c, hl_cursor_left(c) + 1);
		return NULL;
	}
	return hl_cursor_bytes(c, (size_t)(nul - c->data) + 1 - c->pos);
}

int hl_cursor_status(const struct hl_cursor *c, struct hl_err *err)
{
	if (!c->failed)
		return 0;
	return hl_err_set(err, -EBADMSG, "%s ends too early: %zu bytes wanted at 0x%zx of 0x%zx", c->name,
			  c->wanted, c->pos, c->len);
}
