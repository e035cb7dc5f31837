/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_TESTS_ELFWRITER_H
#define HL_TESTS_ELFWRITER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_elf;

/*
 * Writes small ELF files for tests. Bytes that the program headers speak of are put at offsets of the
 * test's choice; symbol tables, strings and headers follow behind them. Without memory a test dies.
 */

enum { EW_MAX = 64, EW_SYMTAB = 0, EW_DYNSYM = 1 };

struct elfwriter {
	bool is_64;
	uint16_t machine; /* 0: x86-64 or 386, by class */
	uint8_t *bytes;
	size_t len, cap;
	struct {
		uint32_t type, flags;
		uint64_t offset, address, file_size, memory_size;
	} segments[EW_MAX];
	struct {
		char name[32];
		uint32_t type, link;
		uint64_t flags, address, offset, size, entry_size;
	} sections[EW_MAX];
	size_t n_segments, n_sections; /* section 0 is the null section */
	struct {
		char *strings;
		size_t len;
		Elf64_Sym *items;
		size_t n;
	} tables[2];
};

void ew_init(struct elfwriter *w, bool is_64);
void ew_done(struct elfwriter *w);

/* Puts @len bytes at @offset of the file; NULL puts zeros. */
void ew_put(struct elfwriter *w, uint64_t offset, const void *bytes, size_t len);
void ew_segment(struct elfwriter *w, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
		uint64_t size);
/* A section over bytes that were put; returns its index. */
unsigned int ew_section(struct elfwriter *w, const char *name, uint32_t type, uint64_t flags,
			uint64_t address, uint64_t offset, uint64_t size);
/* An executable PT_LOAD with one section of that name over all of it, filled with nops. */
unsigned int ew_code(struct elfwriter *w, const char *name, uint64_t offset, uint64_t address, uint64_t size);
/* Adds a symbol; returns its index. @table is EW_SYMTAB or EW_DYNSYM. */
unsigned int ew_symbol(struct elfwriter *w, int table, const char *name, unsigned int binding,
		       unsigned int type, unsigned int section, uint64_t value, uint64_t size);
/* A GNU build-id note of @len bytes at @offset. Returns the length of the note. */
size_t ew_build_id(struct elfwriter *w, uint64_t offset, const void *id, uint32_t len);

/* Completes the file in w->bytes; only once. */
void ew_finish(struct elfwriter *w);
/* A memfd with these bytes. */
int ew_file(const void *bytes, size_t len);
/* Completes the file and opens it; @w is released. A file that is refused fails the test. */
struct hl_elf *ew_open(struct elfwriter *w);

#endif
