// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/symbol.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/elf.h"
#include "symbol/table.h"

enum {
	MAX_AREAS = 64 * 1024,
	COPIED_NAMES = 256 * 1024,
	MAX_RAW_NAME = 8192,
	COMPARED_NAME = 256,
	MAX_FORESEEN = 1 << 20
};

static void builder_done(struct hl_builder *b)
{
	int i;

	free(b->cands);
	free(b->areas);
	for (i = 0; i < HL_NAME_SOURCES; i++)
		free(b->strings[i].data);
	hl_elf_free(b->debugdata);
	free(b->draft.ranges);
	free(b->draft.pieces);
	free(b->draft.fdes);
	free(b->draft.copied);
}

const struct hl_area *hl_area_find(const struct hl_area *areas, size_t n, uint64_t address)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (areas[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && address < areas[low - 1].end ? &areas[low - 1] : NULL;
}

static int add_area(struct hl_builder *b, size_t *cap, uint64_t start, uint64_t size)
{
	int r;

	if (size == 0 || start + size < start)
		return 0;
	r = hl_grow(&b->areas, cap, b->n_areas + 1, sizeof(*b->areas), MAX_AREAS);
	if (r == 0)
		b->areas[b->n_areas++] = (struct hl_area){ start, start + size };
	return r;
}

/* Executable sections inside executable segments; the segments themselves in a file without sections. */
static int find_areas(struct hl_builder *b)
{
	const struct hl_elf_section *sections;
	const struct hl_elf_segment *s;
	size_t n, i, cap = 0;
	int r = 0;

	sections = hl_elf_sections(b->elf, &n);
	for (i = 0; i < n && r == 0; i++) {
		if (!(sections[i].flags & SHF_EXECINSTR) || !(sections[i].flags & SHF_ALLOC))
			continue;
		for (s = hl_elf_next_code(b->elf, NULL); s; s = hl_elf_next_code(b->elf, s))
			if (sections[i].address - s->address < s->memory_size &&
			    sections[i].size <= s->memory_size - (sections[i].address - s->address))
				break;
		if (s)
			r = add_area(b, &cap, sections[i].address, sections[i].size);
	}
	if (b->n_areas == 0)
		for (s = hl_elf_next_code(b->elf, NULL); s && r == 0; s = hl_elf_next_code(b->elf, s))
			r = add_area(b, &cap, s->address, s->memory_size);
	if (r == -ENOMEM)
		return r;
	r = hl_radix_sort(b->areas, b->n_areas, sizeof(*b->areas));
	if (r < 0)
		return r;
	for (i = 0; i + 1 < b->n_areas; i++)
		if (b->areas[i].end > b->areas[i + 1].start)
			b->areas[i].end = b->areas[i + 1].start;
	return 0;
}

/*
 * Loads the strings of @source when one is first asked for: a file with .symtab seldom needs .dynstr, and
 * some have megabytes of it.
 */
static void load_strings(struct hl_builder *b, unsigned int source)
{
	const struct hl_name_table *table = &b->draft.names[source];
	const struct hl_elf_section section = { .name = "strings",
						.offset = table->offset,
						.size = table->size };
	uint8_t *data;
	int r;

	if (b->strings[source].tried || !table->elf)
		return;
	b->strings[source].tried = true;
	r = hl_elf_load(table->elf, &section, HL_NAME_OFFSET_MAX, &data, &b->strings[source].len, NULL);
	if (r == 0)
		b->strings[source].data = (char *)data;
	else if (r == -ENOMEM)
		b->no_memory = true;
}

const char *hl_builder_name(struct hl_builder *b, uint32_t name)
{
	unsigned int source = HL_NAME_SOURCE(name);

	if (source >= HL_NAME_SOURCES)
		return "";
	load_strings(b, source);
	if (HL_NAME_OFFSET(name) >= b->strings[source].len)
		return "";
	return b->strings[source].data + HL_NAME_OFFSET(name);
}

int hl_builder_add(struct hl_builder *b, const struct hl_cand *cand)
{
	int r = 0;

	if (b->n == b->cap)
		r = hl_grow(&b->cands, &b->cap, b->n + 1, sizeof(*b->cands), HL_SYMBOLS_MAX);
	if (r == 0)
		b->cands[b->n++] = *cand;
	return r;
}

/* Most symbols of a table become candidates: room for all of them at once, if they are not too many to be true. */
static int make_room(struct hl_builder *b, uint64_t n)
{
	struct hl_cand *more;

	if (n > MAX_FORESEEN || b->n + n <= b->cap)
		return 0;
	more = hl_huge_array(b->n + (size_t)n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	if (b->n)
		memcpy(more, b->cands, b->n * sizeof(*more));
	free(b->cands);
	b->cands = more;
	b->cap = b->n + (size_t)n;
	return 0;
}

/* Marks between code and data ($x, $d, …), and the padding in front of kernel functions. */
static bool is_no_function(const char *name)
{
	if (name[0] == '\0')
		return true;
	if (name[0] == '$')
		return strchr("adtx", name[1]) && name[1] && (name[2] == '\0' || name[2] == '.');
	return hl_starts_with(name, "__pfx_");
}

struct symbol_reader {
	struct hl_builder *b;
	enum hl_name_source source;
	bool is_64;
};

static uint8_t rank_of(unsigned int type, unsigned int binding, bool sized)
{
	uint8_t rank = sized ? HL_RANK_SIZED : 0;

	if (type != STT_NOTYPE)
		rank |= HL_RANK_FUNCTION;
	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		rank |= HL_RANK_GLOBAL;
	else if (binding == STB_WEAK)
		rank |= HL_RANK_WEAK;
	return rank;
}

static int add_symbol(void *ctx, struct hl_cursor *c)
{
	const struct symbol_reader *reader = ctx;
	struct hl_builder *b = reader->b;
	const struct hl_area *area;
	uint32_t name = hl_cursor_u32(c);
	uint64_t size = 0, value = 0;
	unsigned int info, type, index;
	struct hl_cand cand;
	bool local;

	if (!reader->is_64) {
		value = hl_cursor_u32(c);
		size = hl_cursor_u32(c);
	}
	info = hl_cursor_u8(c);
	(void)hl_cursor_u8(c); /* st_other */
	index = hl_cursor_u16(c);
	if (reader->is_64) {
		value = hl_cursor_u64(c);
		size = hl_cursor_u64(c);
	}
	type = ELF64_ST_TYPE(info);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || index == SHN_UNDEF ||
	    index == SHN_ABS || index == SHN_COMMON || name >= b->draft.names[reader->source].size)
		return 0;
	area = hl_area_find(b->areas, b->n_areas, value);
	if (!area)
		return 0;
	/* To look at every name would cost a cache miss each; what is to be skipped is local. */
	local = ELF64_ST_BIND(info) == STB_LOCAL || type == STT_NOTYPE;
	if (name == 0 || (local && is_no_function(hl_builder_name(b, HL_NAME(reader->source, name)))))
		return 0;
	name = HL_NAME(reader->source, name);
	/* A size that reaches past its section is a lie, and one of 4 GiB is no function's. */
	if (size > area->end - value || size > UINT32_MAX)
		size = 0;
	cand = (struct hl_cand){ .address = value, .size = (uint32_t)size, .name = name };
	cand.rank = rank_of(type, ELF64_ST_BIND(info), size > 0);
	cand.exact = size == 0 && reader->source == HL_NAME_DYNSYM;
	cand.resolver = type == STT_GNU_IFUNC;
	return hl_builder_add(b, &cand);
}

static int read_symbols(struct hl_builder *b, const struct hl_elf *elf, uint32_t type,
			enum hl_name_source source)
{
	const struct hl_elf_section *symbols = hl_elf_section_typed(elf, type), *strings;
	struct symbol_reader reader = { b, source, hl_elf_is_64(elf) };
	size_t size = reader.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t length;
	int r;

	strings = symbols ? hl_elf_section_at(elf, symbols->link, SHT_STRTAB) : NULL;
	if (!strings || strings->offset >= hl_elf_size(elf) ||
	    ((symbols->flags | strings->flags) & SHF_COMPRESSED))
		return 0;
	/* A length that is a lie spoils no names: each ends at its NUL. */
	length = hl_elf_size(elf) - strings->offset;
	if (strings->size < length)
		length = strings->size;
	if (length > HL_NAME_OFFSET_MAX)
		length = HL_NAME_OFFSET_MAX;
	b->draft.names[source] = (struct hl_name_table){ elf, strings->offset, length };
	r = make_room(b, symbols->size / size);
	if (r == 0)
		r = hl_elf_each(elf, symbols, size, HL_SYMBOLS_MAX, add_symbol, &reader, NULL);
	return r == -ENOMEM ? r : 0;
}

/*
 * True if @x is a better name than @y for the address that both have: a total order. Names themselves come
 * last, and never from two tables, since the smaller one holds none that the larger has not.
 */
static bool is_better(struct hl_builder *b, const struct hl_cand *x, const struct hl_cand *y)
{
	/* The debug file's .symtab is the fullest, then the file's own, then the lesser ones. */
	static const uint8_t trust[HL_NAME_SOURCES] = {
		[HL_NAME_DEBUG] = 4, [HL_NAME_SYMTAB] = 3, [HL_NAME_DEBUGDATA] = 2, [HL_NAME_DYNSYM] = 1
	};
	uint8_t x_trust = trust[HL_NAME_SOURCE(x->name)], y_trust = trust[HL_NAME_SOURCE(y->name)];
	const char *x_name, *y_name;
	size_t x_underscores, y_underscores;
	int order;

	if (x->rank != y->rank)
		return x->rank > y->rank;
	if (x_trust != y_trust)
		return x_trust > y_trust;
	x_name = hl_builder_name(b, x->name);
	y_name = hl_builder_name(b, y->name);
	x_underscores = hl_count_underscores(x_name);
	y_underscores = hl_count_underscores(y_name);
	if (x_underscores != y_underscores)
		return x_underscores < y_underscores;
	if (x->size != y->size)
		return x->size > y->size;
	order = strncmp(x_name, y_name, COMPARED_NAME);
	return order != 0 ? order < 0 : x->name < y->name;
}

/* Merges the sorted candidates from number @from on with the sorted ones before. */
static int merge(struct hl_builder *b, size_t from)
{
	size_t n = b->n - from, i = from, j = n, k = b->n;
	_cleanup_free_ struct hl_cand *tail = NULL;

	if (from == 0 || n == 0)
		return 0;
	tail = malloc(n * sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	memcpy(tail, b->cands + from, n * sizeof(*tail));
	while (j > 0) {
		if (i > 0 && b->cands[i - 1].address > tail[j - 1].address)
			b->cands[--k] = b->cands[--i];
		else
			b->cands[--k] = tail[--j];
	}
	return 0;
}

int hl_builder_sort(struct hl_builder *b, size_t from)
{
	size_t i, kept = 0;
	int r;

	if (b->n == 0)
		return 0;
	r = hl_radix_sort(b->cands + from, b->n - from, sizeof(*b->cands));
	if (r == 0)
		r = merge(b, from);
	if (r < 0)
		return r;
	for (i = 0; i < b->n; i++) {
		if (kept == 0 || b->cands[kept - 1].address != b->cands[i].address)
			b->cands[kept++] = b->cands[i];
		else if (is_better(b, &b->cands[i], &b->cands[kept - 1]))
			b->cands[kept - 1] = b->cands[i];
	}
	b->n = kept;
	return 0;
}

/* True if the text of @name is to be copied: of a piece it is the piece's own that is. */
static bool is_copied(uint32_t name, bool all)
{
	unsigned int source = HL_NAME_SOURCE(name);

	return source == HL_NAME_DEBUGDATA || (all && source != HL_NAME_PIECE);
}

static size_t name_size(struct hl_builder *b, uint32_t name, bool all)
{
	return is_copied(name, all) ? strnlen(hl_builder_name(b, name), MAX_RAW_NAME + 1) + 1 : 0;
}

/* Replaces the offset in @name by one into the copied names. */
static void copy_name(struct hl_builder *b, uint32_t *name, size_t *at)
{
	const char *text = hl_builder_name(b, *name);
	size_t len = strnlen(text, MAX_RAW_NAME + 1);

	if (!is_copied(*name, b->draft.all_copied))
		return;
	memcpy(b->draft.copied + *at, text, len);
	b->draft.copied[*at + len] = '\0';
	*name = (*name & ~HL_NAME_OFFSET_MAX) | (uint32_t)*at;
	*at += len + 1;
}

/* The bytes that copies take, counted until they are more than @limit. */
static size_t count_copies(struct hl_builder *b, bool all, size_t limit)
{
	const struct hl_draft *s = &b->draft;
	size_t total = 0, i;

	for (i = 0; i < s->n_ranges && total <= limit; i++)
		total += name_size(b, s->ranges[i].name, all);
	for (i = 0; i < s->n_pieces && total <= limit; i++)
		total += name_size(b, s->pieces[i].name, all);
	return total;
}

/*
 * Copies the names if they are few, so that most files need not stay open; a large file's stay in the file,
 * since of its hundred thousand names a few hundred are ever asked for. Those of .gnu_debugdata have no file.
 */
static int copy_names(struct hl_builder *b)
{
	struct hl_draft *s = &b->draft;
	size_t total = count_copies(b, true, COPIED_NAMES), at = 0, i;

	s->all_copied = total > 0 && total <= COPIED_NAMES;
	if (!s->all_copied)
		total = b->debugdata ? count_copies(b, false, HL_NAME_OFFSET_MAX) : 0;
	if (total == 0 || total > HL_NAME_OFFSET_MAX)
		return 0;
	s->copied = malloc(total);
	if (!s->copied)
		return -ENOMEM;
	s->copied_len = total;
	for (i = 0; i < s->n_ranges; i++)
		copy_name(b, &s->ranges[i].name, &at);
	for (i = 0; i < s->n_pieces; i++)
		copy_name(b, &s->pieces[i].name, &at);
	return 0;
}

static int build(struct hl_builder *b)
{
	int r = find_areas(b);

	if (r == 0)
		r = read_symbols(b, b->elf, SHT_SYMTAB, HL_NAME_SYMTAB);
	if (r == 0 && b->debug)
		r = read_symbols(b, b->debug, SHT_SYMTAB, HL_NAME_DEBUG);
	if (r == 0)
		r = read_symbols(b, b->elf, SHT_DYNSYM, HL_NAME_DYNSYM);
	if (r == 0)
		r = hl_builder_open_debugdata(b);
	if (r == 0 && b->debugdata)
		r = read_symbols(b, b->debugdata, SHT_SYMTAB, HL_NAME_DEBUGDATA);
	if (r == 0)
		r = hl_builder_add_go(b);
	if (r == 0)
		r = hl_builder_sort(b, 0);
	if (r == 0)
		r = hl_builder_add_plt(b);
	if (r == 0)
		r = hl_builder_read_fdes(b);
	if (r == 0)
		r = hl_builder_sweep(b);
	if (r == 0)
		r = hl_builder_find_more(b);
	if (r == 0)
		hl_draft_drop_named_fdes(&b->draft);
	if (r == 0)
		r = copy_names(b);
	return r == 0 && b->no_memory ? -ENOMEM : r;
}

int hl_symbols_new(const struct hl_elf *elf, const struct hl_elf *debug, struct hl_symbols **ret,
		   struct hl_err *err)
{
	return hl_symbols_new_with(elf, debug, NULL, ret, err);
}

int hl_symbols_new_with(const struct hl_elf *elf, const struct hl_elf *debug, hl_find_functions_fn find,
			struct hl_symbols **ret, struct hl_err *err)
{
	_cleanup_(builder_done) struct hl_builder b = { .elf = elf, .debug = debug, .find = find };
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t len = 0;
	int r = build(&b);

	if (r == 0)
		r = hl_draft_pack(&b.draft, elf, &bytes, &len);
	if (r == 0)
		r = hl_symbols_take(&bytes, len, elf, debug, ret);
	return r < 0 ? hl_err_errno(err, r, "'%s': cannot build the table of functions", hl_elf_name(elf))
		     : 0;
}
