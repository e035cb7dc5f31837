// SPDX-License-Identifier: BSD-2-Clause
#include "process/bolt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"

/*
 * The format, by bbolt's page.go, bucket.go and db.go. A file is pages of one size. Pages 0 and 1 are metas; the one
 * with the higher transaction that is whole counts, and names the root of a tree of buckets. A page of a tree is a
 * branch, whose elements have the least key of a page below, or a leaf, whose elements are keys with values, some of
 * which are buckets: the number of their own root, or 0 and the page itself behind it. Pages are not written over while
 * a meta names them, but by the transaction after the next: so a look-up during which the transaction stayed the same
 * saw one state.
 */

enum {
	MAGIC = (int)0xed0cdaed,
	VERSION = 2,
	META = 64,
	PAGE_HEADER = 16,
	BUCKET_HEADER = 16,
	IS_BRANCH = 1,
	IS_LEAF = 2,
	IS_BUCKET = 1, /* of an element */
	MAX_DEPTH = 16,
	MAX_TRIES = 5,
	PAGE_LIMIT = 4 << 20, /* with those that continue it */
};

struct meta {
	uint64_t root, transaction;
	uint32_t page_size;
};

/* What is looked at: a page that was read, or one inside of a value of it. */
struct look_up {
	int fd;
	struct meta meta;
	uint8_t *owned;
	const uint8_t *page;
	size_t len;
};

static int read_exactly(int fd, void *into, size_t len, uint64_t offset)
{
	ssize_t n = pread(fd, into, len, (off_t)offset);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EBADMSG;
}

/* FNV-1a of 64 bits. */
static uint64_t checksum(const uint8_t *bytes, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h;
}

/* The meta of the page at @offset. False if it is none. */
static bool read_meta(int fd, uint64_t offset, struct meta *ret)
{
	uint8_t bytes[META];
	struct hl_cursor c = hl_cursor_of(bytes, sizeof(bytes), "a meta page");

	if (read_exactly(fd, bytes, sizeof(bytes), offset + PAGE_HEADER) ||
	    hl_cursor_u32(&c) != (uint32_t)MAGIC || hl_cursor_u32(&c) != VERSION)
		return false;
	ret->page_size = hl_cursor_u32(&c);
	hl_cursor_skip(&c, 4); /* flags */
	ret->root = hl_cursor_u64(&c);
	hl_cursor_skip(&c, 24); /* the root's sequence, free pages, pages in all */
	ret->transaction = hl_cursor_u64(&c);
	return hl_cursor_u64(&c) == checksum(bytes, META - 8) && ret->page_size >= 512 &&
	       ret->page_size <= 1 << 16 && !(ret->page_size & (ret->page_size - 1));
}

/* Where the second meta is only the first tells, or, if that is torn, the sizes that there are. */
static int choose_meta(int fd, struct meta *ret)
{
	struct meta meta;
	bool have = read_meta(fd, 0, ret);

	for (uint32_t size = have ? ret->page_size : 512; size <= 1 << 16; size *= 2) {
		if (read_meta(fd, size, &meta) && meta.page_size == size &&
		    (!have || meta.transaction > ret->transaction)) {
			*ret = meta;
			return 0;
		}
		if (have)
			return 0;
	}
	return -EBADMSG;
}

/* Goes to page @number. */
static int read_page(struct look_up *l, uint64_t number)
{
	uint8_t header[PAGE_HEADER];
	struct hl_cursor c = hl_cursor_of(header, sizeof(header), "a page");
	uint8_t *bytes;
	uint64_t more, len;
	int code;

	if (number > INT64_MAX / (1 << 17))
		return -EBADMSG;
	code = read_exactly(l->fd, header, sizeof(header), number * l->meta.page_size);
	if (code)
		return code;
	if (hl_cursor_u64(&c) != number)
		return -EBADMSG;
	hl_cursor_skip(&c, 4); /* flags, count */
	more = hl_cursor_u32(&c);
	len = (more + 1) * l->meta.page_size;
	if (len > PAGE_LIMIT)
		return -EFBIG;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	free(l->owned);
	l->owned = bytes;
	l->page = bytes;
	l->len = len;
	return read_exactly(l->fd, bytes, len, number * l->meta.page_size);
}

/* An element of a page. */
struct element {
	const char *key;
	size_t key_len, value_len;
	const uint8_t *value;
	uint64_t page;
	uint32_t flags;
};

/* Element @index of a branch or a leaf. False: it does not lie in its page. */
static bool get_element(const struct look_up *l, bool branch, uint32_t index, struct element *ret)
{
	struct hl_cursor c = hl_cursor_of(l->page, l->len, "a page");
	size_t at = PAGE_HEADER + (size_t)index * 16;
	uint32_t pos;

	*ret = (struct element){ 0 };
	hl_cursor_seek(&c, at);
	if (!branch)
		ret->flags = hl_cursor_u32(&c);
	pos = hl_cursor_u32(&c);
	ret->key_len = hl_cursor_u32(&c);
	if (branch)
		ret->page = hl_cursor_u64(&c);
	else
		ret->value_len = hl_cursor_u32(&c);
	hl_cursor_seek(&c, at + pos);
	ret->key = hl_cursor_bytes(&c, ret->key_len);
	ret->value = hl_cursor_bytes(&c, ret->value_len);
	return !c.failed;
}

static int compare(const struct element *e, const char *key, size_t len)
{
	int order = memcmp(e->key, key, e->key_len < len ? e->key_len : len);

	return order ? order : (e->key_len > len) - (e->key_len < len);
}

/* The last element of the page whose key is not above @key; -ENOENT: they all are. */
static int find_in_page(const struct look_up *l, bool branch, uint32_t count, const char *key,
			struct element *ret)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!get_element(l, branch, middle, ret))
			return -EBADMSG;
		if (compare(ret, key, strlen(key)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	return get_element(l, branch, low - 1, ret) ? 0 : -EBADMSG;
}

/* The element of @key in the tree whose root is looked at. */
static int find(struct look_up *l, const char *key, struct element *ret)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		struct hl_cursor c = hl_cursor_of(l->page, l->len, "a page");
		uint16_t flags, count;
		int code;

		hl_cursor_skip(&c, 8); /* its number; 0 inside of a value */
		flags = hl_cursor_u16(&c);
		count = hl_cursor_u16(&c);
		if (c.failed || (flags != IS_BRANCH && flags != IS_LEAF))
			return -EBADMSG;
		code = find_in_page(l, flags == IS_BRANCH, count, key, ret);
		if (code)
			return code;
		if (flags == IS_LEAF)
			return compare(ret, key, strlen(key)) == 0 ? 0 : -ENOENT;
		code = read_page(l, ret->page);
		if (code)
			return code;
	}
	return -EBADMSG;
}

/* Goes into the bucket in @element. */
static int enter(struct look_up *l, const struct element *element)
{
	struct hl_cursor c = hl_cursor_of(element->value, element->value_len, "a bucket");
	uint64_t root = hl_cursor_u64(&c);

	hl_cursor_skip(&c, 8); /* its sequence */
	if (c.failed || !(element->flags & IS_BUCKET))
		return -EBADMSG;
	if (root)
		return read_page(l, root);
	l->page = element->value + BUCKET_HEADER;
	l->len = element->value_len - BUCKET_HEADER;
	return 0;
}

static int get_once(struct look_up *l, const char *const *keys, size_t n, size_t limit, char **ret,
		    size_t *ret_len)
{
	struct element element = { 0 };
	int code = read_page(l, l->meta.root);

	for (size_t i = 0; i < n && !code; i++) {
		if (i)
			code = enter(l, &element);
		if (!code)
			code = find(l, keys[i], &element);
	}
	if (code)
		return code;
	if (!element.value || (element.flags & IS_BUCKET))
		return -EBADMSG;
	if (element.value_len > limit)
		return -EFBIG;
	*ret = calloc(1, element.value_len + 1);
	*ret_len = element.value_len;
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, element.value, element.value_len);
	return 0;
}

int hl_bolt_get(int fd, const char *const *keys, size_t n, size_t limit, char **ret, size_t *ret_len)
{
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		struct look_up l = { .fd = fd };
		_cleanup_free_ char *value = NULL;
		struct meta now;
		size_t len = 0;
		int code = choose_meta(fd, &l.meta);

		if (code)
			return code;
		code = get_once(&l, keys, n, limit, &value, &len);
		free(l.owned);
		/* What was found amiss may be so because it was being written. */
		if (choose_meta(fd, &now) || now.transaction != l.meta.transaction)
			continue;
		if (code)
			return code;
		*ret = TAKE_PTR(value);
		*ret_len = len;
		return 0;
	}
	return -EAGAIN;
}
