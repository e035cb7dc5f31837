// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/program.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "elf/cfi.h"

/* The upper two bits of an opcode, or all of it where they are zero (DWARF 5, table 7.29; LSB core, 10.5). */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { MAX_NESTED = 16 }; /* of remember_state; compilers use two */

struct machine {
	struct hl_cursor c;
	const struct hl_cfi *cfi;
	const struct hl_cfi_cie *cie;
	const struct hl_columns *columns;
	const struct hl_frame_state *begin; /* what restore goes back to; NULL in a CIE */
	struct hl_frame_state state;
	uint64_t at, start; /* of the row that is being described, of the FDE */
	hl_program_row_fn row;
	void *ctx;
	int depth;
	struct hl_frame_state saved[MAX_NESTED];
};

static int move_to(struct machine *m, uint64_t at)
{
	int r;

	if (!m->begin || at < m->at)
		return -EOPNOTSUPP;
	if (at == m->at)
		return 0;
	r = m->row(m->ctx, m->at, &m->state);
	m->at = at;
	return r;
}

static int advance(struct machine *m, uint64_t delta)
{
	uint64_t at;

	if (m->c.failed || __builtin_mul_overflow(delta, m->cie->code_align, &delta) ||
	    __builtin_add_overflow(m->at, delta, &at))
		return -EOPNOTSUPP;
	return move_to(m, at);
}

static int set_location(struct machine *m)
{
	uint64_t address;

	if (!hl_cfi_read_address(m->cfi, m->cie, &m->c, &address) || address < m->start)
		return -EOPNOTSUPP;
	return move_to(m, address - m->start);
}

/* The place in @state of a register's column; NULL for those that nobody asks for. */
static struct hl_how_to *column(struct machine *m, struct hl_frame_state *state, uint64_t reg)
{
	if (reg == m->columns->frame_pointer)
		return &state->frame_pointer;
	if (reg == m->columns->base)
		return &state->base;
	return reg == m->cie->return_register ? &state->return_address : NULL;
}

static int set_column(struct machine *m, uint64_t reg, struct hl_how_to value)
{
	struct hl_how_to *at = column(m, &m->state, reg);

	if (at)
		*at = value;
	return 0;
}

static int set_offset(struct machine *m, enum hl_how how, uint64_t reg, int64_t factored)
{
	struct hl_how_to value = { .how = how };

	if (__builtin_mul_overflow(factored, m->cie->data_align, &value.offset))
		return -EOPNOTSUPP;
	return set_column(m, reg, value);
}

static int restore(struct machine *m, uint64_t reg)
{
	struct hl_frame_state begin;

	if (!m->begin)
		return -EOPNOTSUPP;
	begin = *m->begin;
	return column(m, &begin, reg) ? set_column(m, reg, *column(m, &begin, reg)) : 0;
}

static int set_register(struct machine *m)
{
	uint64_t reg = hl_cursor_uleb(&m->c), from = hl_cursor_uleb(&m->c);
	uint8_t known = from < HL_NO_REGISTER ? (uint8_t)from : HL_NO_REGISTER;

	return set_column(m, reg, (struct hl_how_to){ .how = HL_HOW_REGISTER, .reg = known });
}

static int read_expression(struct machine *m, enum hl_how how, struct hl_how_to *ret)
{
	uint64_t len = hl_cursor_uleb(&m->c);

	if (len > hl_cursor_left(&m->c))
		return -EOPNOTSUPP;
	*ret = (struct hl_how_to){ .how = how, .len = (uint32_t)len };
	ret->expression = hl_cursor_bytes(&m->c, (size_t)len);
	return 0;
}

static int set_expression(struct machine *m, enum hl_how how)
{
	uint64_t reg = hl_cursor_uleb(&m->c);
	struct hl_how_to value;
	int r = read_expression(m, how, &value);

	return r < 0 ? r : set_column(m, reg, value);
}

static int define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->state.cfa = (struct hl_how_to){ .how = HL_HOW_OFFSET, .offset = offset };
	m->state.cfa.reg = reg < HL_NO_REGISTER ? (uint8_t)reg : HL_NO_REGISTER;
	return 0;
}

/* The one half of the CFA, which the other half must be there for. */
static int define_half(struct machine *m, uint64_t reg, int64_t offset)
{
	return m->state.cfa.how == HL_HOW_OFFSET ? define_cfa(m, reg, offset) : -EOPNOTSUPP;
}

static int scale(const struct machine *m, int64_t factored, int64_t *ret)
{
	return __builtin_mul_overflow(factored, m->cie->data_align, ret) ? -EOPNOTSUPP : 0;
}

static int remember(struct machine *m)
{
	if (m->depth == MAX_NESTED)
		return -EOPNOTSUPP;
	m->saved[m->depth++] = m->state;
	return 0;
}

static int restore_state(struct machine *m)
{
	if (m->depth == 0)
		return -EOPNOTSUPP;
	m->state = m->saved[--m->depth];
	return 0;
}

static int run_cfa(struct machine *m, uint8_t op)
{
	struct hl_cursor *c = &m->c;
	int64_t offset;
	uint64_t reg;
	int r;

	switch (op) {
	case CFA_DEF_CFA:
		reg = hl_cursor_uleb(c);
		return define_cfa(m, reg, (int64_t)hl_cursor_uleb(c));
	case CFA_DEF_CFA_SF:
		reg = hl_cursor_uleb(c);
		r = scale(m, hl_cursor_sleb(c), &offset);
		return r < 0 ? r : define_cfa(m, reg, offset);
	case CFA_DEF_CFA_REGISTER:
		return define_half(m, hl_cursor_uleb(c), m->state.cfa.offset);
	case CFA_DEF_CFA_OFFSET:
		return define_half(m, m->state.cfa.reg, (int64_t)hl_cursor_uleb(c));
	case CFA_DEF_CFA_OFFSET_SF:
		r = scale(m, hl_cursor_sleb(c), &offset);
		return r < 0 ? r : define_half(m, m->state.cfa.reg, offset);
	case CFA_DEF_CFA_EXPRESSION:
		return read_expression(m, HL_HOW_EXPRESSION, &m->state.cfa);
	default:
		return -EOPNOTSUPP;
	}
}

static int run_column(struct machine *m, uint8_t op)
{
	struct hl_cursor *c = &m->c;
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = hl_cursor_uleb(c);
		return set_offset(m, HL_HOW_OFFSET, reg, (int64_t)hl_cursor_uleb(c));
	case CFA_OFFSET_EXTENDED_SF:
		reg = hl_cursor_uleb(c);
		return set_offset(m, HL_HOW_OFFSET, reg, hl_cursor_sleb(c));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = hl_cursor_uleb(c);
		return set_offset(m, HL_HOW_OFFSET, reg, (int64_t)(0 - hl_cursor_uleb(c)));
	case CFA_VAL_OFFSET:
		reg = hl_cursor_uleb(c);
		return set_offset(m, HL_HOW_VALUE, reg, (int64_t)hl_cursor_uleb(c));
	case CFA_VAL_OFFSET_SF:
		reg = hl_cursor_uleb(c);
		return set_offset(m, HL_HOW_VALUE, reg, hl_cursor_sleb(c));
	case CFA_RESTORE_EXTENDED:
		return restore(m, hl_cursor_uleb(c));
	case CFA_UNDEFINED:
		return set_column(m, hl_cursor_uleb(c), (struct hl_how_to){ .how = HL_HOW_UNDEFINED });
	case CFA_SAME_VALUE:
		return set_column(m, hl_cursor_uleb(c), (struct hl_how_to){ .how = HL_HOW_SAME });
	case CFA_REGISTER:
		return set_register(m);
	case CFA_EXPRESSION:
		return set_expression(m, HL_HOW_EXPRESSION);
	case CFA_VAL_EXPRESSION:
		return set_expression(m, HL_HOW_VALUE_EXPRESSION);
	default:
		return run_cfa(m, op);
	}
}

static int run_one(struct machine *m)
{
	uint8_t op = hl_cursor_u8(&m->c), operand = op & 0x3f;

	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		return advance(m, operand);
	case CFA_OFFSET:
		return set_offset(m, HL_HOW_OFFSET, operand, (int64_t)hl_cursor_uleb(&m->c));
	case CFA_RESTORE:
		return restore(m, operand);
	default:
		break;
	}
	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return set_location(m);
	case CFA_ADVANCE_LOC1:
		return advance(m, hl_cursor_u8(&m->c));
	case CFA_ADVANCE_LOC2:
		return advance(m, hl_cursor_u16(&m->c));
	case CFA_ADVANCE_LOC4:
		return advance(m, hl_cursor_u32(&m->c));
	case CFA_REMEMBER_STATE:
		return remember(m);
	case CFA_RESTORE_STATE:
		return restore_state(m);
	case CFA_GNU_ARGS_SIZE:
		/* Bytes of arguments, which only matter to landing pads. */
		(void)hl_cursor_uleb(&m->c);
		return 0;
	default:
		return run_column(m, op);
	}
}

static int run(struct machine *m)
{
	int r = 0;

	while (r == 0 && hl_cursor_left(&m->c))
		r = run_one(m);
	return r == 0 && m->c.failed ? -EOPNOTSUPP : r;
}

int hl_program_begin(const struct hl_cfi *cfi, const struct hl_cfi_cie *cie, const struct hl_columns *columns,
		     struct hl_frame_state *ret)
{
	struct machine m;
	int r;

	/* The array of saved states is large and stays as it is. */
	m.c = hl_cfi_program(cfi, cie->program, cie->program_len);
	m.cfi = cfi;
	m.cie = cie;
	m.columns = columns;
	m.begin = NULL;
	m.state = (struct hl_frame_state){ 0 };
	m.at = m.start = 0;
	m.depth = 0;
	r = run(&m);
	if (r == 0)
		*ret = m.state;
	return r;
}

int hl_program_run(const struct hl_cfi *cfi, const struct hl_cfi_fde *fde, const struct hl_columns *columns,
		   const struct hl_frame_state *begin, hl_program_row_fn row, void *ctx)
{
	struct machine m;
	int r;

	m.c = hl_cfi_program(cfi, fde->program, fde->program_len);
	m.cfi = cfi;
	m.cie = hl_cfi_cie(cfi, fde->cie);
	m.columns = columns;
	m.begin = begin;
	m.state = *begin;
	m.at = 0;
	m.start = fde->start;
	m.row = row;
	m.ctx = ctx;
	m.depth = 0;
	r = run(&m);
	return r < 0 ? r : row(ctx, m.at, &m.state);
}
