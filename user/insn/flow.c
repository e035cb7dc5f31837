// SPDX-License-Identifier: BSD-2-Clause
#include "insn/flow.h"

#include <Zydis/Zydis.h>

/*
 * Zydis names every register that an instruction writes, those that are not spelled out included. So what no
 * rule here knows still shows: a write of the stack pointer is unknown unless a rule says what it does.
 */
struct analysis {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisMachineMode mode;
	uint8_t word; /* bytes */
};

/* The number of the general register that @reg is or is a part of. */
static uint8_t number_of(const struct analysis *a, ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(a->mode, reg);
	ZydisRegisterClass class_ = ZydisRegisterGetClass(whole);

	if (class_ != ZYDIS_REGCLASS_GPR64 && class_ != ZYDIS_REGCLASS_GPR32)
		return HL_REG_NONE;
	return (uint8_t)ZydisRegisterGetId(whole);
}

/* The number of the register that operand @i is as a whole. */
static uint8_t whole_register(const struct analysis *a, unsigned int i)
{
	const ZydisDecodedOperand *operand = &a->operands[i];

	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || operand->size != 8u * a->word)
		return HL_REG_NONE;
	return number_of(a, operand->reg.value);
}

/* True if operand @i is at register + offset, without an index or a segment of its own. */
static bool is_based(const struct analysis *a, unsigned int i, uint8_t *ret_base, int32_t *ret_offset)
{
	const ZydisDecodedOperand *operand = &a->operands[i];
	ZyanI64 offset = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.index != ZYDIS_REGISTER_NONE ||
	    a->insn.address_width != 8u * a->word || operand->mem.segment == ZYDIS_REGISTER_FS ||
	    operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*ret_base = number_of(a, operand->mem.base);
	*ret_offset = (int32_t)offset;
	return *ret_base != HL_REG_NONE;
}

static bool immediate(const struct analysis *a, unsigned int i, int32_t *ret)
{
	const ZydisDecodedOperand *operand = &a->operands[i];

	if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operand->imm.value.s < INT32_MIN ||
	    operand->imm.value.s > INT32_MAX)
		return false;
	*ret = (int32_t)operand->imm.value.s;
	return true;
}

static void note_push(const struct analysis *a, struct hl_flow *f, bool is_pop)
{
	int32_t size = a->insn.operand_width / 8;

	f->stack = HL_STACK_ADD;
	f->grows = is_pop ? size : -size;
	f->reg = whole_register(a, 0);
	if (f->reg == HL_REG_SP && is_pop)
		f->stack = HL_STACK_UNKNOWN;
	else if (f->reg != HL_REG_NONE)
		f->move = is_pop ? HL_MOVE_POP : HL_MOVE_PUSH;
}

/* rax or its lowest part is set to @value: what a system call is known by. Other values are of no interest. */
static void note_constant(const struct analysis *a, struct hl_flow *f, uint64_t value)
{
	const ZydisDecodedOperand *to = &a->operands[0];

	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || to->reg.value == ZYDIS_REGISTER_AH ||
	    number_of(a, to->reg.value) != HL_REG_AX || value > UINT32_MAX)
		return;
	f->ax_bytes = to->size < 32 ? (uint8_t)(to->size / 8) : 8;
	f->ax = (uint32_t)value;
}

static void note_move(const struct analysis *a, struct hl_flow *f)
{
	uint8_t to = whole_register(a, 0), from = whole_register(a, 1);

	if (to != HL_REG_NONE && from != HL_REG_NONE) {
		f->move = HL_MOVE_COPY;
		f->reg = to;
		f->base = from;
	} else if (to != HL_REG_NONE && is_based(a, 1, &f->base, &f->offset)) {
		f->move = HL_MOVE_LOAD;
		f->reg = to;
	} else if (from != HL_REG_NONE && is_based(a, 0, &f->base, &f->offset)) {
		f->move = HL_MOVE_STORE;
		f->reg = from;
	}
	if (a->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		note_constant(a, f, a->operands[1].imm.value.u);
	if (a->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && a->insn.operand_width >= 32 &&
	    !f->has_reference) {
		f->has_reference = f->is_immediate = true;
		f->reference = a->operands[1].imm.value.u;
	}
}

static void note_add(const struct analysis *a, struct hl_flow *f, bool is_sub)
{
	int32_t value;

	f->reg = whole_register(a, 0);
	if (f->reg == HL_REG_NONE || !immediate(a, 1, &value) || value == INT32_MIN)
		return;
	f->move = HL_MOVE_COPY;
	f->base = f->reg;
	f->offset = is_sub ? -value : value;
}

static void note_lea(const struct analysis *a, struct hl_flow *f)
{
	f->reg = whole_register(a, 0);
	f->is_lea = true;
	if (f->reg != HL_REG_NONE && is_based(a, 1, &f->base, &f->offset))
		f->move = HL_MOVE_COPY;
}

/* xor and sub of a register with itself; of 32 bits too, which clears the other half. */
static void note_clear(const struct analysis *a, struct hl_flow *f)
{
	const ZydisDecodedOperand *to = &a->operands[0], *from = &a->operands[1];

	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || from->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    to->reg.value != from->reg.value || to->size < 32)
		return;
	f->reg = number_of(a, to->reg.value);
	f->move = f->reg != HL_REG_NONE ? HL_MOVE_CLEAR : HL_MOVE_NONE;
	note_constant(a, f, 0);
}

static void note_effect(const struct analysis *a, struct hl_flow *f)
{
	switch (a->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
		note_push(a, f, false);
		break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
		note_push(a, f, true);
		break;
	case ZYDIS_MNEMONIC_MOV:
		note_move(a, f);
		break;
	case ZYDIS_MNEMONIC_LEA:
		note_lea(a, f);
		break;
	case ZYDIS_MNEMONIC_ADD:
		note_add(a, f, false);
		break;
	case ZYDIS_MNEMONIC_SUB:
		note_add(a, f, true);
		if (f->move == HL_MOVE_NONE)
			note_clear(a, f);
		break;
	case ZYDIS_MNEMONIC_XOR:
		note_clear(a, f);
		break;
	default:
		break;
	}
}

static enum hl_flow_next next_of(const ZydisDecodedInstruction *insn)
{
	/* The other two that belong to transactions are branches to Zydis. */
	if (insn->mnemonic == ZYDIS_MNEMONIC_XABORT || insn->mnemonic == ZYDIS_MNEMONIC_XEND)
		return HL_NEXT_STRAIGHT;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return HL_NEXT_CALL;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
		return HL_NEXT_RETURN;
	case ZYDIS_CATEGORY_COND_BR:
		return HL_NEXT_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return HL_NEXT_JUMP;
	case ZYDIS_CATEGORY_SYSCALL:
		return HL_NEXT_SYSCALL;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
		return HL_NEXT_NEVER;
	case ZYDIS_MNEMONIC_INT:
		return HL_NEXT_SYSCALL;
	case ZYDIS_MNEMONIC_XBEGIN:
		return HL_NEXT_BRANCH;
	default:
		return HL_NEXT_STRAIGHT;
	}
}

/* Registers written, and addresses named, by whatever operand. */
static void note_operands(const struct analysis *a, uint64_t address, struct hl_flow *f)
{
	unsigned int i;
	uint8_t reg;

	for (i = 0; i < a->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &a->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
			reg = number_of(a, operand->reg.value);
			f->writes |= reg < 16 ? (uint16_t)(1u << reg) : 0;
		} else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative) {
			f->has_target |= ZYAN_SUCCESS(
				ZydisCalcAbsoluteAddress(&a->insn, operand, address, &f->target));
		} else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			   operand->mem.base == ZYDIS_REGISTER_RIP) {
			f->has_reference |= ZYAN_SUCCESS(
				ZydisCalcAbsoluteAddress(&a->insn, operand, address, &f->reference));
		}
	}
	if (a->mode != ZYDIS_MACHINE_MODE_LONG_64)
		f->target &= UINT32_MAX;
}

/* What is known of the stack pointer, from what is known of the rest. */
static void note_stack(const struct analysis *a, struct hl_flow *f)
{
	bool is_far = a->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	if (f->next == HL_NEXT_RETURN) {
		/* A return that takes arguments along is left unknown: no caller in this ABI expects it. */
		f->stack = a->insn.mnemonic == ZYDIS_MNEMONIC_RET && !is_far &&
					   a->insn.operand_count_visible == 0
				   ? HL_STACK_ADD
				   : HL_STACK_UNKNOWN;
		f->grows = a->word;
	} else if (f->next == HL_NEXT_CALL || f->next == HL_NEXT_JUMP) {
		f->stack = is_far ? HL_STACK_UNKNOWN : HL_STACK_SAME;
	} else if (a->insn.mnemonic == ZYDIS_MNEMONIC_LEAVE && a->insn.operand_width == 8u * a->word) {
		f->stack = HL_STACK_LEAVE;
	} else if (!(f->writes & 1u << HL_REG_SP) || f->stack != HL_STACK_SAME) {
		return;
	} else if (f->move == HL_MOVE_COPY && f->reg == HL_REG_SP) {
		f->stack = f->base == HL_REG_SP ? HL_STACK_ADD : HL_STACK_COPY;
		f->grows = f->offset;
	} else {
		f->stack = HL_STACK_UNKNOWN;
	}
}

void hl_insn_flow(enum hl_insn_mode mode, const uint8_t *code, size_t len, uint64_t address,
		  struct hl_flow *ret)
{
	struct analysis a;
	ZydisDecoder decoder;

	*ret = (struct hl_flow){ .reg = HL_REG_NONE, .base = HL_REG_NONE };
	a.mode = mode == HL_INSN_MODE_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LONG_COMPAT_32;
	a.word = mode == HL_INSN_MODE_64 ? 8 : 4;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, a.mode,
					   a.word == 8 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, &a.insn, a.operands)))
		return;
	ret->length = a.insn.length;
	ret->next = (uint8_t)next_of(&a.insn);
	ret->is_nop =
		a.insn.meta.category == ZYDIS_CATEGORY_NOP || a.insn.meta.category == ZYDIS_CATEGORY_WIDENOP;
	note_operands(&a, address, ret);
	note_effect(&a, ret);
	note_stack(&a, ret);
}
