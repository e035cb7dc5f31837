// SPDX-License-Identifier: BSD-2-Clause
#include "render/proto.h"

#include <errno.h>
#include <zlib.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, CHUNK = 64 * 1024 };

void hl_proto_varint(struct hl_str *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		hl_str_addc(out, (char)(value | 0x80));
	hl_str_addc(out, (char)value);
}

void hl_proto_uint(struct hl_str *out, unsigned int number, uint64_t value)
{
	if (!value)
		return;
	hl_proto_varint(out, number << 3 | WIRE_VARINT);
	hl_proto_varint(out, value);
}

void hl_proto_bytes(struct hl_str *out, unsigned int number, const void *bytes, size_t len)
{
	hl_proto_varint(out, number << 3 | WIRE_BYTES);
	hl_proto_varint(out, len);
	hl_str_add(out, bytes, len);
}

void hl_proto_message(struct hl_str *out, unsigned int number, const struct hl_str *message)
{
	hl_proto_bytes(out, number, message->data, message->len);
	out->failed |= message->failed;
}

struct hl_gzip {
	z_stream z;
	FILE *out;
	int status; /* of zlib */
	unsigned char buffer[CHUNK];
};

struct hl_gzip *hl_gzip_new(FILE *out)
{
	struct hl_gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->out = out;
	/* 16 + 15: a gzip header and the largest window. */
	if (deflateInit2(&gzip->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

void hl_gzip_free(struct hl_gzip *gzip)
{
	if (!gzip)
		return;
	(void)deflateEnd(&gzip->z);
	free(gzip);
}

/* Compresses what the stream was given, and writes as much as comes out. */
static void pump(struct hl_gzip *gzip, int flush)
{
	do {
		gzip->z.next_out = gzip->buffer;
		gzip->z.avail_out = sizeof(gzip->buffer);
		gzip->status = deflate(&gzip->z, flush);
		(void)fwrite(gzip->buffer, 1, sizeof(gzip->buffer) - gzip->z.avail_out, gzip->out);
	} while (gzip->z.avail_out == 0 && gzip->status == Z_OK);
}

void hl_gzip_write(struct hl_gzip *gzip, const void *bytes, size_t len)
{
	while (len && gzip->status == Z_OK) {
		uInt here = len < (1u << 30) ? (uInt)len : 1u << 30;

		gzip->z.next_in = (unsigned char *)bytes;
		gzip->z.avail_in = here;
		pump(gzip, Z_NO_FLUSH);
		/* Room was left and nothing to do: no error, see zlib.h. */
		if (gzip->status == Z_BUF_ERROR)
			gzip->status = Z_OK;
		bytes = (const char *)bytes + here;
		len -= here;
	}
}

int hl_gzip_end(struct hl_gzip *gzip)
{
	if (gzip->status == Z_OK)
		pump(gzip, Z_FINISH);
	return gzip->status == Z_STREAM_END ? 0 : -EIO;
}
