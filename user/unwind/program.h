/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_UNWIND_PROGRAM_H
#define HL_UNWIND_PROGRAM_H

/* Call frame instructions (DWARF 5, 6.4.2) to rows of the few columns that matter; private to this folder. */

#include <stdint.h>

struct hl_cfi;
struct hl_cfi_cie;
struct hl_cfi_fde;

enum hl_how {
	HL_HOW_UNSET = 0,  /* nothing was said */
	HL_HOW_SAME,       /* unchanged */
	HL_HOW_UNDEFINED,  /* lost */
	HL_HOW_OFFSET,     /* column: at CFA + offset; CFA: register + offset */
	HL_HOW_VALUE,      /* is CFA + offset */
	HL_HOW_REGISTER,   /* is in the register */
	HL_HOW_EXPRESSION, /* column: at the address that the expression computes; CFA: is its value */
	HL_HOW_VALUE_EXPRESSION,
};

#define HL_NO_REGISTER 255 /* one that general code does not use */

struct hl_how_to {
	uint8_t how; /* enum hl_how */
	uint8_t reg; /* DWARF number, up to HL_NO_REGISTER */
	uint32_t len;
	union {
		int64_t offset;
		const uint8_t *expression; /* @len bytes, borrowed from the hl_cfi */
	};
};

/* One row of the table that the instructions describe. */
struct hl_frame_state {
	struct hl_how_to cfa, frame_pointer, base, return_address;
};

/* Which columns are wanted beside that of the return address: DWARF numbers of registers. */
struct hl_columns {
	uint64_t frame_pointer, base;
};

/*
 * Runs the instructions of @cie, giving the state in which its FDEs begin. -EOPNOTSUPP: they cannot be
 * followed.
 */
int hl_program_begin(const struct hl_cfi *cfi, const struct hl_cfi_cie *cie, const struct hl_columns *columns,
		     struct hl_frame_state *ret);

/*
 * Called with each row: @state holds from @at bytes behind the start of the FDE on. Rows ascend strictly,
 * the first is at 0. Another result than 0 ends the run.
 */
typedef int (*hl_program_row_fn)(void *ctx, uint64_t at, const struct hl_frame_state *state);

/*
 * Runs the instructions of @fde from state @begin on. -EOPNOTSUPP: an instruction that cannot be followed,
 * perhaps after some rows; else what @row returned.
 */
int hl_program_run(const struct hl_cfi *cfi, const struct hl_cfi_fde *fde, const struct hl_columns *columns,
		   const struct hl_frame_state *begin, hl_program_row_fn row, void *ctx);

#endif
