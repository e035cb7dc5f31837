// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/growing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

enum { MARK_BYTES = 256 };

/* A hash of the bytes before the offset: they change when the file is written anew. 0: cannot be read. */
static uint64_t mark_of(const struct hl_growing *g)
{
	char bytes[MARK_BYTES];
	size_t n = g->offset < sizeof(bytes) ? (size_t)g->offset : sizeof(bytes);

	if (pread(g->fd, bytes, n, (off_t)(g->offset - n)) != (ssize_t)n)
		return 0;
	return hl_hash(bytes, n, 0) | 1;
}

int hl_growing_begin(struct hl_growing *g, int fd, bool *ret_anew)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	g->fd = fd;
	*ret_anew = g->offset && ((uint64_t)st.st_dev != g->device || (uint64_t)st.st_ino != g->inode ||
				  (uint64_t)st.st_size < g->offset || mark_of(g) != g->mark);
	g->buffer = malloc(HL_GROWING_BUFFER);
	if (!g->buffer)
		return -ENOMEM;
	if (*ret_anew)
		g->offset = 0;
	g->device = (uint64_t)st.st_dev;
	g->inode = (uint64_t)st.st_ino;
	g->end = g->size = (uint64_t)st.st_size;
	if (g->end > g->offset + HL_GROWING_STEP)
		g->end = g->offset + HL_GROWING_STEP;
	g->base = g->len = 0;
	return 0;
}

void hl_growing_finish(struct hl_growing *g)
{
	g->mark = mark_of(g);
	free(g->buffer);
	g->buffer = NULL;
	g->fd = -1;
}

uint64_t hl_growing_left(const struct hl_growing *g)
{
	return g->offset < g->size ? g->size - g->offset : 0;
}

size_t hl_growing_peek(struct hl_growing *g, size_t want, const char **ret)
{
	uint64_t left = g->offset < g->end ? g->end - g->offset : 0;
	size_t have;
	ssize_t n;

	if (want > left)
		want = (size_t)left;
	if (g->offset < g->base || g->offset > g->base + g->len || g->base + g->len - g->offset < want) {
		size_t most = left < HL_GROWING_BUFFER ? (size_t)left : HL_GROWING_BUFFER;

		n = pread(g->fd, g->buffer, most, (off_t)g->offset);
		g->base = g->offset;
		g->len = n < 0 ? 0 : (size_t)n;
	}
	have = (size_t)(g->base + g->len - g->offset);
	*ret = g->buffer + (g->offset - g->base);
	return have < want ? have : want;
}
