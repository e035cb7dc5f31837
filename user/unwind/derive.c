// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/derive.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "unwind/code.h"
#include "unwind/derive_internal.h"
#include "unwind/go.h"
#include "unwind/paths.h"
#include "unwind/rows.h"

/*
 * musl's C library has call frame information for nothing but its linkage table, and hand-written assembly
 * often has none. Functions are found by their symbols, by calls from other functions, by pointers to them, and where
 * code begins behind other code; user/unwind/paths.c follows them.
 *
 * What was learnt late, of a call into what had been followed as part of another function, may contradict
 * what is there: then all is followed once more with that knowledge.
 */

enum {
	MAX_BYTES = 2 << 20,
	MAX_INSTRUCTIONS = 6 << 20, /* gone through, in all rounds */
	MAX_ROUNDS = 6,
	FIRST_CREDIT =
		1 << 11, /* instructions, for guesses; what a right one took brings EARNED times as many */
	EARNED = 4,
	MAX_STRETCHES = 1 << 20,
	MAX_SYMBOLS = 1 << 20,
	MAX_NAME = 255,
};

HL_DEFINE_CLEANUP(struct hl_derived, hl_derived_free)

struct hl_derived *hl_derived_new(const struct hl_elf *elf, const struct hl_code *code)
{
	struct hl_derived *d = calloc(1, sizeof(*d));
	const struct hl_elf_section *sections;
	size_t n, i;

	if (!d)
		return NULL;
	d->elf = elf;
	d->code = code;
	sections = hl_elf_sections(elf, &n);
	for (i = 0; i < n; i++)
		d->has_sections |= (sections[i].flags & SHF_EXECINSTR) != 0;
	return d;
}

void hl_derived_free(struct hl_derived *d)
{
	if (!d)
		return;
	hl_paths_done(&d->paths);
	free(d->symbols);
	free(d->roots);
	free(d->by_start);
	free(d);
}

/* ---- stretches ---- */

static int add_stretch(struct hl_derived *d, uint64_t address, uint32_t start, uint32_t size)
{
	struct hl_paths *p = &d->paths;
	uint32_t room = MAX_BYTES - p->size;
	int r;

	d->count.seen += size;
	if (size > room) {
		d->count.left_out += size - room;
		size = room;
	}
	if (size == 0)
		return 0;
	r = hl_grow(&p->stretches, &p->cap_stretches, p->n_stretches + 1, sizeof(*p->stretches),
		    MAX_STRETCHES);
	if (r == -E2BIG) {
		d->count.left_out += size;
		return 0;
	}
	if (r < 0)
		return r;
	p->stretches[p->n_stretches++] = (struct hl_stretch){ address, size, start, p->size, false };
	p->size += size;
	return 0;
}

/* Adds the parts of @address up to @end that lie in sections of code. */
static int add_in_sections(struct hl_derived *d, uint64_t address, uint64_t end, uint32_t start)
{
	const struct hl_elf_section *sections;
	uint64_t low, high;
	size_t n, i;
	int r = 0;

	if (!d->has_sections)
		return add_stretch(d, address, start, (uint32_t)(end - address));
	sections = hl_elf_sections(d->elf, &n);
	for (i = 0; i < n && r == 0; i++) {
		if (!(sections[i].flags & SHF_EXECINSTR) || sections[i].type == SHT_NOBITS ||
		    sections[i].address + sections[i].size < sections[i].address)
			continue;
		low = sections[i].address > address ? sections[i].address : address;
		high = sections[i].address + sections[i].size;
		high = high < end ? high : end;
		if (low < high)
			r = add_stretch(d, low, start + (uint32_t)(low - address), (uint32_t)(high - low));
	}
	return r;
}

int hl_derived_add(struct hl_derived *d, uint32_t start, uint32_t end)
{
	const struct hl_code_segment *s;
	uint32_t low, high;
	size_t i;
	int r = 0;

	/* Go keeps frame pointers in all code of its own, and its stacks begin in ways of their own. */
	if (hl_go_is_in(d->elf))
		return 0;
	for (i = 0; i < d->code->n_segments && r == 0; i++) {
		s = &d->code->segments[i];
		low = s->start > start ? s->start : start;
		high = s->start + (uint32_t)s->size;
		high = high < end ? high : end;
		if (low < high)
			r = add_in_sections(d, s->address + (low - s->start), s->address + (high - s->start),
					    low);
	}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct hl_stretch *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Sorts the stretches, drops what overlaps, and reads their code. What cannot be read is left out. */
static int read_code(struct hl_derived *d)
{
	struct hl_paths *p = &d->paths;
	uint64_t base = d->code->first_page << HL_UNWIND_PAGE_SHIFT;
	uint32_t at = 0;
	size_t n = 0, i;

	qsort(p->stretches, p->n_stretches, sizeof(*p->stretches), by_address);
	p->code = calloc(p->size, 1);
	p->flags = calloc(p->size, sizeof(*p->flags));
	p->marks = calloc(p->size, sizeof(*p->marks));
	p->entries = calloc(p->size, sizeof(*p->entries));
	p->owners = calloc(p->size, sizeof(*p->owners));
	p->flow_numbers = calloc(p->size, sizeof(*p->flow_numbers));
	if (!p->code || !p->flags || !p->marks || !p->entries || !p->owners || !p->flow_numbers)
		return -ENOMEM;
	for (i = 0; i < p->n_stretches; i++) {
		struct hl_stretch s = p->stretches[i];

		s.at = at;
		if ((n && s.address < p->stretches[n - 1].address + p->stretches[n - 1].size) ||
		    hl_elf_read(d->elf, base + s.start, p->code + at, s.size) < 0) {
			d->count.left_out += s.size;
			continue;
		}
		at += s.size;
		p->stretches[n++] = s;
	}
	p->n_stretches = n;
	p->size = at;
	return 0;
}

/* ---- where functions begin ---- */

struct reading {
	struct hl_derived *d;
	const struct hl_elf_section *names;
};

/* A part that a compiler has moved away from its function: it is entered by jumps. Its symbol is local. */
static bool is_moved_part(const struct reading *reading, uint32_t name, uint8_t info)
{
	const struct hl_elf_section *names = reading->names;
	char text[MAX_NAME + 1] = "";
	uint64_t left;

	if (ELF64_ST_BIND(info) != STB_LOCAL || name >= names->size)
		return false;
	left = names->size - name;
	return hl_elf_read(reading->d->elf, names->offset + name, text, left < MAX_NAME ? left : MAX_NAME) ==
		       0 &&
	       strstr(text, ".cold");
}

/* Elf64_Sym: System V gABI, "Symbol Table". */
static int add_symbol(void *ctx, struct hl_cursor *c)
{
	struct reading *reading = ctx;
	struct hl_derived *d = reading->d;
	uint32_t name = hl_cursor_u32(c), at;
	uint8_t info = hl_cursor_u8(c);
	uint64_t value, size;
	int r;

	hl_cursor_skip(c, 3); /* st_other, st_shndx */
	value = hl_cursor_u64(c);
	size = hl_cursor_u64(c);
	if (ELF64_ST_TYPE(info) != STT_FUNC && ELF64_ST_TYPE(info) != STT_GNU_IFUNC)
		return 0;
	at = hl_paths_find(&d->paths, value);
	if (at == UINT32_MAX || is_moved_part(reading, name, info))
		return 0;
	r = hl_grow(&d->symbols, &d->cap_symbols, d->n_symbols + 1, sizeof(*d->symbols), MAX_SYMBOLS);
	if (r < 0)
		return r;
	d->symbols[d->n_symbols++] = (struct symbol){ at, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX };
	return 0;
}

static int by_position(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size);
}

/* Damaged tables are none: -ENOMEM is the only failure. */
static int read_symbols(struct hl_derived *d)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t i, n;
	int r;

	for (i = 0; i < 2; i++) {
		const struct hl_elf_section *table = hl_elf_section_typed(d->elf, types[i]);
		const struct hl_elf_section *strings =
			table ? hl_elf_section_at(d->elf, table->link, SHT_STRTAB) : NULL;
		struct reading reading = { d, strings };

		if (!table || !strings)
			continue;
		r = hl_elf_each(d->elf, table, sizeof(Elf64_Sym), MAX_SYMBOLS, add_symbol, &reading, NULL);
		if (r == -ENOMEM)
			return r;
	}
	if (d->n_symbols)
		qsort(d->symbols, d->n_symbols, sizeof(*d->symbols), by_position);
	for (i = n = 0; i < d->n_symbols; i++)
		if (n == 0 || d->symbols[i].at != d->symbols[n - 1].at)
			d->symbols[n++] = d->symbols[i];
	d->n_symbols = n;
	for (i = 0; i < n; i++)
		hl_paths_begin(&d->paths, d->symbols[i].at, HL_NAMED);
	return 0;
}

/* ---- following ---- */

/* The last symbol that begins at @at or before; NULL: none does. */
static const struct symbol *symbol_before(const struct hl_derived *d, uint32_t at)
{
	size_t low = 0, high = d->n_symbols, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (d->symbols[mid].at <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &d->symbols[low - 1] : NULL;
}

static uint32_t size_of(const struct hl_derived *d, uint32_t at)
{
	const struct symbol *symbol = symbol_before(d, at);

	return symbol && symbol->at == at ? symbol->size : 0;
}

/*
 * Where the named function ends that @at lies in, or the next one begins; @at: it lies in none. What nothing has led
 * to inside of one is its data, and no function.
 */
static uint32_t named_end(const struct hl_derived *d, uint32_t at)
{
	const struct symbol *symbol = symbol_before(d, at);
	uint32_t next;

	if (!symbol || at - symbol->at >= symbol->size)
		return at;
	next = symbol + 1 < d->symbols + d->n_symbols ? symbol[1].at : UINT32_MAX;
	return symbol->size < next - symbol->at ? symbol->at + symbol->size : next;
}

/* Follows what the functions that were followed call, and what they take the addresses of. */
static int follow_called(struct hl_derived *d)
{
	enum hl_certainty certainty;
	uint32_t at;
	int r = 0;

	while (r == 0) {
		certainty = HL_CALLED;
		at = hl_paths_next_called(&d->paths);
		if (at == UINT32_MAX) {
			certainty = HL_POINTED;
			at = hl_paths_next_pointed(&d->paths);
		}
		if (at == UINT32_MAX)
			break;
		r = hl_paths_follow(&d->paths, at, size_of(d, at), certainty);
	}
	return r;
}

static int follow_known(struct hl_derived *d)
{
	uint32_t entry = hl_paths_find(&d->paths, hl_elf_entry(d->elf));
	size_t i;
	int r = 0;

	if (entry != UINT32_MAX) {
		hl_paths_begin(&d->paths, entry, HL_FIRST);
		r = hl_paths_follow(&d->paths, entry, size_of(d, entry), HL_FIRST);
	}
	for (i = 0; i < d->n_symbols && r == 0; i++)
		if (d->symbols[i].at != entry && !hl_paths_is_doubtful(&d->paths, d->symbols[i].at))
			r = hl_paths_follow(&d->paths, d->symbols[i].at, d->symbols[i].size, HL_NAMED);
	return r == 0 ? follow_called(d) : r;
}

/*
 * Where nothing has led to, a function may begin behind the filling. Guesses are paid for by those that were
 * right, so over data, and over code of a kind that is not known here, they end soon.
 */
static int guess_stretch(struct hl_derived *d, const struct hl_stretch *s, int64_t *credit)
{
	struct hl_paths *p = &d->paths;
	uint32_t at = s->at, end = s->at + s->size, next;
	uint64_t before;
	int r = 0;

	while (at < end && r == 0 && *credit > 0 && !s->is_foreign) {
		next = p->marks[at] != HL_MARK_UNSEEN ? at + 1 : named_end(d, at);
		if (next > at) {
			at = next;
			continue;
		}
		at = hl_code_filling(p->code, at, end);
		if (at == end || p->marks[at] != HL_MARK_UNSEEN || named_end(d, at) > at)
			continue;
		before = p->budget;
		r = hl_paths_follow(p, at, 0, HL_GUESSED);
		if (r == 0)
			r = follow_called(d);
		if (p->marks[at] >= HL_MARK_FRAMES) {
			*credit += EARNED * (int64_t)(before - p->budget);
		} else {
			at = hl_paths_linear_end(p, at);
			*credit -= (int64_t)(before - p->budget);
		}
	}
	return r;
}

/* What pointers lead to is no guess that could be wrong all the time, but it earns as much. */
static int follow_roots(struct hl_derived *d, int64_t *credit)
{
	struct hl_paths *p = &d->paths;
	int r = 0;

	for (size_t i = 0; i < d->n_roots && r == 0; i++) {
		uint64_t before = p->budget;

		r = hl_paths_follow(p, d->roots[i], size_of(d, d->roots[i]), HL_POINTED);
		if (r == 0)
			r = follow_called(d);
		if (p->marks[d->roots[i]] >= HL_MARK_FRAMES)
			*credit += EARNED * (int64_t)(before - p->budget);
	}
	return r;
}

static int guess(struct hl_derived *d)
{
	struct hl_paths *p = &d->paths;
	int64_t credit = FIRST_CREDIT;
	size_t i;
	int r = follow_roots(d, &credit);

	for (i = 0; i < p->n_stretches && r == 0; i++)
		r = guess_stretch(d, &p->stretches[i], &credit);
	d->is_cut = credit <= 0;
	return r;
}

/*
 * A limit was reached. What was learnt until then may contradict what was followed before it: then only what
 * follows from symbols is left, if that is free of contradictions; else nothing.
 */
static int settle(struct hl_derived *d)
{
	struct hl_paths *p = &d->paths;
	int r = 0;

	d->is_cut = true;
	if (!p->is_restless)
		return 0;
	p->budget = MAX_INSTRUCTIONS;
	hl_paths_restart(p);
	r = follow_known(d);
	if (r == -E2BIG || p->is_restless)
		hl_paths_restart(p);
	return r == -E2BIG ? 0 : r;
}

static int follow_all(struct hl_derived *d)
{
	struct hl_paths *p = &d->paths;
	bool is_guessing = false, is_known = false;
	int r = 0;

	p->budget = MAX_INSTRUCTIONS;
	for (unsigned int round = 0; round < MAX_ROUNDS; round++) {
		if (round > 0)
			hl_paths_restart(p);
		r = follow_known(d);
		is_known = r == 0;
		is_guessing |= !p->is_restless || round == MAX_ROUNDS / 2;
		if (r == 0 && is_guessing)
			r = guess(d);
		if (r < 0 || (is_guessing && !p->is_restless))
			break;
	}
	if (r != -E2BIG)
		return r;
	p->is_restless |= !is_known;
	return settle(d);
}

static int by_start(const void *a, const void *b)
{
	const struct hl_stretch *const *x = a, *const *y = b;

	return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

/* Puts the stretches in order of their offsets, for writing. */
static int sort_stretches(struct hl_derived *d)
{
	size_t i;

	d->by_start = calloc(d->paths.n_stretches + 1, sizeof(*d->by_start));
	if (!d->by_start)
		return -ENOMEM;
	for (i = 0; i < d->paths.n_stretches; i++)
		d->by_start[i] = &d->paths.stretches[i];
	d->n_by_start = d->paths.n_stretches;
	qsort(d->by_start, d->n_by_start, sizeof(*d->by_start), by_start);
	return 0;
}

static void count(struct hl_derived *d)
{
	const struct hl_paths *p = &d->paths;
	bool is_ruled = false;
	uint32_t at;
	size_t i;

	for (i = 0; i < p->n_stretches; i++) {
		const struct hl_stretch *s = &p->stretches[i];

		if (s->is_foreign)
			continue;
		for (at = s->at; at < s->at + s->size; at++) {
			if (p->marks[at] != HL_MARK_INSIDE)
				is_ruled = p->marks[at] >= HL_MARK_FRAMES;
			d->count.ruled += is_ruled;
			d->count.left_out += d->is_cut && p->marks[at] == HL_MARK_UNSEEN;
		}
	}
}

int hl_derived_run(struct hl_derived *d)
{
	int r;

	if (d->paths.size == 0)
		return 0;
	r = read_code(d);
	if (r == 0)
		r = read_symbols(d);
	if (r == 0)
		r = hl_derived_find_roots(d);
	if (r == 0)
		r = follow_all(d);
	if (r == 0)
		r = sort_stretches(d);
	if (r == 0)
		count(d);
	return r;
}
