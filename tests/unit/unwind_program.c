// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/cfiwriter tests/tabletext */

/* Every call frame instruction, and every shape of CFA, in an FDE of 64 bytes of code. */

#include "unwind/unwind.h"

#include <stdlib.h>
#include <unistd.h>

#include "cfiwriter.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, FUNCTION = TEXT + 0x100, SIZE = 64, FRAMES = 0x405000 };

/* Instructions, by their names in DWARF without the prefix. */
enum {
	advance = 0x40,
	offset = 0x80,
	restore = 0xc0,
	nop = 0,
	set_loc,
	advance_loc1,
	advance_loc2,
	advance_loc4,
	offset_extended,
	restore_extended,
	undefined,
	same_value,
	reg,
	remember,
	restore_state,
	def_cfa,
	def_cfa_register,
	def_cfa_offset,
	def_cfa_expression,
	expression,
	offset_extended_sf,
	def_cfa_sf,
	def_cfa_offset_sf,
	val_offset,
	val_offset_sf,
	val_expression,
	args_size = 0x2e,
	negative_offset_extended = 0x2f,
};
enum { rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r10 = 10, rip = 16 };
enum {
	breg = 0x70,
	deref = 6,
	and_ = 0x1a,
	plus = 0x22,
	plus_uconst = 0x23,
	shl = 0x24,
	ge = 0x2a,
	lit = 0x30
};

static struct hl_unwind_result last;

/* The rows of the function if @frames are in the file. */
static const char *text_of(const struct cfiwriter *frames)
{
	struct hl_elf *elf = NULL;
	struct elfwriter w;
	const char *text;
	int fd;

	ew_init(&w, true);
	(void)ew_code(&w, ".text", TEXT - BIAS, TEXT, 0x1000);
	cw_put_segment(frames, &w, BIAS);
	ew_finish(&w);
	fd = ew_file(w.bytes, w.len);
	ew_done(&w);
	CHECK_INT(hl_elf_open(fd, "test", &elf, NULL), 0);
	close(fd);
	free(last.bytes);
	last = table_of(elf);
	hl_elf_free(elf);
	text = table_text(&last, FUNCTION - BIAS, SIZE);
	/* Outside of it nothing is known. */
	CHECK_INT(strncmp(text, "0 none", 6) == 0 ? 1 : last.n_fdes, 1);
	return text;
}

static const char *run(const uint8_t *program, size_t len)
{
	struct cfiwriter w;

	cw_init(&w, FRAMES, false);
	cw_fde(&w, cw_usual_cie(&w), FUNCTION, SIZE, program, len);
	return text_of(&w);
}

/* Runs a CIE of augmentation @letters with @data and with these instructions in it. */
static const char *run_cie(const char *letters, const char *data, size_t data_len, const uint8_t *program,
			   size_t len)
{
	struct cfiwriter w;

	cw_init(&w, FRAMES, false);
	cw_fde(&w, cw_cie(&w, letters, data, data_len, program, len), FUNCTION, SIZE, NULL, 0);
	return text_of(&w);
}

#define RUN(...) run((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define RUN_CIE(letters, data, ...)                                                \
	run_cie(letters, data, sizeof(data) - 1, (const uint8_t[]){ __VA_ARGS__ }, \
		sizeof((const uint8_t[]){ __VA_ARGS__ }))
/* The rest of a function in which nothing is said of rbp. */
#define CFA(...) RUN(def_cfa_expression, sizeof((const uint8_t[]){ __VA_ARGS__ }), __VA_ARGS__)

HL_TEST(the_usual_prologue)
{
	CHECK_STR(RUN(advance | 1, def_cfa_offset, 16, offset | rbp, 2, advance | 3, def_cfa_register, rbp,
		      advance | 20, def_cfa, rsp, 8),
		  "0 rsp+8; 1 rsp+16 fp=cfa-16; 4 rbp+16 fp=cfa-16; 18 rsp+8 fp=cfa-16");
	CHECK_INT(last.n_fdes, 1);
	CHECK_INT(last.n_unsupported, 0);
}

HL_TEST(locations)
{
	CHECK_STR(RUN(advance | 2, def_cfa_offset, 16, advance_loc1, 3, def_cfa_offset, 24, advance_loc2, 4,
		      0, def_cfa_offset, 32, advance_loc4, 5, 0, 0, 0, def_cfa_offset, 40),
		  "0 rsp+8; 2 rsp+16; 5 rsp+24; 9 rsp+32; e rsp+40");
	/* An advance by nothing makes no row; what follows replaces what was said. */
	CHECK_STR(RUN(def_cfa_offset, 16, advance | 0, def_cfa_offset, 24), "0 rsp+24");
	CHECK_STR(RUN(advance_loc2, 0, 1, def_cfa_offset, 16), "0 rsp+8"); /* past the end */
}

HL_TEST(set_loc_is_an_encoded_address)
{
	struct cfiwriter w;
	size_t cie;
	uint8_t program[] = { set_loc, 0, 0, 0, 0, def_cfa_offset, 16 };
	int32_t distance;
	size_t at = 24 + 17; /* of the operand: behind the CIE and the head of the FDE and the opcode */

	cw_init(&w, FRAMES, false);
	cie = cw_usual_cie(&w);
	distance = (int32_t)(FUNCTION + 10 - (FRAMES + at + 1));
	memcpy(program + 1, &distance, sizeof(distance));
	CHECK_INT(w.len, 24);
	cw_fde(&w, cie, FUNCTION, SIZE, program, sizeof(program));
	CHECK_STR(text_of(&w), "0 rsp+8; a rsp+16");

	/* Backwards it cannot be followed. */
	distance = (int32_t)(FUNCTION - 1 - (FRAMES + at + 1));
	memcpy(program + 1, &distance, sizeof(distance));
	cw_init(&w, FRAMES, false);
	cw_fde(&w, cw_usual_cie(&w), FUNCTION, SIZE, program, sizeof(program));
	CHECK_STR(text_of(&w), "0 unsupported");
}

HL_TEST(cfa_definitions)
{
	CHECK_STR(RUN(def_cfa, rbp, 16), "0 rbp+16");
	CHECK_STR(RUN(def_cfa, rbp, 0x80, 0x80, 4), "0 rbp+65536");
	CHECK_STR(RUN(def_cfa_sf, rsp, 0x7e), "0 rsp+16");
	CHECK_STR(RUN(def_cfa_sf, rbp, 2), "0 rbp-16");
	CHECK_STR(RUN(def_cfa_offset_sf, 0x7d), "0 rsp+24");
	CHECK_STR(RUN(def_cfa_offset, 0), "0 rsp+0");
	CHECK_STR(RUN(def_cfa, r10, 0), "0 r10+0");
	CHECK_STR(RUN(def_cfa, rdi, 0x80, 0x80, 4), "0 r5+65536");
	CHECK_STR(RUN(def_cfa_sf, rax, 1), "0 r0-8");
	CHECK_STR(RUN(def_cfa, rip, 8), "0 unsupported");
	CHECK_STR(RUN(def_cfa, 0x80, 2, 8), "0 unsupported");                       /* register 256 */
	CHECK_STR(RUN(def_cfa, r10, 0x80, 0x80, 0x80, 4), "0 unsupported");         /* 2^23: one too many */
	CHECK_STR(RUN(def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 8), "0 unsupported"); /* 2^31 */
}

HL_TEST(the_frame_pointer)
{
	CHECK_STR(RUN(offset_extended, rbp, 3), "0 rsp+8 fp=cfa-24");
	CHECK_STR(RUN(offset_extended_sf, rbp, 4), "0 rsp+8 fp=cfa-32");
	CHECK_STR(RUN(offset_extended_sf, rbp, 0x7f), "0 rsp+8 fp=cfa+8");
	CHECK_STR(RUN(negative_offset_extended, rbp, 2), "0 rsp+8 fp=cfa+16");
	CHECK_STR(RUN(undefined, rbp), "0 rsp+8 fp=?");
	CHECK_STR(RUN(offset | rbp, 2, same_value, rbp), "0 rsp+8");
	/* What the table cannot say is lost; that is not wrong. */
	CHECK_STR(RUN(val_offset, rbp, 2), "0 rsp+8 fp=?");
	CHECK_STR(RUN(val_offset_sf, rbp, 2), "0 rsp+8 fp=?");
	CHECK_STR(RUN(reg, rbp, rax), "0 rsp+8 fp=?");
	CHECK_STR(RUN(val_expression, rbp, 2, breg + rbp, 0), "0 rsp+8 fp=?");
	CHECK_STR(RUN(offset | rbp, 0x80, 0x40), "0 rsp+8 fp=?"); /* 2^16 */
	CHECK_STR(RUN(offset | rbp, 0x80, 0x20), "0 rsp+8 fp=cfa-32768");
	CHECK_STR(RUN(expression, rbp, 2, breg + rbp, 0x70), "0 rsp+8 fp=*(rbp-16)");
	CHECK_STR(RUN(expression, rbp, 2, breg + rsp, 0), "0 rsp+8 fp=?");
	CHECK_STR(RUN(expression, rbp, 3, breg + rbp, 0, deref), "0 rsp+8 fp=?");
	/* Other registers are nobody's concern, whatever is said of them. */
	CHECK_STR(RUN(offset | rbx, 2, offset_extended, 0x80, 8, 9, undefined, rcx, same_value, rdx, reg, rsi,
		      rdi, val_offset, rbx, 3, expression, rbx, 1, deref, args_size, 0x90, 1, nop),
		  "0 rsp+8");
}

HL_TEST(restoring)
{
	CHECK_STR(RUN(offset | rbp, 2, advance | 1, restore | rbp), "0 rsp+8 fp=cfa-16; 1 rsp+8");
	CHECK_STR(RUN(offset | rbp, 2, advance | 1, restore_extended, rbp), "0 rsp+8 fp=cfa-16; 1 rsp+8");
	CHECK_STR(RUN(undefined, rip, advance | 1, restore | rip), "0 stop; 1 rsp+8");
	CHECK_STR(RUN(restore | rbx, restore_extended, 0x80, 8), "0 rsp+8");
	CHECK_STR(RUN(remember, def_cfa, rbp, 16, offset | rbp, 2, advance | 1, restore_state, advance | 1,
		      def_cfa_offset, 16),
		  "0 rbp+16 fp=cfa-16; 1 rsp+8; 2 rsp+16");
	CHECK_STR(RUN(restore_state), "0 unsupported");
}

HL_TEST(states_nest)
{
	uint8_t program[200];
	size_t n = 0, depth;

	/* Eight are asked for, sixteen kept. */
	for (depth = 1; depth <= 16; depth++) {
		program[n++] = remember;
		program[n++] = def_cfa_offset;
		program[n++] = (uint8_t)(8 + 2 * depth);
	}
	for (depth = 1; depth <= 16; depth++) {
		program[n++] = advance | 1;
		program[n++] = restore_state;
	}
	CHECK_STR(run(program, n), "0 rsp+40; 1 rsp+38; 2 rsp+36; 3 rsp+34; 4 rsp+32; 5 rsp+30; 6 rsp+28; "
				   "7 rsp+26; 8 rsp+24; 9 rsp+22; a rsp+20; b rsp+18; c rsp+16; d rsp+14; "
				   "e rsp+12; f rsp+10; 10 rsp+8");
	memset(program, remember, 17);
	CHECK_STR(run(program, 17), "0 unsupported");
}

HL_TEST(linkage_tables)
{
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 3, shl, plus),
		  "0 plt11");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 3, shl, plus),
		  "0 plt11");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 9, ge, lit + 3, shl, plus),
		  "0 plt9");
	/* Nearly the same is something else. */
	CHECK_STR(CFA(breg + rsp, 16, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 3, shl, plus),
		  "0 unsupported");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 16, ge, lit + 3, shl, plus),
		  "0 unsupported");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 4, shl, plus),
		  "0 unsupported");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 3, shl),
		  "0 unsupported");
	CHECK_STR(CFA(breg + rsp, 8, breg + rip, 0, lit + 15, and_, lit + 11, ge, lit + 3, shl, plus, plus),
		  "0 unsupported");
}

HL_TEST(realigned_stacks)
{
	CHECK_STR(CFA(breg + rbp, 0x78, deref), "0 *(rbp-8)+0");
	CHECK_STR(CFA(breg + rsp, 0xd8, 0, deref, plus_uconst, 8), "0 *(rsp+88)+8");
	CHECK_STR(CFA(breg + rsp, 0xff, 0xff, 1, deref, plus_uconst, 0xff, 0xff, 1), "0 *(rsp+32767)+32767");
	CHECK_STR(CFA(breg + rbp, 0x80, 0x80, 0x7e, deref), "0 *(rbp-32768)+0");
	CHECK_STR(CFA(breg + rbp, 0x80, 0x80, 2, deref), "0 unsupported");
	CHECK_STR(CFA(breg + rbp, 0, deref, plus_uconst, 0x80, 0x80, 2), "0 unsupported");
	CHECK_STR(CFA(breg + rbx, 0, deref), "0 unsupported");
	CHECK_STR(CFA(breg + rbp, 0), "0 unsupported");
	CHECK_STR(CFA(breg + rbp, 0, plus), "0 unsupported");
	CHECK_STR(CFA(breg + rbp, 0, deref, plus_uconst), "0 unsupported");
	CHECK_STR(CFA(breg + rbp, 0, deref, plus_uconst, 8, deref), "0 unsupported");
	CHECK_STR(CFA(breg + rbp), "0 unsupported");
	CHECK_STR(RUN(def_cfa_expression, 0), "0 unsupported");
	/* The frame pointer of such a frame, as GCC saves it. */
	CHECK_STR(RUN(def_cfa, r10, 0, advance | 4, expression, rbp, 2, breg + rbp, 0, advance | 4,
		      def_cfa_expression, 3, breg + rbp, 0x78, deref, advance | 8, def_cfa, r10, 0,
		      advance | 4, def_cfa, rsp, 8, same_value, rbp),
		  "0 r10+0; 4 r10+0 fp=*(rbp+0); 8 *(rbp-8)+0 fp=*(rbp+0); 10 r10+0 fp=*(rbp+0); 14 rsp+8");
}

HL_TEST(what_cannot_be_said_is_unsupported_there_alone)
{
	CHECK_STR(RUN(advance | 4, def_cfa_expression, 1, deref, advance | 4, def_cfa, rsp, 16),
		  "0 rsp+8; 4 unsupported; 8 rsp+16");
	CHECK_INT(last.n_unsupported, 1);
}

HL_TEST(the_return_address)
{
	CHECK_STR(RUN(undefined, rip), "0 stop");
	CHECK_STR(RUN(undefined, rip, undefined, rbp, def_cfa_expression, 1, deref), "0 stop");
	/* vfork takes it off the stack. */
	CHECK_STR(RUN(advance | 1, def_cfa_offset, 0, reg, rip, rdi, advance | 7, def_cfa_offset, 8,
		      offset | rip, 1),
		  "0 rsp+8; 1 rsp+0 ra=r5; 8 rsp+8");
	CHECK_STR(RUN(reg, rip, 17), "0 unsupported");
	CHECK_STR(RUN(def_cfa, rbp, 16, reg, rip, rdi), "0 unsupported");
	CHECK_STR(RUN(offset | rip, 2), "0 unsupported");
	CHECK_STR(RUN(same_value, rip), "0 unsupported");
	CHECK_STR(RUN(val_offset, rip, 1), "0 unsupported");
	CHECK_STR(RUN(expression, rip, 2, breg + rsp, 0), "0 unsupported");
}

HL_TEST(lazy_binding_keeps_the_cfa_in_rbx)
{
	CHECK_STR(RUN(def_cfa_offset, 24, advance | 1, def_cfa_offset, 32, offset | rbx, 4, advance | 3,
		      def_cfa_register, rbx, advance | 8, def_cfa, rsp, 8),
		  "0 rsp+24 rbx; 1 rsp+32 rbx=cfa-32; 4 rbx+32 rbx=cfa-32; c rsp+8 rbx=cfa-32");
	/* A slot that is too far away, or that is the return address's, is lost. */
	CHECK_STR(RUN(def_cfa_offset, 24, advance | 1, def_cfa_register, rbx, advance | 1, offset | rbx, 63,
		      advance | 1, offset | rbx, 64, advance | 1, same_value, rbx, advance | 1, offset | rbx,
		      1, advance | 1, offset | rbx, 2, advance | 1, undefined, rbx),
		  "0 rsp+24 rbx; 1 rbx+24 rbx; 2 rbx+24 rbx=cfa-504; 3 rbx+24; 4 rbx+24 rbx; 5 rbx+24; "
		  "6 rbx+24 rbx=cfa-16; 7 rbx+24");
	/* In other functions rbx is known of the leaf alone. */
	CHECK_STR(RUN(advance | 1, def_cfa_offset, 16, advance | 3, def_cfa_register, rbx),
		  "0 rsp+8; 1 rsp+16; 4 r3+16");
}

HL_TEST(instructions_that_cannot_be_followed)
{
	/* All of the FDE, also what stood before. */
	CHECK_STR(RUN(advance | 1, def_cfa_offset, 16, advance | 1, 0x17), "0 unsupported");
	CHECK_STR(RUN(0x1d, 0, 0, 0, 0, 0, 0, 0, 0), "0 unsupported");
	CHECK_STR(RUN(0x2d), "0 unsupported"); /* register windows */
	CHECK_STR(RUN(0x3f), "0 unsupported");
	CHECK_INT(last.n_unsupported, 1);
	CHECK_STR(RUN(def_cfa_expression, 3, breg + rbp, 0x78, deref, def_cfa_offset, 16), "0 unsupported");
	CHECK_STR(RUN(def_cfa_expression, 3, breg + rbp, 0x78, deref, def_cfa_register, rbp),
		  "0 unsupported");
	CHECK_STR(RUN(nop, nop, advance_loc4), "0 unsupported"); /* cut, as the next three: no padding */
	CHECK_STR(RUN(nop, def_cfa, rsp), "0 unsupported");
	CHECK_STR(RUN(nop, nop, set_loc), "0 unsupported");
	CHECK_STR(RUN(nop, offset | rbp, 0x80), "0 unsupported");
	CHECK_STR(RUN(def_cfa_expression, 100, deref, 0), "0 unsupported");
	CHECK_STR(RUN(expression, rbp, 100, deref), "0 unsupported");
	CHECK_STR(RUN(offset | rbp, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "0 unsupported");
}

HL_TEST(augmentations)
{
	CHECK_STR(RUN_CIE("zRS", "\x1b", nop), "0 signal");
	CHECK_STR(RUN_CIE("zPLR", "\x03....\x0b\x1b", def_cfa, rsp, 8, offset | rip, 1), "0 rsp+8");
	CHECK_STR(RUN_CIE("zPLR", "\x9b....\x1b\x1b", def_cfa, rsp, 8, offset | rip, 1), "0 rsp+8");
	CHECK_STR(RUN_CIE("zRB", "\x1b", def_cfa, rsp, 8, offset | rip, 1), "0 rsp+8");
	/* The length of the data skips what the letters do not explain. */
	CHECK_STR(RUN_CIE("zR?", "\x1b-----", def_cfa, rsp, 8, offset | rip, 1), "0 rsp+8");
}

HL_TEST(instructions_of_a_cie)
{
	CHECK_STR(RUN_CIE("zR", "\x1b", def_cfa, rbp, 16, offset | rip, 1, offset | rbp, 2),
		  "0 rbp+16 fp=cfa-16");
	CHECK_STR(RUN_CIE("zR", "\x1b", nop), "0 unsupported"); /* nothing was said of the CFA */
	CHECK_STR(RUN_CIE("zR", "\x1b", def_cfa, rsp, 8), "0 unsupported");
	CHECK_STR(RUN_CIE("zR", "\x1b", def_cfa, rsp, 8, offset | rip, 1, 0x3f), "0 unsupported");
	CHECK_STR(RUN_CIE("zR", "\x1b", def_cfa, rsp, 8, offset | rip, 1, advance | 1), "0 unsupported");
	CHECK_STR(RUN_CIE("zR", "\x1b", def_cfa, rsp, 8, offset | rip, 1, restore | rbp), "0 unsupported");
}
