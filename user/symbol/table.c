// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "elf/elf.h"
#include "symbol/demangle.h"
#include "symbol/image.h"

struct hl_symbols {
	struct hl_image image;
	uint8_t *owned; /* the image's bytes; NULL: they are the caller's */
	const void *bytes;
	size_t len;
	const struct hl_elf *elf, *debug;
};

void hl_symbols_free(struct hl_symbols *s)
{
	if (!s)
		return;
	free(s->owned);
	free(s);
}
HL_DEFINE_CLEANUP(struct hl_symbols, hl_symbols_free)

int hl_symbols_take(uint8_t **bytes, size_t len, const struct hl_elf *elf, const struct hl_elf *debug,
		    struct hl_symbols **ret)
{
	struct hl_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct hl_symbols){ .bytes = *bytes, .len = len, .elf = elf, .debug = debug };
	s->owned = TAKE_PTR(*bytes);
	hl_image_split(s->bytes, &s->image);
	*ret = s;
	return 0;
}

int hl_symbols_open(const void *bytes, size_t len, const struct hl_elf *elf, const struct hl_elf *debug,
		    struct hl_symbols **ret, struct hl_err *err)
{
	_cleanup_(hl_symbols_freep) struct hl_symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return hl_err_errno(err, -ENOMEM, "'%s': a table of functions", hl_elf_name(elf));
	*s = (struct hl_symbols){ .bytes = bytes, .len = len, .elf = elf, .debug = debug };
	r = hl_image_check(bytes, len, &s->image, err);
	if (r == 0)
		*ret = TAKE_PTR(s);
	return r;
}

const void *hl_symbols_bytes(const struct hl_symbols *s, size_t *ret_len)
{
	*ret_len = s->len;
	return s->bytes;
}

void hl_symbols_set_debug(struct hl_symbols *s, const struct hl_elf *debug)
{
	s->debug = debug;
}

size_t hl_symbols_count(const struct hl_symbols *s)
{
	return s->image.header.n_ranges;
}

size_t hl_symbols_memory(const struct hl_symbols *s)
{
	return sizeof(*s) + s->len;
}

static bool is_all_copied(const struct hl_symbols *s)
{
	return s->image.header.flags & HL_IMAGE_ALL_COPIED;
}

bool hl_symbols_need_file(const struct hl_symbols *s)
{
	return s->image.header.n_ranges > 0 && !is_all_copied(s);
}

unsigned int hl_symbols_refused(const struct hl_symbols *s)
{
	return s->image.header.refused;
}

/* A function without a name: its FDE, less what the named neighbours cover. @before: ranges that start before. */
static bool find_nameless(const struct hl_symbols *s, uint32_t before, uint32_t at, struct hl_symbol *ret)
{
	const struct hl_image_spans *ranges = &s->image.ranges, *fdes = &s->image.fdes;
	uint32_t i = hl_image_before(fdes, at), start, end, behind;

	if (i == 0)
		return false;
	start = fdes->starts[i - 1];
	end = start + hl_image_size_of(fdes, i - 1);
	if (at >= end)
		return false;
	if (before) {
		behind = ranges->starts[before - 1] + hl_image_size_of(ranges, before - 1);
		start = behind > start ? behind : start;
	}
	if (before < ranges->n && ranges->starts[before] < end)
		end = ranges->starts[before];
	*ret = (struct hl_symbol){ .start = s->image.header.base + start, .size = end - start };
	return true;
}

bool hl_symbols_find(const struct hl_symbols *s, uint64_t address, struct hl_symbol *ret)
{
	uint64_t base = s->image.header.base;
	uint32_t at = (uint32_t)(address - base), i, start, size, name;
	const struct hl_image_piece *piece;

	if (address - base > UINT32_MAX)
		return false;
	i = hl_image_before(&s->image.ranges, at);
	start = i ? s->image.ranges.starts[i - 1] : 0;
	size = i ? hl_image_size_of(&s->image.ranges, i - 1) : 0;
	if (at - start >= size)
		return find_nameless(s, i, at, ret);
	name = s->image.names[i - 1];
	if (HL_NAME_SOURCE(name) == HL_NAME_PIECE) {
		piece = &s->image.pieces[HL_NAME_OFFSET(name)];
		start = piece->start;
		size = piece->size;
		name = piece->name;
	}
	*ret = (struct hl_symbol){ base + start, size, name, true };
	return true;
}

/* The file that names of @source are in, or NULL. */
static const struct hl_elf *file_of(const struct hl_symbols *s, const struct hl_image_names *names)
{
	return names->file == HL_IMAGE_RUNNING ? s->elf : names->file == HL_IMAGE_DEBUG ? s->debug : NULL;
}

/* Reads name number @name from its file to @ret, of HL_DEMANGLE_INPUT_MAX + 2 bytes; false if it is gone. */
static bool read_name(const struct hl_symbols *s, uint32_t name, char *ret)
{
	unsigned int source = HL_NAME_SOURCE(name);
	const struct hl_image_names *table = source < HL_NAME_SOURCES ? &s->image.header.names[source] : NULL;
	const struct hl_elf *elf = table ? file_of(s, table) : NULL;
	uint64_t at = HL_NAME_OFFSET(name);
	size_t want;
	long n;

	if (!elf || at >= table->size)
		return false;
	/* Most names are short: a page more is read only for those that are not. */
	want = table->size - at < 512 ? (size_t)(table->size - at) : 512;
	n = hl_elf_read_some(elf, table->offset + at, ret, want);
	if (n == 512 && !memchr(ret, 0, 512)) {
		want = table->size - at < HL_DEMANGLE_INPUT_MAX + 1 ? (size_t)(table->size - at)
								    : HL_DEMANGLE_INPUT_MAX + 1;
		n = hl_elf_read_some(elf, table->offset + at, ret, want);
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

	if (is_all_copied(s) || HL_NAME_SOURCE(name) == HL_NAME_DEBUGDATA)
		text = HL_NAME_OFFSET(name) < s->image.header.strings_len
			       ? s->image.strings + HL_NAME_OFFSET(name)
			       : "";
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
