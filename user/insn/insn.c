// SPDX-License-Identifier: BSD-2-Clause
#include "insn/insn.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "insn/text.h"
#include "insn/x86.h"
#include "insn/x86_text.h"

/*
 * Zydis decodes every instruction: it says what the instruction does, and its length is the measure for
 * capstone's. The text is capstone's where capstone can be trusted, since that is nearest to objdump's.
 */
struct hl_decoder {
	csh capstone;
	cs_insn *insn;
	struct hl_zydis *zydis;
	enum hl_insn_mode mode;
	enum hl_insn_syntax syntax;
};

enum { MAX_LENGTH = 15, MAX_SHOWN = 8 };

static bool capstone_init(struct hl_decoder *decoder)
{
	cs_mode mode = decoder->mode == HL_INSN_MODE_64 ? CS_MODE_64 : CS_MODE_32;
	cs_opt_value syntax = decoder->syntax == HL_INSN_INTEL ? CS_OPT_SYNTAX_INTEL : CS_OPT_SYNTAX_ATT;

	if (cs_open(CS_ARCH_X86, mode, &decoder->capstone) != CS_ERR_OK) {
		decoder->capstone = 0;
		return false;
	}
	if (cs_option(decoder->capstone, CS_OPT_SYNTAX, syntax) != CS_ERR_OK)
		return false;
	decoder->insn = cs_malloc(decoder->capstone);
	return decoder->insn != NULL;
}

HL_DEFINE_CLEANUP(struct hl_decoder, hl_decoder_free)

struct hl_decoder *hl_decoder_new(enum hl_insn_mode mode, enum hl_insn_syntax syntax)
{
	_cleanup_(hl_decoder_freep) struct hl_decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return NULL;
	decoder->mode = mode;
	decoder->syntax = syntax;
	if (!capstone_init(decoder))
		return NULL;
	decoder->zydis = hl_zydis_new(mode, syntax);
	return decoder->zydis ? TAKE_PTR(decoder) : NULL;
}

void hl_decoder_free(struct hl_decoder *decoder)
{
	if (!decoder)
		return;
	hl_zydis_free(decoder->zydis);
	if (decoder->insn)
		cs_free(decoder->insn, 1);
	if (decoder->capstone)
		(void)cs_close(&decoder->capstone);
	free(decoder);
}

/* The text by capstone, unless that is known or seen to be wrong. Sets @x's length if Zydis did not. */
static bool print_by_capstone(struct hl_decoder *decoder, struct hl_x86 *x, struct hl_text *ret)
{
	const uint8_t *code = x->code;
	uint64_t address = x->address;
	size_t len = x->len;

	if (hl_x86_is_misread(x) || !cs_disasm_iter(decoder->capstone, &code, &len, &address, decoder->insn))
		return false;
	if (x->known && decoder->insn->size != x->length)
		return false;
	x->length = (uint8_t)decoder->insn->size;
	hl_text_split(ret, decoder->insn->mnemonic, decoder->insn->op_str);
	if (decoder->syntax == HL_INSN_INTEL)
		hl_x86_intel(x, ret);
	else
		hl_x86_att_from_capstone(x, ret);
	return true;
}

static bool print_by_zydis(struct hl_decoder *decoder, const struct hl_x86 *x, struct hl_text *ret)
{
	if (!x->known || !hl_zydis_print(decoder->zydis, x, ret))
		return false;
	if (decoder->syntax == HL_INSN_INTEL)
		hl_x86_intel(x, ret);
	else
		hl_x86_att_from_zydis(x, ret);
	return true;
}

static void print_bytes(const uint8_t *code, size_t len, struct hl_insn *ret)
{
	size_t at;

	if (len == 0) {
		(void)snprintf(ret->text, sizeof(ret->text), "(no bytes)");
		return;
	}
	at = (size_t)snprintf(ret->text, sizeof(ret->text), ".byte ");
	for (size_t i = 0; i < len && i < MAX_SHOWN; i++)
		at += (size_t)snprintf(ret->text + at, sizeof(ret->text) - at, "%s0x%02x", i ? "," : "",
				       code[i]);
	(void)snprintf(ret->text + at, sizeof(ret->text) - at, " (undecoded)");
}

void hl_decoder_decode(struct hl_decoder *decoder, const uint8_t *code, size_t len, uint64_t address,
		       struct hl_insn *ret)
{
	struct hl_x86 x = { .code = code, .address = address, .mode = decoder->mode };
	const char *own;
	struct hl_text text;

	ret->undecoded = ret->by_zydis = false;
	x.len = len < MAX_LENGTH ? len : MAX_LENGTH;
	hl_x86_scan(&x);
	(void)hl_zydis_decode(decoder->zydis, &x);
	own = hl_x86_own_text(&x);
	if (own && x.known) {
		(void)snprintf(ret->text, sizeof(ret->text), "%s", own);
	} else if (print_by_capstone(decoder, &x, &text)) {
		hl_text_join(&text, ret->text, sizeof(ret->text));
	} else if (print_by_zydis(decoder, &x, &text)) {
		hl_text_join(&text, ret->text, sizeof(ret->text));
		ret->by_zydis = true;
	} else {
		print_bytes(code, x.len, ret);
		ret->undecoded = true;
		x.length = 1;
		x.known = x.has_target = x.has_reference = false;
	}
	ret->length = x.length;
	ret->class_ = (uint8_t)hl_x86_class(&x);
	ret->has_target = x.has_target;
	ret->target = x.has_target ? x.target : 0;
	ret->has_reference = x.has_reference;
	ret->reference = x.has_reference ? x.reference : 0;
}

const char *hl_decoder_versions(void)
{
	static _Thread_local char text[64];
	unsigned int zydis[3];
	int major, minor;

	(void)cs_version(&major, &minor);
	hl_zydis_version(zydis);
	(void)snprintf(text, sizeof(text), "capstone %d.%d, Zydis %u.%u.%u", major, minor, zydis[0], zydis[1],
		       zydis[2]);
	return text;
}
