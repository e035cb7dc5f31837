// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/derive_internal.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "insn/flow.h"
#include "unwind/code.h"

/*
 * Functions that no code calls by name: a program's main(), whose address its first function takes, which itself may
 * have call frame information; and those in tables of pointers: applets, methods, signal handlers. A number in the
 * data may be the address of code by chance, or of a place within a function: only what proves to be a function is
 * believed of it (HL_POINTED).
 */

enum {
	MAX_ROOTS = 1 << 18,
	MAX_WORDS = 1 << 21, /* in a section */
	MAX_START = 24,      /* instructions at the entry that are looked at */
	MAX_START_BYTES = MAX_START * 15,
};

static int add_root(struct hl_derived *d, uint64_t address)
{
	uint32_t at = hl_paths_find(&d->paths, address);
	int r = at == UINT32_MAX ? 0
				 : hl_grow(&d->roots, &d->cap_roots, d->n_roots + 1, sizeof(at), MAX_ROOTS);

	if (r == 0 && at != UINT32_MAX)
		d->roots[d->n_roots++] = at;
	return r == -E2BIG ? 0 : r;
}

static int add_word(void *ctx, struct hl_cursor *c)
{
	return add_root(ctx, hl_cursor_u64(c));
}

/* Elf64_Rela: System V gABI, "Relocation"; types: AMD64 supplement to it. */
static int add_relocation(void *ctx, struct hl_cursor *c)
{
	uint64_t info;

	hl_cursor_skip(c, 8); /* r_offset */
	info = hl_cursor_u64(c);
	if (ELF64_R_TYPE(info) != R_X86_64_RELATIVE && ELF64_R_TYPE(info) != R_X86_64_IRELATIVE)
		return 0;
	return add_root(ctx, hl_cursor_u64(c));
}

static bool is_data(const struct hl_elf_section *s)
{
	return (s->flags & SHF_ALLOC) && !(s->flags & SHF_EXECINSTR) && s->address % sizeof(uint64_t) == 0 &&
	       (s->type == SHT_PROGBITS || s->type == SHT_INIT_ARRAY || s->type == SHT_FINI_ARRAY ||
		s->type == SHT_PREINIT_ARRAY);
}

/* Else numbers in the file are small, and its addresses stand in relocations. */
static bool has_addresses(const struct hl_elf *elf)
{
	size_t n;
	const struct hl_elf_segment *segments = hl_elf_segments(elf, &n);

	for (size_t i = 0; i < n; i++)
		if (segments[i].type == PT_LOAD)
			return segments[i].address > 0;
	return false;
}

/* Damaged sections have none: -ENOMEM is the only failure. */
static int read_tables(struct hl_derived *d)
{
	size_t n;
	const struct hl_elf_section *sections = hl_elf_sections(d->elf, &n);
	/* Where symbols name functions, words that look like addresses mislead more than they tell. */
	bool is_read = d->n_symbols == 0 && has_addresses(d->elf);
	int r = 0;

	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		if (is_read && is_data(&sections[i]))
			r = hl_elf_each(d->elf, &sections[i], sizeof(uint64_t), MAX_WORDS, add_word, d, NULL);
		else if (sections[i].type == SHT_RELA)
			r = hl_elf_each(d->elf, &sections[i], sizeof(Elf64_Rela), MAX_WORDS, add_relocation,
					d, NULL);
	}
	return r == -ENOMEM ? r : 0;
}

/* What the code at the entry hands on, up to its first call. */
static int read_start(struct hl_derived *d)
{
	uint64_t address = hl_elf_entry(d->elf), offset, known = 0;
	uint8_t code[MAX_START_BYTES];
	struct hl_flow flow;
	long n = -1;
	int r = 0;

	for (size_t i = 0; i < d->code->n_segments && n < 0; i++) {
		const struct hl_code_segment *s = &d->code->segments[i];

		if (address < s->address || address - s->address >= s->size)
			continue;
		known = s->size - (address - s->address);
		offset = (d->code->first_page << HL_UNWIND_PAGE_SHIFT) + s->start + (address - s->address);
		n = hl_elf_read_some(d->elf, offset, code, known < sizeof(code) ? known : sizeof(code));
	}
	for (long at = 0, i = 0; at < n && i < MAX_START && r == 0; i++, at += flow.length) {
		hl_insn_flow(HL_INSN_MODE_64, code + at, (size_t)(n - at), address + (uint64_t)at, &flow);
		if (flow.length == 0 || flow.next != HL_NEXT_STRAIGHT)
			break;
		if (flow.has_reference && (flow.is_lea || flow.is_immediate))
			r = add_root(d, flow.reference);
	}
	return r;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int hl_derived_find_roots(struct hl_derived *d)
{
	size_t n = 0;
	int r = read_start(d);

	if (r == 0)
		r = read_tables(d);
	if (r < 0)
		return r;
	if (d->n_roots)
		qsort(d->roots, d->n_roots, sizeof(*d->roots), by_number);
	for (size_t i = 0; i < d->n_roots; i++)
		if (n == 0 || d->roots[i] != d->roots[n - 1])
			d->roots[n++] = d->roots[i];
	d->n_roots = n;
	return 0;
}
