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
	return s->n_ranges > 0 && !s->all_copied;
}

unsigned int hl_symbols_refused(const struct hl_symbols *s)
{
	return s->refused;
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

/* Reads name number @name from its file to @ret, of HL_DEMANGLE_INPUT_MAX + 2 bytes; false if it is gone. */
static bool read_name(const struct hl_symbols *s, uint32_t name, char *ret)
{
	unsigned int source = HL_NAME_SOURCE(name);
	const struct hl_name_table *table = source < HL_NAME_SOURCES ? &s->names[source] : NULL;
	uint64_t at = HL_NAME_OFFSET(name);
	size_t want;
	long n;

	if (!table || !table->elf || at >= table->size)
		return false;
	/* Most names are short: a page more is read only for those that are not. */
	want = table->size - at < 512 ? (size_t)(table->size - at) : 512;
	n = hl_elf_read_some(table->elf, table->offset + at, ret, want);
	if (n == 512 && !memchr(ret, 0, 512)) {
		want = table->size - at < HL_DEMANGLE_INPUT_MAX + 1 ? (size_t)(table->size - at)
								    : HL_DEMANGLE_INPUT_MAX + 1;
		n = hl_elf_read_some(table->elf, table->offset + at, ret, want);
	}
	ret[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * The length of @text without its symbol version: `memcpy@@GLIBC_2.14`, `memcpy@GLIBC_2.2.5`. Versions are
 * words; `name@plt`, which some linkers write, is none, and neither is what Microsoft's mangling has (?f@@YA).
 */
static size_t length_without_version(const char *text)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
	size_t len = strlen(text), at = strcspn(text, "@");
	const char *version = text + at + (text[at] == '@') + (text[at] == '@' && text[at + 1] == '@');

	if (at == 0 || at == len || text[0] == '?' || !version[0] || version[strspn(version, word)] != '\0' ||
	    strcmp(text + at, "@plt") == 0)
		return len;
	return at;
}

int hl_symbols_add_name(const struct hl_symbols *s, uint32_t name, struct hl_str *out)
{
	char bytes[HL_DEMANGLE_INPUT_MAX + 2];
	const char *text = bytes;
	size_t len;

	if (s->all_copied || HL_NAME_SOURCE(name) == HL_NAME_DEBUGDATA)
		text = HL_NAME_OFFSET(name) < s->copied_len ? s->copied + HL_NAME_OFFSET(name) : "";
	else if (!read_name(s, name, bytes))
		return -ENOENT;
	if (!text[0])
		return -ENOENT;
	if (HL_NAME_SOURCE(name) == HL_NAME_GO) {
		hl_copy_name(text, strlen(text), HL_SYMBOL_NAME_MAX, out);
		return 0;
	}
	len = length_without_version(text);
	if (len < sizeof(bytes) && text[len]) {
		memmove(bytes, text, len);
		bytes[len] = '\0';
		text = bytes;
	}
	hl_demangle_or_copy(text, strlen(text), HL_SYMBOL_NAME_MAX, out);
	if (name & HL_NAME_PLT)
		hl_str_adds(out, "@plt");
	return 0;
}
