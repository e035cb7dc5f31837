// SPDX-License-Identifier: BSD-2-Clause
#include "elf/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/mem.h"
#include "elf/elf.h"
#include "elf/inflate.h"

enum {
	MAX_HEADER = 64 << 20,
	MAX_FRAMES = 256 << 20,
	MAX_CIES = 1 << 16, /* linkers merge equal ones: large programs have some thousands */
};

/* Encodings of pointers: a form, what it is relative to, and a flag (LSB core 5.0, 10.5.1). */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORM = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_OMIT = 0xff,
};

struct hl_cfi {
	uint8_t *bytes;
	size_t len;
	uint64_t address; /* of the first byte */
	bool is_debug, is_64;
	size_t pos;      /* of the next entry */
	size_t last_fde; /* by the header's table; zero lengths before it end nothing */
	struct hl_cfi_cie *cies;
	size_t *positions; /* of the CIEs */
	size_t n_cies, cap_cies, cap_positions;
	struct hl_index by_position;
	uint32_t recent; /* the CIE used last */
};

HL_DEFINE_CLEANUP(struct hl_cfi, hl_cfi_free)

void hl_cfi_free(struct hl_cfi *cfi)
{
	if (!cfi)
		return;
	free(cfi->bytes);
	free(cfi->cies);
	free(cfi->positions);
	hl_index_done(&cfi->by_position);
	free(cfi);
}

/* The value of a form, before what it is relative to is added; false for a form that is none. */
static bool read_form(struct hl_cursor *c, uint8_t form, bool is_64, uint64_t *ret)
{
	switch (form) {
	case PE_ABSPTR:
		*ret = hl_cursor_word(c, is_64);
		break;
	case PE_ULEB128:
		*ret = hl_cursor_uleb(c);
		break;
	case PE_SLEB128:
		*ret = (uint64_t)hl_cursor_sleb(c);
		break;
	case PE_UDATA2:
		*ret = hl_cursor_u16(c);
		break;
	case PE_SDATA2:
		*ret = (uint64_t)(int16_t)hl_cursor_u16(c);
		break;
	case PE_UDATA4:
		*ret = hl_cursor_u32(c);
		break;
	case PE_SDATA4:
		*ret = (uint64_t)(int32_t)hl_cursor_u32(c);
		break;
	case PE_UDATA8:
	case PE_SDATA8:
		*ret = hl_cursor_u64(c);
		break;
	default:
		return false;
	}
	return !c->failed;
}

/*
 * A pointer whose field stands at address @field. In .eh_frame_hdr "relative to data" means to @data, the
 * header itself; in .eh_frame it would mean another register of the psABI and is used by no compiler for
 * x86-64, so that 0 there stands for "cannot be followed", as it is for indirect pointers.
 */
static bool read_pointer(struct hl_cursor *c, uint8_t encoding, uint64_t field, uint64_t data, bool is_64,
			 uint64_t *ret)
{
	uint64_t value;

	if (!read_form(c, encoding & PE_FORM, is_64, &value))
		return false;
	switch (encoding & ~PE_FORM) {
	case 0:
		break;
	case PE_PCREL:
		value += field;
		break;
	case PE_DATAREL:
		if (data == 0)
			return false;
		value += data;
		break;
	default:
		return false;
	}
	*ret = is_64 ? value : (uint32_t)value;
	return true;
}

struct hl_cursor hl_cfi_program(const struct hl_cfi *cfi, size_t program, size_t len)
{
	struct hl_cursor c = hl_cursor_of(cfi->bytes, program + len, "call frame information");

	c.pos = program;
	return c;
}

bool hl_cfi_read_address(const struct hl_cfi *cfi, const struct hl_cfi_cie *cie, struct hl_cursor *c,
			 uint64_t *ret)
{
	return read_pointer(c, cie->encoding, cfi->address + c->pos, 0, cfi->is_64, ret);
}

/* ---- where the bytes are ---- */

static int load_bytes(const struct hl_elf *elf, uint64_t offset, uint64_t len, struct hl_cfi *cfi,
		      struct hl_err *err)
{
	const struct hl_elf_section bytes = { .name = "call frame information",
					      .offset = offset,
					      .size = len };

	return hl_elf_load(elf, &bytes, MAX_FRAMES, &cfi->bytes, &cfi->len, err);
}

static int load_section(const struct hl_elf *elf, const char *name, struct hl_cfi *cfi, struct hl_err *err)
{
	const struct hl_elf_section *section = hl_elf_section_named(elf, name);

	if (!section || section->size == 0 || section->flags & SHF_COMPRESSED)
		return -ENODATA;
	cfi->address = section->address;
	return load_bytes(elf, section->offset, section->size, cfi, err);
}

/* Loads .eh_frame from @address to the end of what the file holds of its segment, or of its section. */
static int load_frames_at(const struct hl_elf *elf, uint64_t address, struct hl_cfi *cfi, struct hl_err *err)
{
	const struct hl_elf_section *section = hl_elf_section_named(elf, ".eh_frame");
	const struct hl_elf_segment *s;
	uint64_t offset, len;
	size_t n, i;

	s = hl_elf_segments(elf, &n);
	for (i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address - s[i].address < s[i].file_size)
			break;
	if (i == n)
		return -ENODATA;
	offset = s[i].offset + (address - s[i].address);
	len = s[i].file_size - (address - s[i].address);
	if (section && section->address == address && section->size < len)
		len = section->size;
	if (offset >= hl_elf_size(elf))
		return -ENODATA;
	if (len > hl_elf_size(elf) - offset)
		len = hl_elf_size(elf) - offset;
	cfi->address = address;
	return load_bytes(elf, offset, len < MAX_FRAMES ? len : MAX_FRAMES, cfi, err);
}

/* Whether a CIE stands first, as it must: what an FDE refers to stands before it. */
static bool begins_with_cie(const struct hl_cfi *cfi)
{
	struct hl_cursor c = hl_cursor_of(cfi->bytes, cfi->len, "call frame information");
	uint32_t len = hl_cursor_u32(&c), id;
	uint8_t version;

	if (len == UINT32_MAX)
		(void)hl_cursor_u64(&c);
	id = hl_cursor_u32(&c);
	version = hl_cursor_u8(&c);
	return !c.failed && len > 0 && id == 0 && (version == 1 || version == 3);
}

/* Loads .eh_frame from where the header says that it is, or if that is wrong, from its section. */
static int load_frames(const struct hl_elf *elf, uint64_t address, struct hl_cfi *cfi, struct hl_err *err)
{
	int r = load_frames_at(elf, address, cfi, err);

	if ((r < 0 && r != -ENODATA) || (r == 0 && begins_with_cie(cfi)))
		return r;
	free(cfi->bytes);
	cfi->bytes = NULL;
	cfi->len = 0;
	return load_section(elf, ".eh_frame", cfi, err);
}

/* The FDE furthest back of the @n rows of the header's table, as a position in the frames. */
static size_t find_last_fde(const struct hl_cfi *cfi, struct hl_cursor *c, uint8_t encoding, uint64_t n,
			    uint64_t header)
{
	uint64_t fde, last = 0, i;

	/* Rows are pairs: where a function starts, and where its FDE stands. */
	for (i = 0; i < 2 * n && read_pointer(c, encoding, header + c->pos, header, cfi->is_64, &fde); i++)
		if (i % 2 && fde - cfi->address < cfi->len && fde - cfi->address > last)
			last = fde - cfi->address;
	return (size_t)last;
}

/* Finds .eh_frame by the header at @segment. */
static int load_by_header(const struct hl_elf *elf, const struct hl_elf_segment *segment, struct hl_cfi *cfi,
			  struct hl_err *err)
{
	const struct hl_elf_section as_section = { .name = "PT_GNU_EH_FRAME",
						   .offset = segment->offset,
						   .size = segment->file_size };
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t header = segment->address, frames, n = 0;
	uint8_t version, frames_encoding, count_encoding, table_encoding;
	struct hl_cursor c;
	size_t len;
	int r;

	r = hl_elf_load(elf, &as_section, MAX_HEADER, &bytes, &len, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -ENODATA;
	c = hl_cursor_of(bytes, len, as_section.name);
	version = hl_cursor_u8(&c);
	frames_encoding = hl_cursor_u8(&c);
	count_encoding = hl_cursor_u8(&c);
	table_encoding = hl_cursor_u8(&c);
	if (version != 1 || !read_pointer(&c, frames_encoding, header + c.pos, header, cfi->is_64, &frames))
		return -ENODATA;
	r = load_frames(elf, frames, cfi, err);
	if (r < 0)
		return r;
	if (count_encoding != PE_OMIT && table_encoding != PE_OMIT &&
	    read_pointer(&c, count_encoding, header + c.pos, header, cfi->is_64, &n))
		cfi->last_fde = find_last_fde(cfi, &c, table_encoding, n, header);
	return 0;
}

/* Debug information may be compressed. */
static int load_debug_frame(const struct hl_elf *elf, struct hl_cfi *cfi, struct hl_err *err)
{
	const struct hl_elf_section *section = hl_elf_debug_section(elf, "frame");

	if (!section || section->size == 0)
		return -ENODATA;
	cfi->address = section->address;
	return hl_elf_inflate(elf, section, MAX_FRAMES, &cfi->bytes, &cfi->len, err);
}

static int load_eh_frame(const struct hl_elf *elf, struct hl_cfi *cfi, struct hl_err *err)
{
	const struct hl_elf_segment *s;
	size_t n, i;
	int r = -ENODATA;

	s = hl_elf_segments(elf, &n);
	for (i = 0; i < n && s[i].type != PT_GNU_EH_FRAME; i++)
		;
	if (i < n)
		r = load_by_header(elf, &s[i], cfi, err);
	return r == -ENODATA ? load_section(elf, ".eh_frame", cfi, err) : r;
}

int hl_cfi_load(const struct hl_elf *elf, enum hl_cfi_kind kind, struct hl_cfi **ret, struct hl_err *err)
{
	_cleanup_(hl_cfi_freep) struct hl_cfi *cfi = calloc(1, sizeof(*cfi));
	int r;

	if (!cfi)
		return hl_err_errno(err, -ENOMEM, "'%s'", hl_elf_name(elf));
	cfi->is_debug = kind == HL_CFI_DEBUG_FRAME;
	cfi->is_64 = hl_elf_is_64(elf);
	if (cfi->is_debug)
		r = load_debug_frame(elf, cfi, err);
	else
		r = load_eh_frame(elf, cfi, err);
	if (r == -ENODATA)
		return hl_err_set(err, r, "'%s' has no %s", hl_elf_name(elf),
				  cfi->is_debug ? ".debug_frame" : ".eh_frame");
	if (r == -ENOMEM)
		return hl_err_errno(err, r, "'%s'", hl_elf_name(elf));
	if (r < 0)
		return r;
	if (cfi->is_debug)
		cfi->last_fde = cfi->len;
	*ret = TAKE_PTR(cfi);
	return 0;
}

/* ---- entries ---- */

/* Reads the augmentation data that the letters after 'z' announce, as far as they are known. */
static bool read_augmentation(const struct hl_cfi *cfi, struct hl_cursor *c, const char *letters,
			      struct hl_cfi_cie *cie)
{
	uint64_t len = hl_cursor_uleb(c), ignored;
	size_t end;

	if (len > hl_cursor_left(c))
		return false;
	end = c->pos + (size_t)len;
	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->encoding = hl_cursor_u8(c);
		else if (*letters == 'L')
			(void)hl_cursor_u8(c);
		else if (*letters == 'S')
			cie->is_signal = true;
		else if (*letters != 'P' || !read_form(c, hl_cursor_u8(c) & PE_FORM, cfi->is_64, &ignored))
			break;
	}
	if (c->failed || c->pos > end)
		return false;
	hl_cursor_seek(c, end);
	return true;
}

/* Reads a CIE from its version on; @c ends with it. False: its FDEs cannot be read. */
static bool read_cie(const struct hl_cfi *cfi, struct hl_cursor *c, struct hl_cfi_cie *cie)
{
	uint8_t version = hl_cursor_u8(c), address_size = 0;
	const char *augmentation = hl_cursor_string(c);

	if (!augmentation || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		address_size = hl_cursor_u8(c);
		if (address_size != (cfi->is_64 ? 8 : 4) || hl_cursor_u8(c) != 0)
			return false;
	}
	if (strcmp(augmentation, "eh") == 0)
		(void)hl_cursor_word(c, cfi->is_64);
	else if (augmentation[0] && augmentation[0] != 'z')
		return false;
	cie->code_align = hl_cursor_uleb(c);
	cie->data_align = hl_cursor_sleb(c);
	cie->return_register = version == 1 ? hl_cursor_u8(c) : hl_cursor_uleb(c);
	cie->has_length = augmentation[0] == 'z';
	if (cie->has_length && !read_augmentation(cfi, c, augmentation + 1, cie))
		return false;
	cie->program = c->pos;
	cie->program_len = hl_cursor_left(c);
	return !c->failed;
}

static uint64_t position_hash(size_t position)
{
	return position * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

static int position_same(const void *ctx, uint32_t number)
{
	const struct hl_cfi *cfi = ctx;

	return cfi->positions[number] == cfi->pos;
}

/* Adds the CIE at cfi->pos, whose content @c reads. One that cannot be read is as good as none. */
static int add_cie(struct hl_cfi *cfi, struct hl_cursor *c)
{
	struct hl_cfi_cie cie = { .encoding = PE_ABSPTR };
	int r;

	if (cfi->n_cies == MAX_CIES || !read_cie(cfi, c, &cie))
		return 0;
	r = hl_grow(&cfi->cies, &cfi->cap_cies, cfi->n_cies + 1, sizeof(cie), MAX_CIES);
	if (r == 0)
		r = hl_grow(&cfi->positions, &cfi->cap_positions, cfi->n_cies + 1, sizeof(size_t), MAX_CIES);
	if (r == 0)
		r = hl_index_add(&cfi->by_position, position_hash(cfi->pos), (uint32_t)cfi->n_cies);
	if (r < 0)
		return r;
	cfi->cies[cfi->n_cies] = cie;
	cfi->positions[cfi->n_cies++] = cfi->pos;
	return 0;
}

/* The number of the CIE at @position, which stood before its FDEs; HL_INDEX_NONE if none does. */
static uint32_t find_cie(const struct hl_cfi *cfi, size_t position)
{
	struct hl_cfi as_key = { .positions = cfi->positions, .pos = position };

	if (cfi->recent < cfi->n_cies && cfi->positions[cfi->recent] == position)
		return cfi->recent;
	return hl_index_find(&cfi->by_position, position_hash(position), position_same, &as_key);
}

/* Reads an FDE from its start on. */
static bool read_fde(const struct hl_cfi *cfi, struct hl_cursor *c, struct hl_cfi_fde *ret)
{
	const struct hl_cfi_cie *cie = &cfi->cies[ret->cie];
	uint64_t len;

	if (!hl_cfi_read_address(cfi, cie, c, &ret->start) ||
	    !read_form(c, cie->encoding & PE_FORM, cfi->is_64, &ret->size))
		return false;
	if (cie->has_length) {
		len = hl_cursor_uleb(c);
		if (len > hl_cursor_left(c))
			return false;
		hl_cursor_skip(c, (size_t)len);
	}
	ret->program = c->pos;
	ret->program_len = hl_cursor_left(c);
	return !c->failed && ret->start != 0 && ret->size != 0;
}

/* The entry at cfi->pos, from behind its length on: as hl_cfi_next(), 0 for what is no FDE. */
static int read_entry(struct hl_cfi *cfi, struct hl_cursor *c, bool is_long, struct hl_cfi_fde *ret)
{
	size_t id_at = c->pos;
	/* In .eh_frame the id has four bytes, also behind a length of eight. */
	bool is_long_id = is_long && cfi->is_debug;
	uint64_t id = hl_cursor_word(c, is_long_id), cie_at;
	uint64_t cie_id = !cfi->is_debug ? 0 : is_long_id ? UINT64_MAX : UINT32_MAX;

	if (c->failed)
		return 0;
	if (id == cie_id)
		return add_cie(cfi, c);
	cie_at = cfi->is_debug ? id : id_at - id;
	if (cie_at >= cfi->pos)
		return 0;
	ret->cie = find_cie(cfi, (size_t)cie_at);
	if (ret->cie == HL_INDEX_NONE)
		return 0;
	cfi->recent = ret->cie;
	return read_fde(cfi, c, ret);
}

int hl_cfi_next(struct hl_cfi *cfi, struct hl_cfi_fde *ret)
{
	struct hl_cursor c;
	struct hl_cfi_fde fde;
	uint64_t len;
	bool is_long;
	int r;

	for (;;) {
		c = hl_cfi_program(cfi, cfi->pos, cfi->len - cfi->pos);
		len = hl_cursor_u32(&c);
		if (c.failed || (len == 0 && cfi->pos >= cfi->last_fde))
			return 0;
		is_long = len == UINT32_MAX;
		if (is_long)
			len = hl_cursor_u64(&c);
		if (c.failed || len > hl_cursor_left(&c))
			return 0;
		c.len = c.pos + (size_t)len;
		r = len ? read_entry(cfi, &c, is_long, &fde) : 0;
		cfi->pos = c.len;
		if (r < 0)
			return r;
		if (r > 0) {
			*ret = fde;
			return 1;
		}
	}
}

const struct hl_cfi_cie *hl_cfi_cie(const struct hl_cfi *cfi, uint32_t number)
{
	return &cfi->cies[number];
}

uint32_t hl_cfi_n_cies(const struct hl_cfi *cfi)
{
	return (uint32_t)cfi->n_cies;
}
