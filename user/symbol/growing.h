/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_GROWING_H
#define HL_SYMBOL_GROWING_H

/*
 * A file of records that a running process appends to, read from where the last read ended; private to this
 * folder. Zero-initialised, nothing was read yet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HL_GROWING_BUFFER = 1 << 16 };

/* Beyond so many bytes in one go the rest waits for the next. */
#define HL_GROWING_STEP (UINT64_C(512) << 20)

struct hl_growing {
	uint64_t offset; /* everything before it was taken */
	uint64_t device, inode;
	uint64_t mark; /* hash of the last bytes before the offset */
	/* While reading: */
	int fd;
	uint64_t size; /* of the file */
	uint64_t end;  /* as far as this read goes */
	uint64_t base; /* of the buffer in the file */
	size_t len;
	char *buffer;
};

/*
 * Begins a read of @fd. @ret_anew: what was taken before is no longer what the file says, for it was
 * written anew or is another file, and all is read again. 0 or -errno; to be followed by
 * hl_growing_finish() if it succeeded.
 */
int hl_growing_begin(struct hl_growing *growing, int fd, bool *ret_anew);
void hl_growing_finish(struct hl_growing *growing);
/* Bytes behind the offset that were in the file when the last read began. */
uint64_t hl_growing_left(const struct hl_growing *growing);

/*
 * The bytes at the offset: @want of them, which are at most HL_GROWING_BUFFER, or fewer at the end of this
 * read, 0 on an error of reading. Valid until the next call.
 */
size_t hl_growing_peek(struct hl_growing *growing, size_t want, const char **ret);

#endif
