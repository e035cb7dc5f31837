/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_CODE_H
#define HL_UNWIND_CODE_H

/* Where the code of a file stands, by address and by offset; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_err;

#define HL_CODE_PAGES_MAX \
	(1u << 18) /* of 4 KiB: ranges are 32 bits wide, and the index takes 8 bytes a page */

enum { HL_CODE_GAP_MAX = 16 }; /* filling between functions is shorter */

/* What the file holds of an executable segment. */
struct hl_code_segment {
	uint64_t address, size;
	uint32_t start; /* offset, relative to the first page */
};

struct hl_code_range {
	uint32_t start, end;
};

struct hl_code {
	struct hl_code_segment *segments; /* by address */
	size_t n_segments;
	struct hl_code_range *ranges; /* by offset, apart from each other */
	size_t n_ranges;
	uint64_t first_page; /* offset >> HL_UNWIND_PAGE_SHIFT */
	uint32_t n_pages;
	size_t recent; /* the segment found last */

	uint8_t *window; /* code read last, from offset @window_start on */
	uint32_t window_start, window_size;
};

/* -ENODATA: no code; -E2BIG: over more than HL_CODE_PAGES_MAX pages; -ENOMEM. */
int hl_code_read(const struct hl_elf *elf, struct hl_code *ret, struct hl_err *err);
void hl_code_done(struct hl_code *code);

/* The range of @size bytes of code at @address, cut at the end of its segment. False: no code is there. */
bool hl_code_find(struct hl_code *code, uint64_t address, uint64_t size, struct hl_code_range *ret);

/* The end of the filling (nops, int3, zeros) that stands at @bytes[@at], at most @end. */
uint32_t hl_code_filling(const uint8_t *bytes, uint32_t at, uint32_t end);

/*
 * True if there is nothing but filling from @start to @end, fewer than HL_CODE_GAP_MAX bytes. @elf is read in
 * large pieces: ask in the order of offsets. What cannot be read is none.
 */
bool hl_code_is_filling(struct hl_code *code, const struct hl_elf *elf, uint32_t start, uint32_t end);

#endif
