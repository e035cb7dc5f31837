// SPDX-License-Identifier: BSD-2-Clause
#include "dw.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { RBX = 3, RBP = 6, RSP = 7, RETURN = 16 };

struct dw {
	Elf *elf;
	Dwarf_CFI *cfi;
	uint64_t *starts;
	size_t n_starts;
};

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Reads the search table: (start, FDE) as 32-bit distances from the header. */
static void read_starts(struct dw *dw)
{
	Elf_Data *data;
	GElf_Phdr phdr;
	int32_t row[2];
	uint32_t n;
	size_t i, n_segments;

	CHECK(elf_getphdrnum(dw->elf, &n_segments) == 0);
	for (i = 0; i < n_segments; i++)
		if (gelf_getphdr(dw->elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME)
			break;
	CHECK(i < n_segments);
	data = elf_getdata_rawchunk(dw->elf, (int64_t)phdr.p_offset, phdr.p_filesz, ELF_T_BYTE);
	CHECK(data && memcmp(data->d_buf, "\x01\x1b\x03\x3b", 4) == 0);
	memcpy(&n, (char *)data->d_buf + 8, sizeof(n));
	CHECK(n > 0 && 12 + 8ull * n <= phdr.p_filesz);
	dw->starts = calloc(n, sizeof(*dw->starts));
	CHECK(dw->starts);
	for (i = 0; i < n; i++) {
		memcpy(row, (char *)data->d_buf + 12 + 8 * i, sizeof(row));
		dw->starts[dw->n_starts++] = phdr.p_vaddr + (uint64_t)(int64_t)row[0];
	}
	qsort(dw->starts, n, sizeof(*dw->starts), by_value);
}

struct dw *dw_open(int fd)
{
	struct dw *dw = calloc(1, sizeof(*dw));

	CHECK(dw && elf_version(EV_CURRENT) != EV_NONE);
	dw->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	CHECK(dw->elf);
	dw->cfi = dwarf_getcfi_elf(dw->elf);
	if (!dw->cfi)
		FAIL("libdw: %s", dwarf_errmsg(-1));
	read_starts(dw);
	return dw;
}

void dw_close(struct dw *dw)
{
	(void)dwarf_cfi_end(dw->cfi);
	(void)elf_end(dw->elf);
	free(dw->starts);
	free(dw);
}

const uint64_t *dw_starts(const struct dw *dw, size_t *ret_n)
{
	*ret_n = dw->n_starts;
	return dw->starts;
}

/* True if the @n atoms from @ops on are these. */
static bool atoms_are(const Dwarf_Op *ops, size_t n, const uint8_t *atoms, size_t n_atoms)
{
	size_t i;

	for (i = 0; i < n_atoms && i < n; i++)
		if (ops[i].atom != atoms[i])
			return false;
	return n == n_atoms;
}
#define ATOMS(ops, n, ...) \
	atoms_are(ops, n, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static struct hl_unwind_rule cfa_rule(const Dwarf_Op *ops, size_t n)
{
	struct hl_unwind_rule rule = { .cfa_kind = HL_CFA_UNSUPPORTED };
	bool is_plain = ATOMS(ops, n, DW_OP_bregx);

	if (is_plain && (ops->number == RSP || ops->number == RBP)) {
		rule.cfa_kind = ops->number == RSP ? HL_CFA_RSP : HL_CFA_RBP;
		rule.cfa_off = (__s32)ops->number2;
	} else if (is_plain) {
		rule.cfa_kind = HL_CFA_REG;
		rule.cfa_off = (__s32)(ops->number2 << 8 | ops->number);
	} else if (n == 9 && ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit15 &&
		   ATOMS(ops, n, DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, ops[4].atom, DW_OP_ge,
			 DW_OP_lit3, DW_OP_shl, DW_OP_plus)) {
		rule.cfa_kind = HL_CFA_PLT;
		rule.cfa_off = ops[4].atom - DW_OP_lit0;
	} else if (n >= 2 && (ops->atom == DW_OP_breg6 || ops->atom == DW_OP_breg7) &&
		   (ATOMS(ops + 1, n - 1, DW_OP_deref) ||
		    ATOMS(ops + 1, n - 1, DW_OP_deref, DW_OP_plus_uconst))) {
		rule.cfa_kind = ops->atom == DW_OP_breg6 ? HL_CFA_DEREF_RBP : HL_CFA_DEREF_RSP;
		rule.cfa_off = (__s32)((n == 3 ? ops[2].number << 16 : 0) | (ops->number & 0xffff));
	}
	return rule;
}

static void set_frame_pointer(Dwarf_Frame *frame, struct hl_unwind_rule *rule)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	CHECK(dwarf_frame_register(frame, RBP, mem, &ops, &n) == 0);
	if (n == 0 && !ops) {
		rule->fp_kind = HL_FP_SAME;
	} else if (n && ops->atom == DW_OP_call_frame_cfa &&
		   (n == 1 || ATOMS(ops, n, DW_OP_call_frame_cfa, DW_OP_plus_uconst))) {
		rule->fp_kind = HL_FP_CFA;
		rule->fp_off = n == 1 ? 0 : (__s16)ops[1].number;
	} else if (ATOMS(ops, n, DW_OP_call_frame_cfa, DW_OP_breg6)) {
		rule->fp_kind = HL_FP_DEREF_RBP;
		rule->fp_off = (__s16)ops[1].number;
	} else {
		rule->fp_kind = HL_FP_UNDEFINED;
	}
}

static void set_rbx(Dwarf_Frame *frame, struct hl_unwind_rule *rule)
{
	Dwarf_Op mem[3], *ops;
	int64_t slot;
	size_t n;

	CHECK(dwarf_frame_register(frame, RBX, mem, &ops, &n) == 0);
	/* In libdw's list of what functions preserve unless they say otherwise, rax stands in rbx's place. */
	if (n == 0) {
		rule->rbx_slot = HL_RBX_SAME;
	} else if (ATOMS(ops, n, DW_OP_call_frame_cfa, DW_OP_plus_uconst)) {
		slot = (int64_t)(0 - ops[1].number) / 8 - 1;
		CHECK(slot > 0 && slot <= HL_RBX_MAX_SLOT);
		rule->rbx_slot = (unsigned int)slot & HL_RBX_SAME;
	}
}

/* Lets the return address, where it is not at CFA - 8, have its say in @rule. */
static void set_return(Dwarf_Frame *frame, struct hl_unwind_rule *rule)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	CHECK(dwarf_frame_register(frame, RETURN, mem, &ops, &n) == 0);
	if (n == 0 && ops) {
		*rule = (struct hl_unwind_rule){ .cfa_kind = HL_CFA_STOP };
	} else if (ATOMS(ops, n, DW_OP_regx) && rule->cfa_kind == HL_CFA_RSP) {
		rule->cfa_kind = HL_CFA_RA_IN_REG;
		rule->cfa_off = (__s32)((uint32_t)rule->cfa_off << 8 | ops->number);
	} else if (!ATOMS(ops, n, DW_OP_call_frame_cfa, DW_OP_plus_uconst) || (int64_t)ops[1].number != -8) {
		*rule = (struct hl_unwind_rule){ .cfa_kind = HL_CFA_UNSUPPORTED };
	}
}

bool dw_row_at(const struct dw *dw, uint64_t address, bool with_rbx, uint64_t *ret_end,
	       struct hl_unwind_rule *ret)
{
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool is_signal;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_cfi_addrframe(dw->cfi, address, &frame) != 0)
		return false;
	CHECK(dwarf_frame_info(frame, &start, &end, &is_signal) >= 0);
	*ret_end = end;
	if (is_signal) {
		*ret = (struct hl_unwind_rule){ .cfa_kind = HL_CFA_SIGNAL };
	} else {
		CHECK(dwarf_frame_cfa(frame, &ops, &n) == 0);
		*ret = cfa_rule(ops, n);
		if (ret->cfa_kind != HL_CFA_UNSUPPORTED)
			set_frame_pointer(frame, ret);
		if (ret->cfa_kind != HL_CFA_UNSUPPORTED && with_rbx)
			set_rbx(frame, ret);
		set_return(frame, ret);
	}
	free(frame);
	return true;
}
