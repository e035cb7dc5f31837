// SPDX-License-Identifier: BSD-2-Clause
#include "elf/elf.h"

#include <elf.h>
#include <string.h>

/* What is looked up in the headers that elf.c has read. */

enum { PAGE = 4096 };

const struct hl_elf_section *hl_elf_section_named(const struct hl_elf *elf, const char *name)
{
	size_t n, i;
	const struct hl_elf_section *sections = hl_elf_sections(elf, &n);

	for (i = 0; i < n; i++)
		if (sections[i].type != SHT_NOBITS && strcmp(sections[i].name, name) == 0)
			return &sections[i];
	return NULL;
}

const struct hl_elf_section *hl_elf_section_typed(const struct hl_elf *elf, uint32_t type)
{
	size_t n, i;
	const struct hl_elf_section *sections = hl_elf_sections(elf, &n);

	for (i = 0; i < n; i++)
		if (sections[i].type == type)
			return &sections[i];
	return NULL;
}

const struct hl_elf_section *hl_elf_section_at(const struct hl_elf *elf, uint32_t index, uint32_t type)
{
	size_t n;
	const struct hl_elf_section *sections = hl_elf_sections(elf, &n);

	return index < n && sections[index].type == type ? &sections[index] : NULL;
}

const struct hl_elf_segment *hl_elf_next_code(const struct hl_elf *elf, const struct hl_elf_segment *after)
{
	size_t n;
	const struct hl_elf_segment *all = hl_elf_segments(elf, &n);
	size_t i = after ? (size_t)(after - all) + 1 : 0;

	for (; i < n; i++)
		if (all[i].type == PT_LOAD && (all[i].flags & PF_X))
			return &all[i];
	return NULL;
}

bool hl_elf_address(const struct hl_elf *elf, uint64_t offset, uint64_t *ret)
{
	const struct hl_elf_segment *s = NULL, *near = NULL;
	uint64_t start, in_page;

	while ((s = hl_elf_next_code(elf, s))) {
		if (offset - s->offset < s->file_size) /* wraps to something large below the segment */
			break;
		in_page = s->offset % PAGE;
		start = s->offset - in_page;
		/* Up to the end of its last page; sizes near 2⁶⁴ saturate. */
		if (!near && s->file_size && s->file_size < UINT64_MAX - 2ull * PAGE &&
		    offset - start < (in_page + s->file_size + PAGE - 1) / PAGE * PAGE)
			near = s;
	}
	if (!s)
		s = near;
	if (!s)
		return false;
	*ret = offset - s->offset + s->address;
	return true;
}
