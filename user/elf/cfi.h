/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_ELF_CFI_H
#define HL_ELF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_cursor;
struct hl_elf;
struct hl_err;

/*
 * The entries of call frame information: CIEs and FDEs (DWARF 5, 6.4.1; for .eh_frame and its header, LSB
 * core 5.0, 10.6). What their instructions mean is user/unwind's matter. Every entry is read once, in order,
 * so that the work is bounded by the size of the section, whatever it says.
 */
struct hl_cfi;

enum hl_cfi_kind {
	HL_CFI_EH_FRAME,
	HL_CFI_DEBUG_FRAME,
};

/* What the FDEs of a CIE have in common. */
struct hl_cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register; /* the column of the return address */
	size_t program, program_len;
	uint8_t encoding; /* of addresses in its FDEs, DW_EH_PE_ */
	bool has_length;  /* FDEs have a length of augmentation data ('z') */
	bool is_signal;   /* the frame of a signal handler's caller ('S') */
};

/* A function, or a part of one. Neither start nor size are 0. */
struct hl_cfi_fde {
	uint64_t start, size; /* ELF address, bytes */
	size_t program, program_len;
	uint32_t cie; /* for hl_cfi_cie() */
};

/*
 * Loads what the file has of @kind. .eh_frame is found by PT_GNU_EH_FRAME, since that is what unwinders in
 * the program use; by its section only without, or where nothing is that it says. .debug_frame may be
 * compressed. -ENODATA: the file has none; else as hl_elf_load() and hl_elf_inflate().
 */
int hl_cfi_load(const struct hl_elf *elf, enum hl_cfi_kind kind, struct hl_cfi **ret, struct hl_err *err);
void hl_cfi_free(struct hl_cfi *cfi);

/*
 * The next FDE: 1, or 0 behind the last, or -ENOMEM. FDEs that cannot be read, or have no start or no size,
 * are passed over. A damaged length ends the list: what follows it is lost.
 */
int hl_cfi_next(struct hl_cfi *cfi, struct hl_cfi_fde *ret);

/* CIEs are numbered from 0 in the order in which hl_cfi_next() came by them. Valid until it is called. */
const struct hl_cfi_cie *hl_cfi_cie(const struct hl_cfi *cfi, uint32_t number);
uint32_t hl_cfi_n_cies(const struct hl_cfi *cfi);

/* A cursor over the instructions of a CIE or FDE. */
struct hl_cursor hl_cfi_program(const struct hl_cfi *cfi, size_t program, size_t len);
/* Reads an address in the encoding of @cie, as DW_CFA_set_loc has it; @c is from hl_cfi_program(). */
bool hl_cfi_read_address(const struct hl_cfi *cfi, const struct hl_cfi_cie *cie, struct hl_cursor *c,
			 uint64_t *ret);

#endif
