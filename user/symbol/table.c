// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "elf/elf.h"
#include "symbol/demangle.h"
#include "symbol/table.h"

void hl_symbols_free(struct hl_symbols *s)
{
	if (!s)
		return;
	free(s->ranges);
	free(s->pieces);
	free(s->fdes);
	free(s->copied);
	free(s);
}

size_t hl_symbols_count(const struct hl_symbols *s)
{
	return s->n_ranges;
}

size_t hl_symbols_memory(const struct hl_symbols *s)
{
	return sizeof(*s) + s->cap_ranges * sizeof(*s->ranges) + s->cap_pieces * sizeof(*s->pieces) +
	       s->n_fdes * sizeof(*s->fdes) + s->copied_len;
}

bool hl_symbols_need_file(const struct hl_symbols *s)
{
	return s->n_ranges > 0 && !s->copied;
}

const struct hl_range *hl_symbols_find_range(const struct hl_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->n_ranges, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->ranges[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &s->ranges[low - 1] : NULL;
}

/* A function without a name: its FDE, less what the named neighbours cover. */
static bool find_nameless(const struct hl_symbols *s, const struct hl_range *before, uint64_t address,
			  struct hl_symbol *ret)
{
	const struct hl_range *after = before ? before + 1 : s->ranges;
	uint64_t start, end;

	if (!hl_symbols_find_fde(s, address, &start, &end))
		return false;
	if (before && before->start + before->size > start)
		start = before->start + before->size;
	if (s->n_ranges && after < s->ranges + s->n_ranges && after->start < end)
		end = after->start;
	*ret = (struct hl_symbol){ .start = start, .size = end - start };
	return true;
}

bool hl_symbols_find(const struct hl_symbols *s, uint64_t address, struct hl_symbol *ret)
{
	const struct hl_range *range = hl_symbols_find_range(s, address);
	const struct hl_piece *piece;

	if (!range || address - range->start >= range->size)
		return find_nameless(s, range, address, ret);
	if (HL_NAME_SOURCE(range->name) == HL_NAME_PIECE) {
		piece = &s->pieces[HL_NAME_OFFSET(range->name)];
		*ret = (struct hl_symbol){ piece->start, piece->size, piece->name, true };
	} else {
		*ret = (struct hl_symbol){ range->start, range->size, range->name, true };
	}
	return true;
}

int hl_symbols_add_name(const struct hl_symbols *s, uint32_t name, struct hl_str *out)
{
	const struct hl_name_table *table;
	char bytes[HL_DEMANGLE_INPUT_MAX + 2];
	const char *text = bytes;
	uint64_t at = HL_NAME_OFFSET(name);
	size_t want;
	long n;

	if (s->copied) {
		text = at < s->copied_len ? s->copied + at : "";
	} else {
		table = HL_NAME_SOURCE(name) < HL_NAME_SOURCES ? &s->names[HL_NAME_SOURCE(name)] : NULL;
		if (!table || !table->elf || at >= table->size)
			return -ENOENT;
		/* Most names are short: a page more is read only for those that are not. */
		want = table->size - at < 512 ? (size_t)(table->size - at) : 512;
		n = hl_elf_read_some(table->elf, table->offset + at, bytes, want);
		if (n == 512 && !memchr(bytes, 0, 512)) {
			want = table->size - at < sizeof(bytes) - 1 ? (size_t)(table->size - at)
								    : sizeof(bytes) - 1;
			n = hl_elf_read_some(table->elf, table->offset + at, bytes, want);
		}
		bytes[n > 0 ? n : 0] = '\0';
	}
	if (!text[0])
		return -ENOENT;
	hl_demangle_or_copy(text, strlen(text), HL_SYMBOL_NAME_MAX, out);
	if (name & HL_NAME_PLT)
		hl_str_adds(out, "@plt");
	return 0;
}
