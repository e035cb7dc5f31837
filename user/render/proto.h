/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_PROTO_H
#define HL_RENDER_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

/*
 * Protocol buffers' wire format (protobuf.dev, "Encoding"), the little that a writer needs: a message is a
 * row of fields, each a tag (number << 3 | wire type) and a value; a message inside another is its length and
 * its bytes. Fields with the value 0 are left out, as proto3 has it.
 */

void hl_proto_varint(struct hl_str *out, uint64_t value);
/* Field @number with an integer, nothing if that is 0. */
void hl_proto_uint(struct hl_str *out, unsigned int number, uint64_t value);
/* Field @number with a string, bytes or a message, also an empty one. */
void hl_proto_bytes(struct hl_str *out, unsigned int number, const void *bytes, size_t len);
/* Field @number with a message or packed integers. A failure of @message becomes one of @out. */
void hl_proto_message(struct hl_str *out, unsigned int number, const struct hl_str *message);

/* A stream that is compressed as it is written. */
struct hl_gzip;

/* Compresses to @out, which stays the caller's. NULL without memory. hl_gzip_free() accepts NULL. */
struct hl_gzip *hl_gzip_new(FILE *out);
void hl_gzip_free(struct hl_gzip *gzip);
void hl_gzip_write(struct hl_gzip *gzip, const void *bytes, size_t len);
/* Writes what is left. 0 or -EIO: the compressor failed. Errors of the stream are the caller's to look for. */
int hl_gzip_end(struct hl_gzip *gzip);

#endif
