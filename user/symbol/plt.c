// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/str.h"
#include "elf/elf.h"

/*
 * Names for PLT entries. An entry jumps through a slot of the GOT; the relocation of that slot names the
 * function. So the code is read, not the order of entries, which differs from linker to linker.
 */

enum {
	/* Of all sections together: headers may say the same bytes again and again. */
	MAX_RELOCATIONS = 16 << 20,
	MAX_PLT = 1 << 20,
};

/* A GOT slot that a relocation fills. */
struct slot {
	uint64_t address;
	uint64_t value;    /* index in .dynsym, or the address of an IFUNC's resolver */
	uint64_t resolver; /* 1: the latter */
};

struct slots {
	struct slot *items;
	size_t n, cap;
	bool is_64;
};

static int add_slot(void *ctx, struct hl_cursor *c)
{
	struct slots *slots = ctx;
	uint64_t address = hl_cursor_word(c, slots->is_64), info = hl_cursor_word(c, slots->is_64);
	uint64_t type = slots->is_64 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info);
	uint64_t symbol = slots->is_64 ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
	struct slot slot = { .address = address, .value = symbol };
	int r;

	/* Both machines use the same numbers for GLOB_DAT and JUMP_SLOT (psABI, "Relocation Types"). */
	_Static_assert(R_X86_64_GLOB_DAT == R_386_GLOB_DAT && R_X86_64_JUMP_SLOT == R_386_JMP_SLOT, "");
	if (slots->is_64 && type == R_X86_64_IRELATIVE) {
		slot.value = hl_cursor_u64(c);
		slot.resolver = 1;
	} else if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || symbol == 0) {
		return 0;
	}
	r = hl_grow(&slots->items, &slots->cap, slots->n + 1, sizeof(*slots->items), HL_SYMBOLS_MAX);
	if (r == 0)
		slots->items[slots->n++] = slot;
	return r;
}

static int read_slots(const struct hl_elf *elf, struct slots *slots)
{
	uint32_t type = slots->is_64 ? SHT_RELA : SHT_REL;
	size_t size = slots->is_64 ? sizeof(Elf64_Rela) : sizeof(Elf32_Rel), n, i, left = MAX_RELOCATIONS;
	const struct hl_elf_section *sections = hl_elf_sections(elf, &n);
	int r = 0;

	for (i = 0; i < n && r != -ENOMEM; i++) {
		if (sections[i].type != type || !(sections[i].flags & SHF_ALLOC) ||
		    sections[i].size / size > left)
			continue;
		left -= (size_t)(sections[i].size / size);
		r = hl_elf_each(elf, &sections[i], size, MAX_RELOCATIONS, add_slot, slots, NULL);
	}
	return r == -ENOMEM ? r : hl_radix_sort(slots->items, slots->n, sizeof(*slots->items));
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	size_t low = 0, high = slots->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (slots->items[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low < slots->n && slots->items[low].address == address ? &slots->items[low] : NULL;
}

/* The name of the IFUNC whose resolver stands at @address; the candidates are sorted. */
static bool find_resolver(const struct hl_builder *b, size_t n, uint64_t address, uint32_t *ret)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (b->cands[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == n || b->cands[low].address != address || !b->cands[low].resolver)
		return false;
	*ret = b->cands[low].name;
	return true;
}

static bool read_dynamic_name(const struct hl_builder *b, uint64_t index, uint32_t *ret)
{
	const struct hl_elf_section *symbols = hl_elf_section_typed(b->elf, SHT_DYNSYM);
	size_t size = hl_elf_is_64(b->elf) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint8_t name[4];
	struct hl_cursor c = hl_cursor_of(name, sizeof(name), "a symbol");
	uint32_t offset;

	if (!symbols || index >= symbols->size / size ||
	    hl_elf_read(b->elf, symbols->offset + index * size, name, sizeof(name)) < 0)
		return false;
	offset = hl_cursor_u32(&c);
	if (offset == 0 || offset >= b->draft.names[HL_NAME_DYNSYM].size)
		return false;
	*ret = HL_NAME(HL_NAME_DYNSYM, offset);
	return true;
}

/*
 * The slot through which the entry at @code jumps: `[endbr64] [bnd] jmp *slot(%rip)`; in 32-bit code
 * `[endbr32] jmp *slot` or `jmp *slot(%ebx)`, with %ebx at the start of .got.plt (@got).
 */
static bool decode_entry(const uint8_t *code, size_t len, bool is_64, uint64_t address, uint64_t got,
			 uint64_t *ret)
{
	struct hl_cursor c = hl_cursor_of(code, len, "a PLT entry");
	uint8_t opcode, mod_rm;
	int32_t operand;

	if (len >= 4 && memcmp(code, is_64 ? "\xf3\x0f\x1e\xfa" : "\xf3\x0f\x1e\xfb", 4) == 0)
		hl_cursor_skip(&c, 4);
	opcode = hl_cursor_u8(&c);
	if (opcode == 0xf2)
		opcode = hl_cursor_u8(&c);
	mod_rm = hl_cursor_u8(&c);
	operand = (int32_t)hl_cursor_u32(&c);
	if (c.failed || opcode != 0xff || (mod_rm != 0x25 && (is_64 || mod_rm != 0xa3)))
		return false;
	if (is_64)
		*ret = address + c.pos + (uint64_t)(int64_t)operand;
	else
		*ret = (uint32_t)((mod_rm == 0xa3 ? got : 0) + (uint32_t)operand);
	return true;
}

static int add_entries(struct hl_builder *b, const struct hl_elf_section *plt, const struct slots *slots,
		       size_t n_sorted)
{
	const struct hl_elf_section *got = hl_elf_section_named(b->elf, ".got.plt");
	size_t len, at, step = 16;
	struct hl_cand cand = { .rank = HL_RANK_SIZED | HL_RANK_FUNCTION };
	_cleanup_free_ uint8_t *code = NULL;
	const struct slot *slot;
	uint64_t address;
	int r = hl_elf_load(b->elf, plt, MAX_PLT, &code, &len, NULL);

	if (plt->entry_size == 8 || plt->entry_size == 16)
		step = (size_t)plt->entry_size;
	else if (strcmp(plt->name, ".plt.got") == 0)
		step = 8;
	for (at = 0; r == 0 && at + step <= len; at += step) {
		cand.address = plt->address + at;
		if (!decode_entry(code + at, step, slots->is_64, cand.address, got ? got->address : 0,
				  &address))
			continue;
		slot = find_slot(slots, address);
		if (!slot || !hl_area_find(b->areas, b->n_areas, cand.address))
			continue;
		if (slot->resolver ? !find_resolver(b, n_sorted, slot->value, &cand.name)
				   : !read_dynamic_name(b, slot->value, &cand.name))
			continue;
		cand.size = (uint32_t)step;
		cand.name |= HL_NAME_PLT;
		r = hl_builder_add(b, &cand);
	}
	return r == -ENOMEM ? r : 0;
}

int hl_builder_add_plt(struct hl_builder *b)
{
	struct slots slots = { .is_64 = hl_elf_is_64(b->elf) };
	const struct hl_elf_section *sections;
	size_t n, i, left = MAX_PLT, n_sorted = b->n;
	int r = 0;

	if (hl_elf_machine(b->elf) != (slots.is_64 ? EM_X86_64 : EM_386))
		return 0;
	sections = hl_elf_sections(b->elf, &n);
	for (i = 0; i < n && r == 0; i++) {
		if (sections[i].type != SHT_PROGBITS || !hl_starts_with(sections[i].name, ".plt") ||
		    sections[i].size == 0 || sections[i].size > left)
			continue;
		if (left == MAX_PLT)
			r = read_slots(b->elf, &slots);
		left -= (size_t)sections[i].size;
		if (r == 0)
			r = add_entries(b, &sections[i], &slots, n_sorted);
	}
	if (r == 0 && b->n != n_sorted)
		r = hl_builder_sort(b, n_sorted);
	free(slots.items);
	return r;
}
