// SPDX-License-Identifier: BSD-2-Clause
#include "elfwriter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "elf/elf.h"
#include "harness.h"

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static void must_hold(bool what)
{
	if (!what)
		abort();
}

void ew_init(struct elfwriter *w, bool is_64)
{
	int i;

	*w = (struct elfwriter){ .is_64 = is_64, .n_sections = 1 };
	for (i = 0; i < 2; i++) {
		w->tables[i].items = must(calloc(1, sizeof(Elf64_Sym)));
		w->tables[i].n = 1;
		w->tables[i].strings = must(calloc(1, 1));
		w->tables[i].len = 1;
	}
	ew_put(w, 0, NULL, 4096);
}

void ew_done(struct elfwriter *w)
{
	int i;

	free(w->bytes);
	for (i = 0; i < 2; i++) {
		free(w->tables[i].items);
		free(w->tables[i].strings);
	}
}

void ew_put(struct elfwriter *w, uint64_t offset, const void *bytes, size_t len)
{
	if (offset + len > w->cap) {
		w->cap = (offset + len) * 2;
		w->bytes = must(realloc(w->bytes, w->cap));
	}
	if (offset + len > w->len) {
		memset(w->bytes + w->len, 0, offset + len - w->len);
		w->len = offset + len;
	}
	if (bytes && len)
		memcpy(w->bytes + offset, bytes, len);
}

void ew_segment(struct elfwriter *w, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
		uint64_t size)
{
	must_hold(w->n_segments < EW_MAX);
	w->segments[w->n_segments].type = type;
	w->segments[w->n_segments].flags = flags;
	w->segments[w->n_segments].offset = offset;
	w->segments[w->n_segments].address = address;
	w->segments[w->n_segments].file_size = size;
	w->segments[w->n_segments++].memory_size = size;
}

unsigned int ew_section(struct elfwriter *w, const char *name, uint32_t type, uint64_t flags,
			uint64_t address, uint64_t offset, uint64_t size)
{
	size_t i = w->n_sections;

	must_hold(i < EW_MAX);
	(void)snprintf(w->sections[i].name, sizeof(w->sections[i].name), "%s", name);
	w->sections[i].type = type;
	w->sections[i].flags = flags;
	w->sections[i].address = address;
	w->sections[i].offset = offset;
	w->sections[i].size = size;
	w->n_sections++;
	return (unsigned int)i;
}

unsigned int ew_code(struct elfwriter *w, const char *name, uint64_t offset, uint64_t address, uint64_t size)
{
	ew_put(w, offset, NULL, size);
	memset(w->bytes + offset, 0x90, size);
	ew_segment(w, PT_LOAD, PF_R | PF_X, offset, address, size);
	return ew_section(w, name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, address, offset, size);
}

unsigned int ew_symbol(struct elfwriter *w, int table, const char *name, unsigned int binding,
		       unsigned int type, unsigned int section, uint64_t value, uint64_t size)
{
	size_t n = w->tables[table].n, len = strlen(name) + 1, at = w->tables[table].len;

	w->tables[table].items = must(realloc(w->tables[table].items, (n + 1) * sizeof(Elf64_Sym)));
	w->tables[table].strings = must(realloc(w->tables[table].strings, at + len));
	memcpy(w->tables[table].strings + at, name, len);
	w->tables[table].items[n] = (Elf64_Sym){ .st_name = (uint32_t)at,
						 .st_info = ELF64_ST_INFO(binding, type),
						 .st_shndx = (uint16_t)section,
						 .st_value = value,
						 .st_size = size };
	w->tables[table].len += len;
	w->tables[table].n++;
	return (unsigned int)n;
}

size_t ew_build_id(struct elfwriter *w, uint64_t offset, const void *id, uint32_t len)
{
	uint32_t head[3] = { 4, len, NT_GNU_BUILD_ID };

	ew_put(w, offset, head, sizeof(head));
	ew_put(w, offset + 12, "GNU", 4);
	ew_put(w, offset + 16, id, len);
	return 16 + len;
}

static uint64_t append(struct elfwriter *w, const void *bytes, size_t len)
{
	uint64_t at = (w->len + 7) & ~7ull;

	ew_put(w, at, bytes, len);
	return at;
}

static void append_table(struct elfwriter *w, int table)
{
	const char *const names[2][2] = { { ".symtab", ".strtab" }, { ".dynsym", ".dynstr" } };
	Elf64_Sym *items = w->tables[table].items;
	size_t n = w->tables[table].n, size = w->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), i;
	Elf32_Sym narrow;
	uint64_t at, strings;
	unsigned int section;

	if (n == 1)
		return;
	if (w->is_64) {
		at = append(w, items, n * size);
	} else {
		at = append(w, NULL, n * size);
		for (i = 0; i < n; i++) {
			narrow = (Elf32_Sym){ items[i].st_name,           (uint32_t)items[i].st_value,
					      (uint32_t)items[i].st_size, items[i].st_info,
					      items[i].st_other,          items[i].st_shndx };
			ew_put(w, at + i * size, &narrow, size);
		}
	}
	strings = append(w, w->tables[table].strings, w->tables[table].len);
	section = ew_section(w, names[table][0], table == EW_DYNSYM ? SHT_DYNSYM : SHT_SYMTAB, 0, 0, at,
			     n * size);
	w->sections[section].entry_size = size;
	w->sections[section].link = section + 1;
	(void)ew_section(w, names[table][1], SHT_STRTAB, 0, 0, strings, w->tables[table].len);
}

static void put_segments(struct elfwriter *w, uint64_t at)
{
	size_t i;

	for (i = 0; i < w->n_segments; i++) {
		Elf64_Phdr p = { .p_type = w->segments[i].type,
				 .p_flags = w->segments[i].flags,
				 .p_offset = w->segments[i].offset,
				 .p_vaddr = w->segments[i].address,
				 .p_paddr = 0xbad000, /* nobody may look at it */
				 .p_filesz = w->segments[i].file_size,
				 .p_memsz = w->segments[i].memory_size,
				 .p_align = 4 };
		Elf32_Phdr q = { .p_type = p.p_type,
				 .p_offset = (uint32_t)p.p_offset,
				 .p_vaddr = (uint32_t)p.p_vaddr,
				 .p_paddr = 0xbad000,
				 .p_filesz = (uint32_t)p.p_filesz,
				 .p_memsz = (uint32_t)p.p_memsz,
				 .p_flags = p.p_flags,
				 .p_align = 4 };

		if (w->is_64)
			ew_put(w, at + i * sizeof(p), &p, sizeof(p));
		else
			ew_put(w, at + i * sizeof(q), &q, sizeof(q));
	}
}

static uint64_t append_sections(struct elfwriter *w)
{
	size_t each = w->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), i, at = 1;
	char names[EW_MAX * 32] = "";
	uint32_t offsets[EW_MAX] = { 0 };
	unsigned int last = ew_section(w, ".shstrtab", SHT_STRTAB, 0, 0, 0, sizeof(names));
	uint64_t table;

	for (i = 1; i < w->n_sections; i++) {
		offsets[i] = (uint32_t)at;
		at += (size_t)sprintf(names + at, "%s", w->sections[i].name) + 1;
	}
	w->sections[last].size = at;
	w->sections[last].offset = append(w, names, at);
	table = append(w, NULL, each * w->n_sections);
	for (i = 1; i < w->n_sections; i++) {
		Elf64_Shdr s = { .sh_name = offsets[i],
				 .sh_type = w->sections[i].type,
				 .sh_flags = w->sections[i].flags,
				 .sh_addr = w->sections[i].address,
				 .sh_offset = w->sections[i].offset,
				 .sh_size = w->sections[i].size,
				 .sh_link = w->sections[i].link,
				 .sh_entsize = w->sections[i].entry_size };
		Elf32_Shdr t = { .sh_name = s.sh_name,
				 .sh_type = s.sh_type,
				 .sh_flags = (uint32_t)s.sh_flags,
				 .sh_addr = (uint32_t)s.sh_addr,
				 .sh_offset = (uint32_t)s.sh_offset,
				 .sh_size = (uint32_t)s.sh_size,
				 .sh_link = s.sh_link,
				 .sh_entsize = (uint32_t)s.sh_entsize };

		if (w->is_64)
			ew_put(w, table + i * each, &s, each);
		else
			ew_put(w, table + i * each, &t, each);
	}
	return table;
}

void ew_finish(struct elfwriter *w)
{
	uint16_t machine = w->machine ? w->machine : w->is_64 ? EM_X86_64 : EM_386;
	uint64_t sections;

	append_table(w, EW_SYMTAB);
	append_table(w, EW_DYNSYM);
	sections = append_sections(w);
	if (w->is_64) {
		Elf64_Ehdr h = { .e_type = ET_DYN,
				 .e_machine = machine,
				 .e_version = EV_CURRENT,
				 .e_phoff = sizeof(h),
				 .e_shoff = sections,
				 .e_ehsize = sizeof(h),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = (uint16_t)w->n_segments,
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = (uint16_t)w->n_sections,
				 .e_shstrndx = (uint16_t)(w->n_sections - 1) };

		memcpy(h.e_ident, ELFMAG "\2\1\1", 7);
		ew_put(w, 0, &h, sizeof(h));
		put_segments(w, sizeof(h));
	} else {
		Elf32_Ehdr h = { .e_type = ET_DYN,
				 .e_machine = machine,
				 .e_version = EV_CURRENT,
				 .e_phoff = sizeof(h),
				 .e_shoff = (uint32_t)sections,
				 .e_ehsize = sizeof(h),
				 .e_phentsize = sizeof(Elf32_Phdr),
				 .e_phnum = (uint16_t)w->n_segments,
				 .e_shentsize = sizeof(Elf32_Shdr),
				 .e_shnum = (uint16_t)w->n_sections,
				 .e_shstrndx = (uint16_t)(w->n_sections - 1) };

		memcpy(h.e_ident, ELFMAG "\1\1\1", 7);
		ew_put(w, 0, &h, sizeof(h));
		put_segments(w, sizeof(h));
	}
}

int ew_file(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	must_hold(fd >= 0);
	while (len) {
		ssize_t n = write(fd, bytes, len);

		must_hold(n > 0);
		bytes = (const char *)bytes + n;
		len -= (size_t)n;
	}
	return fd;
}

struct hl_elf *ew_open(struct elfwriter *w)
{
	struct hl_err err = { "" };
	struct hl_elf *elf = NULL;
	int fd;

	ew_finish(w);
	fd = ew_file(w->bytes, w->len);
	ew_done(w);
	if (hl_elf_open(fd, "test", &elf, &err) < 0)
		FAIL("%s", err.text);
	(void)close(fd);
	return elf;
}
