// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/str.h"
#include "elf/elf.h"

/*
 * The functions of Go programs. Their runtime needs names and bounds for its own stack traces, so that the
 * table stays when a program is stripped: "pclntab", of which Go's src/runtime/symtab.go and
 * src/debug/gosym/pclntab.go hold the layout. It begins with a header (P: a word of the machine's size)
 *
 *     u32 magic, u16 0, u8 instruction alignment, u8 sizeof(P), P functions, …
 *
 * and holds an array with, for each function, its start and where its record stands, behind which the end of
 * the last function follows. A record begins with the start again; then comes an i32, where the name stands.
 *
 *     magic       of Go   array at         starts are                  records from   names from
 *     0xfffffffb  1.2     8 + sizeof(P)    P, addresses                the table      the table
 *     0xfffffffa  1.16    header word 6    P, addresses                the array      header word 2
 *     0xfffffff0  1.18    header word 7    u32, from header word 2     the array      header word 3
 *     0xfffffff1  1.20    as 1.18
 *
 * It has a section of its own, except where a C linker made a position-independent program: then it lies
 * somewhere in .data.rel.ro.
 */

enum {
	MAX_TABLE = 256 << 20,
	MAX_FUNCTIONS = 4 << 20,
	MAX_READ = 512 << 20, /* of a file, by searches and tables together */
	MAX_TRIED = 16,
	CHUNK = 256 * 1024,
	HEADER = 8 + 8 * 8,
	MAGIC_1_2 = 0xfb,
	MAGIC_1_16 = 0xfa,
	MAGIC_1_18 = 0xf0,
	MAGIC_1_20 = 0xf1,
};

struct pclntab {
	struct hl_builder *b;
	uint8_t header[HEADER];
	const uint8_t *bytes;
	size_t len;
	uint64_t offset, address; /* of the table: in the file, when it runs */
	uint8_t magic;            /* its last byte; the others are 0xff */
	size_t word;              /* bytes */
	uint64_t n;               /* functions */
	uint64_t text;            /* what starts are relative to */
	uint64_t array, records, names, names_size;
	size_t start_size; /* of a start in the array and in a record */
};

static bool is_header(const uint8_t *bytes, bool is_64)
{
	return (bytes[0] == MAGIC_1_2 || bytes[0] == MAGIC_1_16 || bytes[0] == MAGIC_1_18 ||
		bytes[0] == MAGIC_1_20) &&
	       memcmp(bytes + 1, "\xff\xff\xff\0\0", 5) == 0 &&
	       (bytes[6] == 1 || bytes[6] == 2 || bytes[6] == 4) && bytes[7] == (is_64 ? 8 : 4);
}

static uint64_t header_word(const struct pclntab *t, size_t i)
{
	struct hl_cursor c = hl_cursor_of(t->header, HEADER, "the header of the Go functions");

	hl_cursor_seek(&c, 8 + i * t->word);
	return hl_cursor_word(&c, t->word == 8);
}

/* What a relocation adds to the load address for the word at @address; 0 if there is none. */
struct addend_search {
	uint64_t address, addend;
};

static int match_addend(void *ctx, struct hl_cursor *c)
{
	struct addend_search *search = ctx;
	uint64_t address = hl_cursor_u64(c), info = hl_cursor_u64(c), addend = hl_cursor_u64(c);

	if (address != search->address || ELF64_R_TYPE(info) != R_X86_64_RELATIVE)
		return 0;
	search->addend = addend;
	return 1;
}

/*
 * Where the text begins that starts count from: not .text, in front of which C code may stand. Some linkers
 * leave the header's word to the dynamic loader, and Go 1.26 no longer fills it in.
 */
static uint64_t find_text(const struct pclntab *t)
{
	struct addend_search search = { .address = t->address + 8 + 2 * t->word };
	const struct hl_elf_section *sections, *text = hl_elf_section_named(t->b->elf, ".text");
	uint64_t in_header = header_word(t, 2);
	size_t n, i;

	if (in_header)
		return in_header;
	sections = hl_elf_sections(t->b->elf, &n);
	for (i = 0; i < n && t->word == 8; i++)
		if (sections[i].type == SHT_RELA && (sections[i].flags & SHF_ALLOC) &&
		    hl_elf_each(t->b->elf, &sections[i], sizeof(Elf64_Rela), HL_SYMBOLS_MAX, match_addend,
				&search, NULL) == 1)
			return search.addend;
	return text ? text->address : 0;
}

/* Fills in what the header says; false if that cannot be. */
static bool read_header(struct pclntab *t)
{
	uint64_t names_end;

	if (!is_header(t->header, hl_elf_is_64(t->b->elf)))
		return false;
	t->magic = t->header[0];
	t->word = t->header[7];
	t->n = header_word(t, 0);
	t->start_size = t->word;
	names_end = t->len;
	if (t->magic == MAGIC_1_2) {
		t->array = 8 + t->word;
	} else if (t->magic == MAGIC_1_16) {
		t->array = t->records = header_word(t, 6);
		t->names = header_word(t, 2);
		names_end = header_word(t, 3);
	} else {
		t->array = t->records = header_word(t, 7);
		t->names = header_word(t, 3);
		names_end = header_word(t, 4);
		t->text = find_text(t);
		t->start_size = 4;
	}
	if (names_end <= t->names || names_end > t->len)
		names_end = t->len;
	if (t->array >= t->len || t->names >= t->len)
		return false;
	t->names_size = names_end - t->names;
	if (t->names_size > HL_NAME_OFFSET_MAX)
		t->names_size = HL_NAME_OFFSET_MAX;
	/* Each function has its element, and one end follows them all. */
	return t->n > 0 && t->n <= MAX_FUNCTIONS && t->n <= (t->len - t->array) / (2 * t->start_size);
}

/* Where the name of the function stands whose record is @at; false if that cannot be. */
static bool read_name(const struct pclntab *t, uint64_t at, uint32_t *ret)
{
	struct hl_cursor c = hl_cursor_of(t->bytes, t->len, "a Go function");
	uint32_t name;

	if (at > t->len - t->records)
		return false;
	hl_cursor_seek(&c, (size_t)(t->records + at) + t->start_size);
	name = hl_cursor_u32(&c);
	if (c.failed || name >= t->names_size || t->bytes[t->names + name] == '\0')
		return false;
	*ret = HL_NAME(HL_NAME_GO, name);
	return true;
}

static int add_functions(const struct pclntab *t, size_t *ret_n)
{
	struct hl_cand cand = { .rank = HL_RANK_SIZED | HL_RANK_FUNCTION };
	struct hl_cursor c = hl_cursor_of(t->bytes, t->len, "the Go functions");
	bool wide = t->start_size == 8;
	uint64_t start, next, at, i;
	const struct hl_area *area;
	int r = 0;

	*ret_n = 0;
	hl_cursor_seek(&c, (size_t)t->array);
	next = hl_cursor_word(&c, wide);
	for (i = 0; i < t->n && r == 0 && !c.failed; i++) {
		start = next;
		at = hl_cursor_word(&c, wide);
		next = hl_cursor_word(&c, wide);
		cand.address = t->text + start;
		area = hl_area_find(t->b->areas, t->b->n_areas, cand.address);
		if (c.failed || next <= start || !area || !read_name(t, at, &cand.name))
			continue;
		cand.size = next - start <= UINT32_MAX ? (uint32_t)(next - start) : UINT32_MAX;
		if (cand.size > area->end - cand.address)
			cand.size = (uint32_t)(area->end - cand.address);
		r = hl_builder_add(t->b, &cand);
		*ret_n += r == 0;
	}
	return r;
}

/* What may still be done for a file. */
struct budget {
	uint64_t bytes;
	unsigned int tries;
};

/* The table at @offset, of at most @size bytes. 1: it had functions, 0: it is none. */
static int try_table(struct hl_builder *b, uint64_t offset, uint64_t address, uint64_t size,
		     struct budget *left)
{
	const struct hl_elf_section whole = { .name = ".gopclntab", .offset = offset, .size = size };
	struct pclntab t = { .b = b, .offset = offset, .address = address, .len = (size_t)size };
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t n = 0;
	int r;

	if (left->tries == 0 || size > left->bytes || size < HEADER)
		return 0;
	left->tries--;
	if (hl_elf_read(b->elf, offset, t.header, HEADER) < 0 || !read_header(&t))
		return 0;
	left->bytes -= size;
	r = hl_elf_load(b->elf, &whole, MAX_TABLE, &bytes, &t.len, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	t.bytes = bytes;
	r = add_functions(&t, &n);
	if (r == -ENOMEM)
		return r;
	if (n == 0)
		return 0;
	b->draft.names[HL_NAME_GO] = (struct hl_name_table){ b->elf, offset + t.names, t.names_size };
	return 1;
}

/* Looks for a header among @size bytes at @offset; headers stand at multiples of eight. As try_table(). */
static int scan(struct hl_builder *b, uint64_t offset, uint64_t address, uint64_t size, struct budget *left)
{
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	uint64_t done, skip = -address & 7;
	long n, i;
	int r = 0;

	if (!bytes)
		return -ENOMEM;
	if (skip > size)
		return 0;
	offset += skip;
	size -= skip;
	/* A lie about a segment's size must not load what is not there. */
	if (offset > hl_elf_size(b->elf))
		return 0;
	if (size > hl_elf_size(b->elf) - offset)
		size = hl_elf_size(b->elf) - offset;
	for (done = 0; done < size && r == 0 && left->bytes >= CHUNK; done += CHUNK) {
		n = hl_elf_read_some(b->elf, offset + done, bytes,
				     size - done < CHUNK ? (size_t)(size - done) : CHUNK);
		left->bytes -= CHUNK;
		for (i = 0; i + 8 <= n && r == 0; i += 8) {
			if (!is_header(bytes + i, hl_elf_is_64(b->elf)))
				continue;
			r = try_table(b, offset + done + (uint64_t)i, address + skip + done + (uint64_t)i,
				      size - done - (uint64_t)i, left);
		}
	}
	return r;
}

static int scan_segments(struct hl_builder *b, struct budget *left)
{
	size_t n, i;
	const struct hl_elf_segment *s = hl_elf_segments(b->elf, &n);
	int r = 0;

	for (i = 0; i < n && r == 0; i++)
		if (s[i].type == PT_LOAD && !(s[i].flags & PF_X))
			r = scan(b, s[i].offset, s[i].address, s[i].file_size, left);
	return r;
}

int hl_builder_add_go(struct hl_builder *b)
{
	struct budget left = { MAX_READ, MAX_TRIED };
	const struct hl_elf_section *sections, *relro = NULL;
	size_t n, i;
	int r = 0;

	sections = hl_elf_sections(b->elf, &n);
	if (n == 0)
		r = scan_segments(b, &left);
	for (i = 0; i < n && r == 0; i++) {
		if (sections[i].type == SHT_NOBITS)
			continue;
		if (hl_ends_with(sections[i].name, ".gopclntab"))
			r = try_table(b, sections[i].offset, sections[i].address, sections[i].size, &left);
		else if (strcmp(sections[i].name, ".data.rel.ro") == 0)
			relro = &sections[i];
	}
	if (r == 0 && relro)
		r = scan(b, relro->offset, relro->address, relro->size, &left);
	return r < 0 ? r : 0;
}
