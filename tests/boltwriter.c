// SPDX-License-Identifier: BSD-2-Clause
#include "boltwriter.h"

#include <string.h>

static void put(uint8_t **at, uint64_t value, size_t bytes)
{
	memcpy(*at, &value, bytes);
	*at += bytes;
}

void bolt_meta(uint8_t *file, int which, uint64_t root, uint64_t transaction)
{
	uint8_t *at = file + (size_t)which * BOLT_PAGE, *meta = at + 16;
	uint64_t h = 0xcbf29ce484222325;

	put(&at, (uint64_t)which, 8);
	put(&at, 4, 2); /* a meta */
	put(&at, 0, 6);
	put(&at, 0xed0cdaed, 4);
	put(&at, 2, 4);
	put(&at, BOLT_PAGE, 4);
	put(&at, 0, 4);
	put(&at, root, 8);
	put(&at, 0, 8);
	put(&at, 2, 8);
	put(&at, 99, 8);
	put(&at, transaction, 8);
	for (const uint8_t *p = meta; p < at; p++)
		h = (h ^ *p) * 0x100000001b3;
	put(&at, h, 8);
}

size_t bolt_page(uint8_t *page, uint64_t number, int branch, const struct bolt_element *elements, size_t n)
{
	uint8_t *at = page, *data = page + 16 + n * 16;
	size_t len = 16 + n * 16;

	for (size_t i = 0; i < n; i++)
		len += strlen(elements[i].key) + elements[i].len;
	put(&at, number, 8);
	put(&at, branch ? 1 : 2, 2);
	put(&at, n, 2);
	put(&at, number ? (len - 1) / BOLT_PAGE : 0, 4);
	for (size_t i = 0; i < n; i++) {
		const struct bolt_element *e = &elements[i];
		uint64_t pos = (uint64_t)(data - at);

		if (!branch)
			put(&at, (uint64_t)e->is_bucket, 4);
		put(&at, pos, 4);
		put(&at, strlen(e->key), 4);
		put(&at, branch ? e->page : e->len, branch ? 8 : 4);
		memcpy(data, e->key, strlen(e->key));
		data += strlen(e->key);
		if (e->len)
			memcpy(data, e->value, e->len);
		data += e->len;
	}
	return len;
}
