// SPDX-License-Identifier: BSD-2-Clause
#include "insn/x86.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "insn/text.h"

struct hl_zydis {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	enum hl_insn_syntax syntax;
};

static bool formatter_init(ZydisFormatter *formatter, enum hl_insn_syntax syntax)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} rows[] = {
		{ ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE },
		{ ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE },
		{ ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED },
		{ ZYDIS_FORMATTER_PROP_FORCE_SCALE_ONE, ZYAN_TRUE },
		{ ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE },
		{ ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_UNSIGNED },
	};
	ZydisFormatterStyle style =
		syntax == HL_INSN_INTEL ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT;

	if (!ZYAN_SUCCESS(ZydisFormatterInit(formatter, style)))
		return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter, rows[i].property, rows[i].value)))
			return false;
	return true;
}

struct hl_zydis *hl_zydis_new(enum hl_insn_mode mode, enum hl_insn_syntax syntax)
{
	struct hl_zydis *zydis = calloc(1, sizeof(*zydis));
	bool is_64 = mode == HL_INSN_MODE_64;

	if (!zydis)
		return NULL;
	zydis->syntax = syntax;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(
		    &zydis->decoder, is_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LONG_COMPAT_32,
		    is_64 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)) ||
	    !formatter_init(&zydis->formatter, syntax)) {
		free(zydis);
		return NULL;
	}
	return zydis;
}

void hl_zydis_free(struct hl_zydis *zydis)
{
	free(zydis);
}

void hl_zydis_version(unsigned int ret[3])
{
	uint64_t version = ZydisGetVersion();

	ret[0] = (unsigned int)ZYDIS_VERSION_MAJOR(version);
	ret[1] = (unsigned int)ZYDIS_VERSION_MINOR(version);
	ret[2] = (unsigned int)ZYDIS_VERSION_PATCH(version);
}

static bool is_branch(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return true;
	case ZYDIS_CATEGORY_INTERRUPT:
		return insn->mnemonic != ZYDIS_MNEMONIC_BOUND;
	default:
		return false;
	}
}

/* Divisions and square roots: the instructions whose latency depends on the data. */
static bool is_divide(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_DIVPD:
	case ZYDIS_MNEMONIC_DIVPS:
	case ZYDIS_MNEMONIC_DIVSD:
	case ZYDIS_MNEMONIC_DIVSS:
	case ZYDIS_MNEMONIC_SQRTPD:
	case ZYDIS_MNEMONIC_SQRTPS:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_VDIVPD:
	case ZYDIS_MNEMONIC_VDIVPH:
	case ZYDIS_MNEMONIC_VDIVPS:
	case ZYDIS_MNEMONIC_VDIVSD:
	case ZYDIS_MNEMONIC_VDIVSH:
	case ZYDIS_MNEMONIC_VDIVSS:
	case ZYDIS_MNEMONIC_VSQRTPD:
	case ZYDIS_MNEMONIC_VSQRTPH:
	case ZYDIS_MNEMONIC_VSQRTPS:
	case ZYDIS_MNEMONIC_VSQRTSD:
	case ZYDIS_MNEMONIC_VSQRTSH:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_FDIV:
	case ZYDIS_MNEMONIC_FDIVP:
	case ZYDIS_MNEMONIC_FDIVR:
	case ZYDIS_MNEMONIC_FDIVRP:
	case ZYDIS_MNEMONIC_FIDIV:
	case ZYDIS_MNEMONIC_FIDIVR:
	case ZYDIS_MNEMONIC_FSQRT:
		return true;
	default:
		return false;
	}
}

static bool is_vector(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_TMM:
	case ZYDIS_REGCLASS_MASK:
		return true;
	default:
		return false;
	}
}

/* Nops and traps have memory operands in their encoding only. */
static bool has_no_effect(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_NOP || insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       insn->mnemonic == ZYDIS_MNEMONIC_UD0 || insn->mnemonic == ZYDIS_MNEMONIC_UD1;
}

static void note_memory(const struct hl_zydis *zydis, const ZydisDecodedOperand *operand, struct hl_x86 *x)
{
	if (operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN && !has_no_effect(&zydis->insn)) {
		x->reads_memory |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		x->writes_memory |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
	if (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP)
		x->has_reference |= ZYAN_SUCCESS(
			ZydisCalcAbsoluteAddress(&zydis->insn, operand, x->address, &x->reference));
}

static void note_operand(const struct hl_zydis *zydis, const ZydisDecodedOperand *operand, struct hl_x86 *x)
{
	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_MEMORY:
		note_memory(zydis, operand, x);
		break;
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			x->has_vector |= is_vector(operand->reg.value);
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		if (operand->imm.is_relative)
			x->has_target |= ZYAN_SUCCESS(
				ZydisCalcAbsoluteAddress(&zydis->insn, operand, x->address, &x->target));
		if (x->mode == HL_INSN_MODE_32)
			x->target &= UINT32_MAX;
		break;
	default:
		break;
	}
}

/* An operand in memory, other than the stack that push and call write to, has its address in this size. */
static bool uses_address_size(const struct hl_zydis *zydis)
{
	for (unsigned int i = 0; i < zydis->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &zydis->operands[i];
		bool is_stack =
			operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
			(operand->mem.base == ZYDIS_REGISTER_RSP || operand->mem.base == ZYDIS_REGISTER_ESP);

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && !is_stack)
			return true;
	}
	/* loop and jcxz count in a register of the address size. */
	return zydis->insn.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (zydis->insn.opcode & 0xfc) == 0xe0;
}

/* Near branches, push and pop are 64 bits wide without REX.W. */
static bool is_wide_by_default(const struct hl_zydis *zydis)
{
	const ZydisDecodedInstruction *insn = &zydis->insn;

	return (insn->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE &&
		insn->meta.branch_type != ZYDIS_BRANCH_TYPE_FAR) ||
	       insn->mnemonic == ZYDIS_MNEMONIC_PUSH || insn->mnemonic == ZYDIS_MNEMONIC_POP;
}

/* Zydis calls 66, 67 and REX effective wherever they are the last of their kind: those are looked at here. */
static bool is_superfluous(const struct hl_zydis *zydis, unsigned int i)
{
	const ZydisDecodedInstruction *insn = &zydis->insn;
	bool is_last_64_bit = insn->machine_mode == ZYDIS_MACHINE_MODE_LONG_64 &&
			      insn->raw.prefixes[i].value >= 0x48 && insn->raw.prefixes[i].value <= 0x4f;

	if (insn->raw.prefixes[i].type != ZYDIS_PREFIX_TYPE_EFFECTIVE)
		return insn->raw.prefixes[i].type == ZYDIS_PREFIX_TYPE_IGNORED;
	if (insn->raw.prefixes[i].value == 0x66)
		return insn->operand_width != 16;
	if (insn->raw.prefixes[i].value == 0x67)
		return !uses_address_size(zydis);
	return is_last_64_bit && is_wide_by_default(zydis);
}

/* Tries to encode the instruction with a VEX prefix, which has no place for the mask register, here k0. */
static bool has_vex_twin(const struct hl_zydis *zydis)
{
	const ZydisDecodedInstruction *insn = &zydis->insn;
	ZydisEncoderRequest request;
	ZyanU8 code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize size = sizeof(code);

	if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX || insn->avx.vector_length == 512 ||
	    insn->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED || insn->avx.broadcast.mode ||
	    insn->avx.rounding.mode || insn->avx.has_sae)
		return false;
	if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    insn, zydis->operands, insn->operand_count_visible, &request)))
		return false;
	for (unsigned int i = 0; i < request.operand_count; i++)
		if (zydis->operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK) {
			memmove(&request.operands[i], &request.operands[i + 1],
				(request.operand_count - i - 1) * sizeof(request.operands[0]));
			request.operand_count--;
			break;
		}
	request.allowed_encodings = ZYDIS_ENCODABLE_ENCODING_VEX;
	return ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, code, &size));
}

bool hl_zydis_decode(struct hl_zydis *zydis, struct hl_x86 *x)
{
	const ZydisDecodedInstruction *insn = &zydis->insn;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderDecodeFull(&zydis->decoder, x->code, x->len, &zydis->insn, zydis->operands)))
		return false;
	x->known = true;
	x->length = insn->length;
	x->has_displacement = insn->raw.disp.size > 0;
	x->has_vex_twin = has_vex_twin(zydis);
	x->operand_bits = insn->operand_width;
	x->immediate_bits = insn->raw.imm[0].size;
	x->has_sib = (insn->attributes & ZYDIS_ATTRIB_HAS_SIB) != 0;
	x->sib = (uint8_t)(insn->raw.sib.scale << 6 | insn->raw.sib.index << 3 | insn->raw.sib.base);
	for (unsigned int i = 0; i < insn->raw.prefix_count; i++) {
		x->superfluous |= (uint16_t)(is_superfluous(zydis, i) << i);
		x->mandatory |= (uint16_t)((insn->raw.prefixes[i].type == ZYDIS_PREFIX_TYPE_MANDATORY) << i);
	}
	x->is_branch = is_branch(insn);
	x->is_divide = is_divide(insn);
	x->is_exchange = insn->mnemonic == ZYDIS_MNEMONIC_XCHG;
	for (unsigned int i = 0; i < insn->operand_count; i++)
		note_operand(zydis, &zydis->operands[i], x);
	return true;
}

bool hl_zydis_print(struct hl_zydis *zydis, const struct hl_x86 *x, struct hl_text *ret)
{
	const ZydisDecodedInstruction *insn = &zydis->insn;
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	char buf[192], *mnemonic, *operands;

	if (!name || !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&zydis->formatter, insn, zydis->operands,
								   insn->operand_count_visible, buf,
								   sizeof(buf), x->address, NULL)))
		return false;
	mnemonic = strstr(buf, name);
	if (!mnemonic)
		return false;
	operands = strchr(mnemonic, ' ');
	if (operands)
		*operands++ = '\0';
	hl_text_split(ret, buf, operands ? operands : "");
	/* In AT&T syntax the formatter appends a size letter for memory, where objdump has none. */
	if (zydis->syntax == HL_INSN_ATT)
		hl_text_set_mnemonic(ret, name);
	return true;
}
