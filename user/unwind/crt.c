// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/crt.h"

#include <stddef.h>
#include <string.h>

#include "elf/elf.h"

enum { LONGEST = 64 };

bool hl_crt_find(const struct hl_elf *elf, uint32_t i, struct hl_crt *ret)
{
	static const char *const names[HL_CRT_FUNCTIONS] = { ".init", ".fini" };
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t head[] = { 0x48, 0x83, 0xec, 0x08 };       /* sub $8,%rsp */
	static const uint8_t tail[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 }; /* add $8,%rsp; ret */
	const struct hl_elf_section *section = hl_elf_section_named(elf, names[i]);
	uint8_t code[LONGEST];
	size_t at = 0, size;

	if (!section || section->size < sizeof(head) + sizeof(tail) || section->size > sizeof(code))
		return false;
	size = (size_t)section->size;
	if (hl_elf_read(elf, section->offset, code, size))
		return false;
	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (size - at < sizeof(head) + sizeof(tail) || memcmp(code + at, head, sizeof(head)) != 0 ||
	    memcmp(code + size - sizeof(tail), tail, sizeof(tail)) != 0)
		return false;
	*ret = (struct hl_crt){ .address = section->address,
				.size = size,
				.pushed = (uint32_t)(at + sizeof(head)),
				.popped = (uint32_t)size - 1 };
	return true;
}
