/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_TABLE_H
#define HL_SYMBOL_TABLE_H

/* What the parts of the builder share; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;
struct hl_elf_section;
struct hl_elf_span;
struct hl_err;
struct hl_symbols;

/* A name: where it comes from, and an offset there; bit 31 says that "@plt" is appended. */
enum hl_name_source {
	HL_NAME_SYMTAB = 0,
	HL_NAME_DYNSYM = 1,
	HL_NAME_DEBUG = 2,
	HL_NAME_DEBUGDATA = 3, /* in a finished table, the offset is one in its own copies */
	HL_NAME_GO = 4,
	HL_NAME_SOURCES = 5,
	HL_NAME_PIECE = 7, /* the offset is an index into the pieces */
};
#define HL_NAME_PLT         (1u << 31)
#define HL_NAME_OFFSET_MAX  ((1u << 28) - 1)
#define HL_NAME_OFFSET(n)   ((n)&HL_NAME_OFFSET_MAX)
#define HL_NAME_SOURCE(n)   ((n) >> 28 & 7)
#define HL_NAME(source, at) ((uint32_t)(source) << 28 | (uint32_t)(at))

#define HL_SYMBOLS_MAX (16u << 20)

/* A stretch of code without a boundary in it, while the table is made. */
struct hl_range {
	uint64_t start;
	uint32_t size;
	uint32_t name;
};

/* The function to which a range belongs, where that is not the range itself. */
struct hl_piece {
	uint64_t start;
	uint32_t size;
	uint32_t name;
};

/* Bounds of a function, relative to hl_draft.fde_base. */
struct hl_fde {
	uint32_t start, size;
};

struct hl_name_table {
	const struct hl_elf *elf; /* NULL: no such source */
	uint64_t offset, size;    /* of the string section in the file */
};

/* The table while it is made; image.h has the finished one. */
struct hl_draft {
	struct hl_range *ranges;
	size_t n_ranges, cap_ranges;
	struct hl_piece *pieces;
	size_t n_pieces, cap_pieces;
	struct hl_fde *fdes;
	size_t n_fdes;
	uint64_t fde_base;
	struct hl_name_table names[HL_NAME_SOURCES];
	char *copied; /* names whose offsets point here: all, if they are few, else those of .gnu_debugdata */
	size_t copied_len;
	bool all_copied;
	unsigned int refused;
};

/* A symbol on its way into the table. The rank orders those at one address, better ones higher. */
struct hl_cand {
	uint64_t address;
	uint32_t size; /* 0: to the next symbol */
	uint32_t name;
	uint8_t rank;
	bool exact;    /* without a size, it names its own address and no more */
	bool resolver; /* GNU_IFUNC */
};
enum { HL_RANK_SIZED = 16, HL_RANK_FUNCTION = 8, HL_RANK_GLOBAL = 4, HL_RANK_WEAK = 2 };

/* Where code stands: executable sections, or the segments of a file without. Sorted by start. */
struct hl_area {
	uint64_t start, end;
};

struct hl_builder {
	const struct hl_elf *elf, *debug;
	int (*find)(const struct hl_elf *elf, struct hl_elf_span **ret, size_t *ret_n); /* NULL: nothing */
	struct hl_elf *debugdata; /* the file in .gnu_debugdata, or NULL */
	struct hl_draft draft;
	struct hl_cand *cands;
	size_t n, cap;
	struct hl_area *areas;
	size_t n_areas;
	struct {
		char *data; /* NUL-terminated as a whole */
		size_t len;
		bool tried;
	} strings[HL_NAME_SOURCES];
	bool no_memory; /* for strings */
};

/* Leading underscores, of which fewer are better. Names may be as long as the file: it stops early. */
static inline size_t hl_count_underscores(const char *name)
{
	size_t n = 0;

	while (n < 16 && name[n] == '_')
		n++;
	return n;
}

/* The area that holds @address, or NULL. */
const struct hl_area *hl_area_find(const struct hl_area *areas, size_t n, uint64_t address);
/* The text of @name; "" for what is damaged. */
const char *hl_builder_name(struct hl_builder *b, uint32_t name);
/* Adds a candidate; 0, -ENOMEM, -E2BIG. */
int hl_builder_add(struct hl_builder *b, const struct hl_cand *cand);
/*
 * Sorts the candidates from number @from on, merges them with those before, which are sorted, and leaves the
 * best of each address. 0 or -ENOMEM.
 */
int hl_builder_sort(struct hl_builder *b, size_t from);

/*
 * Room for @n elements that live shortly: in huge pages, where that is worth it, since to fault small ones in
 * takes most of the time. Not cleared, released with free(); NULL without memory.
 */
void *hl_huge_array(size_t n, size_t size);
/* Sorts @n elements of @size bytes that begin with a u64 by that; stable. 0 or -ENOMEM. */
int hl_radix_sort(void *items, size_t n, size_t size);

/* The sources of which each has a file of its own. Damage is no failure, only -ENOMEM is. */
int hl_builder_open_debugdata(struct hl_builder *b);
int hl_builder_add_go(struct hl_builder *b);
int hl_builder_add_plt(struct hl_builder *b);
int hl_builder_read_fdes(struct hl_builder *b);
int hl_builder_sweep(struct hl_builder *b);
/* Once the ranges are there: bounds of functions that are in no FDE, where it is worth it. */
int hl_builder_find_more(struct hl_builder *b);
/* Leaves only the FDEs of which some code has no name. */
void hl_draft_drop_named_fdes(struct hl_draft *s);

/* The FDE that covers @address, with its bounds, or false. */
bool hl_draft_find_fde(const struct hl_draft *draft, uint64_t address, uint64_t *ret_start,
		       uint64_t *ret_end);

/*
 * The finished table, an image, of the file @running; to be released with free(). What lies more than 4 GiB
 * behind its first function is left out, and marked as HL_SYMBOLS_REFUSED_FAR. 0 or -ENOMEM.
 */
int hl_draft_pack(const struct hl_draft *draft, const struct hl_elf *running, uint8_t **ret, size_t *ret_len);
/* The object around such a table, which it owns from then on. 0 or -ENOMEM. */
int hl_symbols_take(uint8_t **bytes, size_t len, const struct hl_elf *elf, const struct hl_elf *debug,
		    struct hl_symbols **ret);

#endif
