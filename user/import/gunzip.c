// SPDX-License-Identifier: BSD-2-Clause
#include "import/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

enum { CHUNK = 64 * 1024 };

struct input {
	const char *path;
	int fd;
	uint8_t buffer[CHUNK];
	size_t len; /* in the buffer */
};

static int fill(struct input *in, struct hl_err *err)
{
	ssize_t n;

	do
		n = read(in->fd, in->buffer, sizeof(in->buffer));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return hl_err_errno(err, -errno, "cannot read '%s'", in->path);
	in->len = (size_t)n;
	return 0;
}

struct output {
	uint8_t *bytes;
	size_t len, cap, limit;
};

static int make_room(struct output *out, const char *path, struct hl_err *err)
{
	size_t want = out->cap ? out->cap * 2 : CHUNK;
	int code;

	if (out->len < out->cap)
		return 0;
	if (out->len >= out->limit)
		return hl_err_set(err, -EFBIG, "'%s' holds more than %zu MiB", path, out->limit >> 20);
	code = hl_grow(&out->bytes, &out->cap, want < out->limit ? want : out->limit, 1, SIZE_MAX);
	return code ? hl_err_errno(err, code, "no memory for '%s'", path) : 0;
}

static int copy(struct input *in, struct output *out, struct hl_err *err)
{
	int code = 0;

	while (in->len && !code) {
		for (size_t at = 0, n; at < in->len && !code; at += n) {
			code = make_room(out, in->path, err);
			n = in->len - at < out->cap - out->len ? in->len - at : out->cap - out->len;
			if (!code && out->bytes)
				memcpy(out->bytes + out->len, in->buffer + at, n);
			out->len += code ? 0 : n;
		}
		if (!code)
			code = fill(in, err);
	}
	if (!code && out->len > out->limit)
		return hl_err_set(err, -EFBIG, "'%s' holds more than %zu MiB", in->path, out->limit >> 20);
	return code;
}

static int inflate_all(struct input *in, struct output *out, z_stream *z, struct hl_err *err)
{
	int status = Z_OK, code = 0;

	z->next_in = in->buffer;
	z->avail_in = (uInt)in->len;
	while (status == Z_OK && !code) {
		size_t room;

		if (!z->avail_in) {
			code = fill(in, err);
			z->next_in = in->buffer;
			z->avail_in = (uInt)in->len;
			if (!code && !in->len)
				return hl_err_set(err, -EBADMSG, "'%s' ends inside its gzip stream",
						  in->path);
		}
		if (!code)
			code = make_room(out, in->path, err);
		if (code)
			return code;
		room = out->cap - out->len < (1u << 30) ? out->cap - out->len : 1u << 30;
		z->next_out = out->bytes + out->len;
		z->avail_out = (uInt)room;
		status = inflate(z, Z_NO_FLUSH);
		out->len += room - z->avail_out;
		if (status == Z_BUF_ERROR) /* more input, or more room */
			status = Z_OK;
	}
	if (status != Z_STREAM_END)
		return hl_err_set(err, -EBADMSG, "'%s' is damaged: %s", in->path,
				  z->msg ? z->msg : "not gzip");
	if (z->avail_in)
		return hl_err_set(err, -EBADMSG,
				  "'%s' has bytes behind the end of its gzip stream: one profile a file",
				  in->path);
	return 0;
}

static int decompress(struct input *in, struct output *out, struct hl_err *err)
{
	z_stream z = { 0 };
	int code;

	if (inflateInit2(&z, 16 + 15) != Z_OK)
		return hl_err_set(err, -ENOMEM, "no memory to decompress '%s'", in->path);
	code = inflate_all(in, out, &z, err);
	(void)inflateEnd(&z);
	return code;
}

int hl_gunzip_file(const char *path, size_t limit, uint8_t **ret, size_t *ret_len, struct hl_err *err)
{
	/* A FIFO without a writer must not hold us up. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ struct input *in = malloc(sizeof(*in));
	struct output out = { .limit = limit };
	struct stat st;
	int code;

	if (!in)
		return hl_err_set(err, -ENOMEM, "no memory for '%s'", path);
	if (fd < 0 || fstat(fd, &st))
		return hl_err_errno(err, -errno, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return hl_err_set(err, -EINVAL, "'%s' is no regular file", path);
	in->path = path;
	in->fd = fd;
	code = fill(in, err);
	if (!code && in->len >= 2 && in->buffer[0] == 0x1f && in->buffer[1] == 0x8b)
		code = decompress(in, &out, err);
	else if (!code)
		code = copy(in, &out, err);
	if (code) {
		free(out.bytes);
		return code;
	}
	*ret = out.bytes;
	*ret_len = out.len;
	return 0;
}
