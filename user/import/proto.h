/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_IMPORT_PROTO_H
#define HL_IMPORT_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

/* Reads protocol buffers' wire format (protobuf.dev, "Encoding"); what is damaged fails the cursor. */

struct hl_proto_field {
	uint32_t number;
	bool is_bytes; /* a string, a message or packed integers: `bytes`; else `value` */
	uint64_t value;
	struct hl_cursor bytes; /* with the name of the cursor that it was read from */
};

/* The next field of the message; false at its end, and at damage. */
static inline bool hl_proto_next(struct hl_cursor *c, struct hl_proto_field *ret)
{
	enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
	uint64_t tag, len;

	if (!hl_cursor_left(c))
		return false;
	tag = hl_cursor_uleb(c);
	*ret = (struct hl_proto_field){ .number = (uint32_t)(tag >> 3), .is_bytes = (tag & 7) == BYTES };
	switch (tag & 7) {
	case VARINT:
		ret->value = hl_cursor_uleb(c);
		break;
	case FIXED64:
		ret->value = hl_cursor_u64(c);
		break;
	case FIXED32:
		ret->value = hl_cursor_u32(c);
		break;
	case BYTES:
		len = hl_cursor_uleb(c);
		if (c->failed || len > hl_cursor_left(c)) {
			hl_cursor_skip(c, SIZE_MAX);
			return false;
		}
		ret->bytes = hl_cursor_of(c->data + c->pos, (size_t)len, c->name);
		hl_cursor_skip(c, (size_t)len);
		break;
	default: /* groups, which are long gone, and what never was */
		hl_cursor_skip(c, SIZE_MAX);
	}
	if (tag >> 3 == 0 || tag >> 32)
		hl_cursor_skip(c, SIZE_MAX);
	return !c->failed;
}

/*
 * The next integer of a repeated field, which may be packed or not: false when there is none left in @field.
 * A field that is no integer ends as it begins.
 */
static inline bool hl_proto_next_int(struct hl_proto_field *field, uint64_t *ret)
{
	if (!field->is_bytes) {
		*ret = field->value;
		field->is_bytes = true; /* once */
		field->bytes = hl_cursor_of("", 0, "");
		return true;
	}
	if (!hl_cursor_left(&field->bytes))
		return false;
	*ret = hl_cursor_uleb(&field->bytes);
	return !field->bytes.failed;
}

#endif
