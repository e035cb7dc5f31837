/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_BOLTWRITER_H
#define HL_TESTS_BOLTWRITER_H

#include <stddef.h>
#include <stdint.h>

/* Builds pages of a BoltDB file in memory, by its format alone: sound ones, and others. */

enum { BOLT_PAGE = 4096 };

struct bolt_element {
	const char *key;
	const void *value;
	size_t len;
	uint64_t page; /* of a branch */
	int is_bucket;
};

/* Meta @which, 0 or 1, of @file. */
void bolt_meta(uint8_t *file, int which, uint64_t root, uint64_t transaction);
/* Page @number at @page, which has room; @branch or a leaf; how many bytes. Number 0 is one inside of a value. */
size_t bolt_page(uint8_t *page, uint64_t number, int branch, const struct bolt_element *elements, size_t n);

#endif
