// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/elf.h"
#include "insn/flow.h"
#include <hotleaf/unwind.h>

enum { WINDOW_SIZE = 64 << 10 };

/* The number of a table's first page has 32 bits. */
#define PAGES_IN_MIB (1u << (20 - HL_UNWIND_PAGE_SHIFT))
#define MAX_OFFSET   (UINT64_C(1) << (32 + HL_UNWIND_PAGE_SHIFT))

/* The bytes of @s that are in the file: their end, 0 for none. */
static uint64_t end_of(const struct hl_elf *elf, const struct hl_elf_segment *s)
{
	uint64_t size = hl_elf_size(elf) < MAX_OFFSET ? hl_elf_size(elf) : MAX_OFFSET;

	if (s->offset >= size || s->file_size == 0)
		return 0;
	return s->file_size < size - s->offset ? s->offset + s->file_size : size;
}

static int by_address(const void *a, const void *b)
{
	const struct hl_code_segment *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int by_start(const void *a, const void *b)
{
	const struct hl_code_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void merge_ranges(struct hl_code *code)
{
	struct hl_code_range *r = code->ranges;
	size_t n = 0, i;

	qsort(r, code->n_ranges, sizeof(*r), by_start);
	for (i = 0; i < code->n_ranges; i++) {
		if (n && r[i].start <= r[n - 1].end)
			r[n - 1].end = r[i].end > r[n - 1].end ? r[i].end : r[n - 1].end;
		else
			r[n++] = r[i];
	}
	code->n_ranges = n;
}

/* The first page that holds code and the one behind the last; the number of segments that have some. */
static size_t measure(const struct hl_elf *elf, uint64_t *ret_first, uint64_t *ret_last)
{
	const struct hl_elf_segment *s = NULL;
	uint64_t low = UINT64_MAX, high = 0, end;
	size_t n = 0;

	while ((s = hl_elf_next_code(elf, s))) {
		end = end_of(elf, s);
		if (end == 0)
			continue;
		n++;
		low = s->offset < low ? s->offset : low;
		high = end > high ? end : high;
	}
	*ret_first = n ? low >> HL_UNWIND_PAGE_SHIFT : 0;
	*ret_last = n ? ((high - 1) >> HL_UNWIND_PAGE_SHIFT) + 1 : 0;
	return n;
}

int hl_code_read(const struct hl_elf *elf, struct hl_code *ret, struct hl_err *err)
{
	_cleanup_(hl_code_done) struct hl_code code = { 0 };
	const struct hl_elf_segment *s = NULL;
	uint64_t first, last, base, end;
	size_t n = measure(elf, &first, &last);

	if (n == 0)
		return hl_err_set(err, -ENODATA, "'%s' has no code", hl_elf_name(elf));
	if (last - first > HL_CODE_PAGES_MAX)
		return hl_err_set(err, -E2BIG,
				  "'%s' has its code over %llu MiB; an unwind table spans at most %u",
				  hl_elf_name(elf),
				  (unsigned long long)((last - first + PAGES_IN_MIB - 1) / PAGES_IN_MIB),
				  HL_CODE_PAGES_MAX / PAGES_IN_MIB);
	code.segments = calloc(n, sizeof(*code.segments));
	code.ranges = calloc(n, sizeof(*code.ranges));
	if (!code.segments || !code.ranges)
		return hl_err_errno(err, -ENOMEM, "'%s'", hl_elf_name(elf));
	base = first << HL_UNWIND_PAGE_SHIFT;
	while ((s = hl_elf_next_code(elf, s))) {
		end = end_of(elf, s);
		if (end == 0)
			continue;
		code.segments[code.n_segments++] =
			(struct hl_code_segment){ s->address, end - s->offset, (uint32_t)(s->offset - base) };
		code.ranges[code.n_ranges++] =
			(struct hl_code_range){ (uint32_t)(s->offset - base), (uint32_t)(end - base) };
	}
	code.first_page = first;
	code.n_pages = (uint32_t)(last - first);
	qsort(code.segments, n, sizeof(*code.segments), by_address);
	merge_ranges(&code);
	*ret = code;
	code = (struct hl_code){ 0 };
	return 0;
}

void hl_code_done(struct hl_code *code)
{
	free(code->segments);
	free(code->ranges);
	free(code->window);
	*code = (struct hl_code){ 0 };
}

bool hl_code_find(struct hl_code *code, uint64_t address, uint64_t size, struct hl_code_range *ret)
{
	const struct hl_code_segment *s = &code->segments[code->recent];
	size_t low = 0, high = code->n_segments, mid;
	uint64_t left;

	if (address - s->address >= s->size) {
		while (low < high) {
			mid = low + (high - low) / 2;
			if (code->segments[mid].address <= address)
				low = mid + 1;
			else
				high = mid;
		}
		if (low == 0)
			return false;
		s = &code->segments[low - 1];
		if (address - s->address >= s->size)
			return false;
		code->recent = low - 1;
	}
	left = s->size - (address - s->address);
	ret->start = s->start + (uint32_t)(address - s->address);
	ret->end = ret->start + (uint32_t)(size < left ? size : left);
	return true;
}

uint32_t hl_code_filling(const uint8_t *bytes, uint32_t at, uint32_t end)
{
	struct hl_flow flow;

	while (at < end) {
		flow.length = 1;
		if (bytes[at] != 0xcc && bytes[at] != 0) {
			hl_insn_flow(HL_INSN_MODE_64, bytes + at, end - at, 0, &flow);
			if (!flow.is_nop)
				break;
		}
		at += flow.length;
	}
	return at;
}

bool hl_code_is_filling(struct hl_code *code, const struct hl_elf *elf, uint32_t start, uint32_t end)
{
	long n;

	if (!code->window && !(code->window = malloc(WINDOW_SIZE)))
		return false;
	if (start < code->window_start || end > code->window_start + code->window_size) {
		n = hl_elf_read_some(elf, (code->first_page << HL_UNWIND_PAGE_SHIFT) + start, code->window,
				     WINDOW_SIZE);
		code->window_start = start;
		code->window_size = n > 0 ? (uint32_t)n : 0;
		if (end - start > code->window_size)
			return false;
	}
	end -= code->window_start;
	return hl_code_filling(code->window, start - code->window_start, end) == end;
}
