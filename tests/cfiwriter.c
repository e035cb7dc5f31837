// SPDX-License-Identifier: BSD-2-Clause
#include "cfiwriter.h"

#include <stdlib.h>
#include <string.h>

#include "elfwriter.h"

static void must_hold(bool what)
{
	if (!what)
		abort();
}

void cw_init(struct cfiwriter *w, uint64_t address, bool is_debug)
{
	memset(w, 0, sizeof(*w));
	w->address = address;
	w->is_debug = is_debug;
}

void cw_bytes(struct cfiwriter *w, const void *bytes, size_t len)
{
	must_hold(len <= CW_ROOM - w->len);
	if (len)
		memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

void cw_number(struct cfiwriter *w, uint64_t value, size_t size)
{
	cw_bytes(w, &value, size);
}

size_t cw_begin(struct cfiwriter *w)
{
	w->entry = w->len;
	cw_number(w, 0, 4);
	return w->entry;
}

void cw_end(struct cfiwriter *w)
{
	uint32_t len;

	while (w->len % 4)
		cw_number(w, 0, 1);
	len = (uint32_t)(w->len - w->entry - 4);
	memcpy(w->bytes + w->entry, &len, sizeof(len));
}

size_t cw_cie(struct cfiwriter *w, const char *augmentation, const void *data, size_t data_len,
	      const void *program, size_t len)
{
	size_t at = cw_begin(w);

	cw_number(w, w->is_debug ? UINT32_MAX : 0, 4);
	cw_number(w, w->is_debug ? 3 : 1, 1);
	cw_bytes(w, augmentation, strlen(augmentation) + 1);
	cw_bytes(w, "\x01\x78\x10", 3); /* code alignment 1, data alignment -8, column 16 */
	if (augmentation[0] == 'z')
		cw_number(w, data_len, 1);
	cw_bytes(w, data, data_len);
	cw_bytes(w, program, len);
	cw_end(w);
	return at;
}

size_t cw_usual_cie(struct cfiwriter *w)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 }; /* def_cfa rsp + 8, return address at -8 */

	return w->is_debug ? cw_cie(w, "", NULL, 0, program, sizeof(program))
			   : cw_cie(w, "zR", "\x1b", 1, program, sizeof(program));
}

void cw_fde(struct cfiwriter *w, size_t cie, uint64_t start, uint64_t size, const void *program, size_t len)
{
	size_t at = cw_begin(w);

	must_hold(w->n_fdes < sizeof(w->fdes) / sizeof(*w->fdes));
	w->fdes[w->n_fdes].start = start;
	w->fdes[w->n_fdes++].at = at;
	cw_number(w, w->is_debug ? cie : w->len - cie, 4);
	if (w->is_debug) {
		cw_number(w, start, 8);
		cw_number(w, size, 8);
	} else {
		cw_number(w, start - (w->address + w->len), 4);
		cw_number(w, size, 4);
		cw_number(w, 0, 1); /* no augmentation data */
	}
	cw_bytes(w, program, len);
	cw_end(w);
}

void cw_put_section(const struct cfiwriter *w, struct elfwriter *elf, uint64_t distance)
{
	ew_put(elf, w->address - distance, w->bytes, w->len);
	(void)ew_section(elf, w->is_debug ? ".debug_frame" : ".eh_frame", SHT_PROGBITS, 0,
			 w->is_debug ? 0 : w->address, w->address - distance, w->len);
}

void cw_put_segment(const struct cfiwriter *w, struct elfwriter *elf, uint64_t distance)
{
	uint64_t header = w->address - 12 - 8 * w->n_fdes, offset = header - distance;
	uint32_t row[2];
	size_t i;

	/* Version 1; frames: 32 bits from here; count: 32 bits; table: 32 bits from the header. */
	ew_put(elf, offset, "\x01\x1b\x03\x3b", 4);
	row[0] = (uint32_t)(w->address - header - 4);
	row[1] = (uint32_t)w->n_fdes;
	ew_put(elf, offset + 4, row, sizeof(row));
	for (i = 0; i < w->n_fdes; i++) {
		row[0] = (uint32_t)(w->fdes[i].start - header);
		row[1] = (uint32_t)(w->address + w->fdes[i].at - header);
		ew_put(elf, offset + 12 + 8 * i, row, sizeof(row));
	}
	ew_put(elf, w->address - distance, w->bytes, w->len);
	ew_segment(elf, PT_GNU_EH_FRAME, PF_R, offset, header, 12 + 8 * w->n_fdes);
	ew_segment(elf, PT_LOAD, PF_R, offset, header, 12 + 8 * w->n_fdes + w->len);
}
