/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_INSN_INSN_H
#define HL_INSN_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an instruction does, for the colour of its leaf. Values reach disk: never renumbered. */
enum hl_insn_class {
	HL_INSN_OTHER = 0,
	HL_INSN_LOAD = 1,   /* reads memory */
	HL_INSN_STORE = 2,  /* writes memory (a read-modify-write too) */
	HL_INSN_BRANCH = 3, /* jump, call, return */
	HL_INSN_DIVIDE = 4, /* divide or square root, integer or floating point */
	HL_INSN_VECTOR = 5, /* SIMD arithmetic without a memory operand */
	HL_INSN_LOCKED = 6, /* lock prefix, or xchg with memory */
};

enum hl_insn_mode { HL_INSN_MODE_64 = 0, HL_INSN_MODE_32 = 1 };
enum hl_insn_syntax { HL_INSN_ATT = 0, HL_INSN_INTEL = 1 };

struct hl_insn {
	char text[192];     /* as `objdump -d` prints it, without <symbol> and # comment */
	uint64_t target;    /* of a direct branch, if has_target */
	uint64_t reference; /* address of a RIP-relative operand, if has_reference */
	uint8_t length;     /* bytes; 1 if undecoded */
	uint8_t class_;     /* enum hl_insn_class */
	bool has_target;
	bool has_reference;
	bool undecoded; /* no decoder knows it: text is ".byte 0x62,0xf3 (undecoded)", at most 8 bytes */
	bool by_zydis;  /* capstone rejects it or is known to misread it */
};

struct hl_decoder;

/*
 * A decoder for one mode and syntax, owned by the caller. One a thread; the process's first decode must have
 * ended before a second thread decodes, since capstone sorts a static table then. NULL without memory or
 * when a decoder library refuses to start.
 */
struct hl_decoder *hl_decoder_new(enum hl_insn_mode mode, enum hl_insn_syntax syntax);
void hl_decoder_free(struct hl_decoder *decoder);

/*
 * Decodes the one instruction at @code, of which @len bytes (at most 16 are looked at) are known, as if it
 * stood at @address. Always fills @ret, with printable ASCII; never fails: see hl_insn.undecoded. Bytes that
 * end inside the instruction are undecoded; no bytes at all are "(no bytes)".
 */
void hl_decoder_decode(struct hl_decoder *decoder, const uint8_t *code, size_t len, uint64_t address,
		       struct hl_insn *ret);

/* The names and versions of the decoders in use, for the header of an output; static. */
const char *hl_decoder_versions(void);

#endif
