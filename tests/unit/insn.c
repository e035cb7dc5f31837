// SPDX-License-Identifier: BSD-2-Clause
/* needs: base insn */
#include "insn/insn.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "harness.h"

/* The texts are those of objdump 2.40, unless said otherwise. */

enum { ADDRESS = 0x1000 };

struct row {
	const char *code;
	size_t len;
	const char *text;
	enum hl_insn_class class;
};

#define ROW(code, text, class)                                \
	{                                                     \
		code, sizeof(code) - 1, text, HL_INSN_##class \
	}

static const struct row att_rows[] = {
	/* one blank between mnemonic and operands, none at the end; no blank behind a comma */
	ROW("\xc3", "ret", BRANCH),
	ROW("\x48\x69\xd2\x07\xca\x9a\x3b", "imul $0x3b9aca07,%rdx,%rdx", OTHER),
	/* direct targets in bare hexadecimal */
	ROW("\xeb\x10", "jmp 1012", BRANCH),
	ROW("\x0f\x85\x00\xfe\xff\xff", "jne e06", BRANCH),
	ROW("\xe8\xfb\xff\xff\xff", "call 1000", BRANCH),
	ROW("\xe3\xfe", "jrcxz 1000", BRANCH),
	ROW("\xe2\xf0", "loop ff2", BRANCH),
	ROW("\xc7\xf8\x00\x01\x00\x00", "xbegin 1106", BRANCH),
	/* small numbers in hexadecimal, too */
	ROW("\x48\x83\xc0\x08", "add $0x8,%rax", OTHER),
	ROW("\x48\xc7\x45\xf8\x09\x00\x00\x00", "movq $0x9,-0x8(%rbp)", STORE),
	ROW("\x48\x8d\x04\xc5\xff\xff\xff\xff", "lea -0x1(,%rax,8),%rax", OTHER),
	/* a scale of one is written */
	ROW("\x48\x8b\x04\x18", "mov (%rax,%rbx,1),%rax", LOAD),
	ROW("\x48\x8d\x04\x05\x00\x00\x00\x00", "lea 0x0(,%rax,1),%rax", OTHER),
	ROW("\x48\x8d\xb4\x26\x00\x00\x00\x00", "lea 0x0(%rsi,%riz,1),%rsi", OTHER),
	/* the size letter goes where a general register says the size */
	ROW("\x55", "push %rbp", STORE),
	ROW("\xff\x70\x08", "push 0x8(%rax)", STORE),
	ROW("\x5d", "pop %rbp", LOAD),
	ROW("\xff\x50\x08", "call *0x8(%rax)", BRANCH),
	ROW("\xff\xe0", "jmp *%rax", BRANCH),
	ROW("\xc9", "leave", LOAD),
	ROW("\xc7\x00\x01\x00\x00\x00", "movl $0x1,(%rax)", STORE),
	ROW("\xc6\x40\x08\x01", "movb $0x1,0x8(%rax)", STORE),
	ROW("\xd3\x20", "shll %cl,(%rax)", STORE),
	ROW("\xd3\xe0", "shl %cl,%eax", OTHER),
	ROW("\x0f\xb6\x00", "movzbl (%rax),%eax", LOAD),
	ROW("\x48\x63\xc7", "movslq %edi,%rax", OTHER),
	ROW("\xf2\x0f\x2a\xc0", "cvtsi2sd %eax,%xmm0", VECTOR),
	ROW("\xf2\x0f\x2a\x00", "cvtsi2sdl (%rax),%xmm0", LOAD),
	ROW("\x66\x6a\x05", "pushw $0x5", STORE),
	ROW("\xf2\x48\x0f\x38\xf1\xd0", "crc32 %rax,%rdx", OTHER),
	ROW("\x0f\x78\x10", "vmread %rdx,(%rax)", STORE),
	/* negative immediates as two's complement of the operand's size */
	ROW("\x83\xc8\xff", "or $0xffffffff,%eax", OTHER),
	ROW("\x48\x83\xe4\xf0", "and $0xfffffffffffffff0,%rsp", OTHER),
	ROW("\x48\xc7\x45\xf8\xff\xff\xff\xff", "movq $0xffffffffffffffff,-0x8(%rbp)", STORE),
	ROW("\x66\x83\x38\x80", "cmpw $0xff80,(%rax)", LOAD),
	ROW("\x6a\xff", "push $0xffffffffffffffff", STORE),
	ROW("\xc8\x10\x80\x81", "enter $0x8010,$0x81", STORE),
	ROW("\xc2\xf0\xff", "ret $0xfff0", BRANCH),
	ROW("\xc4\xe3\xfb\xf0\xd0\x80", "rorx $0x80,%rax,%rdx", OTHER),
	/* segment offsets and absolute addresses */
	ROW("\x64\x48\x8b\x04\x25\x28\x00\x00\x00", "mov %fs:0x28,%rax", LOAD),
	ROW("\x64\x48\x8b\x04\x25\x00\x00\x00\x00", "mov %fs:0x0,%rax", LOAD),
	ROW("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff", "mov %fs:0xfffffffffffffff8,%rax", LOAD),
	ROW("\x8b\x04\x25\x00\x10\x00\x00", "mov 0x1000,%eax", LOAD),
	ROW("\x48\xa1\x88\x77\x66\x55\x44\x33\x22\x11", "movabs 0x1122334455667788,%rax", LOAD),
	/* an encoded displacement of zero is written */
	ROW("\x48\x8b\x45\x00", "mov 0x0(%rbp),%rax", LOAD),
	ROW("\x48\x8b\x05\x00\x00\x00\x00", "mov 0x0(%rip),%rax", LOAD),
	ROW("\x48\x8b\x84\x24\x00\x00\x00\x00", "mov 0x0(%rsp),%rax", LOAD),
	ROW("\x8b\x40\xf8", "mov -0x8(%rax),%eax", LOAD),
	/* a conditional move has no size letter */
	ROW("\x0f\x4c\xd0", "cmovl %eax,%edx", OTHER),
	ROW("\x48\x0f\x4d\x10", "cmovge (%rax),%rdx", LOAD),
	/* shifts by one have no count, if none is encoded */
	ROW("\xd1\xe0", "shl %eax", OTHER),
	ROW("\x48\xd1\xf8", "sar %rax", OTHER),
	ROW("\xc1\xe0\x01", "shl $0x1,%eax", OTHER),
	ROW("\x48\xd1\x28", "shrq (%rax)", STORE),
	/* nops */
	ROW("\x90", "nop", OTHER),
	ROW("\x0f\x1f\x40\x00", "nopl 0x0(%rax)", OTHER),
	ROW("\x66\x0f\x1f\x44\x00\x00", "nopw 0x0(%rax,%rax,1)", OTHER),
	ROW("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "cs nopw 0x0(%rax,%rax,1)", OTHER),
	ROW("\x66\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "data16 data16 cs nopw 0x0(%rax,%rax,1)",
	    OTHER),
	ROW("\x66\x90", "xchg %ax,%ax", OTHER),
	ROW("\xf3\x0f\x1e\xfa", "endbr64", OTHER),
	/* string instructions are written out */
	ROW("\xf3\x48\xa5", "rep movsq %ds:(%rsi),%es:(%rdi)", STORE),
	ROW("\xf3\xa6", "repz cmpsb %es:(%rdi),%ds:(%rsi)", LOAD),
	ROW("\xf3\x48\xab", "rep stos %rax,%es:(%rdi)", STORE),
	ROW("\xac", "lods %ds:(%rsi),%al", LOAD),
	ROW("\xf2\xae", "repnz scas %es:(%rdi),%al", LOAD),
	ROW("\x6c", "insb (%dx),%es:(%rdi)", STORE),
	ROW("\x6f", "outsl %ds:(%rsi),(%dx)", LOAD),
	ROW("\x65\xac", "lods %gs:(%rsi),%al", LOAD),
	ROW("\xd7", "xlat %ds:(%rbx)", LOAD),
	/* masks without a blank */
	ROW("\x62\xe1\x7f\xc9\x6f\x00", "vmovdqu8 (%rax),%zmm16{%k1}{z}", LOAD),
	/* movd of 64 bits */
	ROW("\x66\x48\x0f\x6e\xc0", "movq %rax,%xmm0", VECTOR),
	ROW("\xc4\xe1\xf9\x7e\xc0", "vmovq %xmm0,%rax", VECTOR),
	ROW("\x66\x0f\x6e\xc0", "movd %eax,%xmm0", VECTOR),
	/* prefixes with a name of their own, and those that change nothing */
	ROW("\x3e\xff\xe0", "notrack jmp *%rax", BRANCH),
	ROW("\xf2\xff\x25\x00\x00\x00\x00", "bnd jmp *0x0(%rip)", BRANCH),
	ROW("\xf3\xc3", "repz ret", BRANCH),
	ROW("\xf2\xe9\xfb\x00\x00\x00", "bnd jmp 1101", BRANCH),
	ROW("\x2e\xe8\xfa\x00\x00\x00", "cs call 1100", BRANCH),
	ROW("\x66\x66\x48\xe8\x00\x00\x00\x00", "data16 data16 rex.W call 1008", BRANCH),
	ROW("\x66\x48\x8d\x3d\x00\x00\x00\x00", "data16 lea 0x0(%rip),%rdi", OTHER),
	ROW("\x67\xe8\x00\x00\x00\x00", "addr32 call 1006", BRANCH),
	ROW("\x48\xff\x15\x00\x00\x00\x00", "rex.W call *0x0(%rip)", BRANCH),
	ROW("\x3e\x75\x10", "jne,pt 1013", BRANCH),
	ROW("\x3e\x89\xc3", "ds mov %eax,%ebx", OTHER),
	ROW("\xf0\x48\x0f\xb1\x17", "lock cmpxchg %rdx,(%rdi)", LOCKED),
	ROW("\xf2\xf0\x01\x07", "xacquire lock add %eax,(%rdi)", LOCKED),
	ROW("\x48\x87\x07", "xchg %rax,(%rdi)", LOCKED),
	ROW("\xf0\x83\x44\x24\x00\x01", "lock addl $0x1,0x0(%rsp)", LOCKED),
	/* x87 registers */
	ROW("\xd8\xc1", "fadd %st(1),%st", OTHER),
	ROW("\xdc\xc2", "fadd %st,%st(2)", OTHER),
	ROW("\xde\xc1", "faddp %st,%st(1)", OTHER),
	ROW("\xde\xd9", "fcompp", OTHER),
	ROW("\xda\xe9", "fucompp", OTHER),
	ROW("\xdf\xe9", "fucomip %st(1),%st", OTHER),
	ROW("\xdf\xc1", "ffreep %st(1)", OTHER),
	ROW("\xd8\xd1", "fcom %st(1)", OTHER),
	ROW("\xd9\xc9", "fxch %st(1)", OTHER),
	ROW("\xdf\xe0", "fnstsw %ax", OTHER),
	ROW("\xde\xf1", "fdivp %st,%st(1)", DIVIDE),
	ROW("\xd9\xfa", "fsqrt", DIVIDE),
	/* renames, accumulators */
	ROW("\x93", "xchg %eax,%ebx", OTHER),
	ROW("\x49\x90", "xchg %rax,%r8", OTHER),
	ROW("\x9b", "fwait", OTHER),
	ROW("\xc0\xf0\x03", "shl $0x3,%al", OTHER),
	ROW("\x9c", "pushf", STORE),
	ROW("\x9d", "popf", LOAD),
	ROW("\xcb", "lret", BRANCH),
	ROW("\x48\xcf", "iretq", BRANCH),
	ROW("\xec", "in (%dx),%al", OTHER),
	ROW("\xef", "out %eax,(%dx)", OTHER),
	ROW("\x8c\xd8", "mov %ds,%eax", OTHER),
	ROW("\x8c\x28", "mov %gs,(%rax)", STORE),
	ROW("\x0f\x21\xf8", "mov %db7,%rax", OTHER),
	ROW("\x0f\x01\x00", "sgdt (%rax)", STORE),
	ROW("\xf3\x48\x0f\xae\xc0", "rdfsbase %rax", OTHER),
	ROW("\x0f\x01\xc8", "monitor %rax,%ecx,%edx", OTHER),
	ROW("\x0f\x01\xc9", "mwait %eax,%ecx", OTHER),
	ROW("\x0f\x01\xfc", "clzero", OTHER),
	/* vectors */
	ROW("\x66\x0f\x38\x10\xd1", "pblendvb %xmm0,%xmm1,%xmm2", VECTOR),
	ROW("\xc5\xff\xe6\xc8", "vcvtpd2dq %ymm0,%xmm1", VECTOR),
	ROW("\xc5\xfb\xe6\x08", "vcvtpd2dqx (%rax),%xmm1", LOAD),
	ROW("\x66\x0f\x3a\x44\xc8\x11", "pclmulhqhqdq %xmm0,%xmm1", VECTOR),
	ROW("\x66\x0f\x3a\x44\xc8\x04", "pclmulqdq $0x4,%xmm0,%xmm1", VECTOR),
	ROW("\x66\x48\x0f\x50\xc0", "movmskpd %xmm0,%rax", VECTOR),
	ROW("\x0f\x58\xc1", "addps %xmm1,%xmm0", VECTOR),
	ROW("\x0f\x58\x00", "addps (%rax),%xmm0", LOAD),
	ROW("\x0f\x5e\xc1", "divps %xmm1,%xmm0", DIVIDE),
	ROW("\x48\xf7\xf6", "div %rsi", DIVIDE),
	ROW("\xf7\x38", "idivl (%rax)", DIVIDE),
	ROW("\xc5\xfd\x51\xc0", "vsqrtpd %ymm0,%ymm0", DIVIDE),
	ROW("\xc5\xf8\x77", "vzeroupper", OTHER),
	ROW("\x0f\x29\x00", "movaps %xmm0,(%rax)", STORE),
	/* what capstone 4.0.2 decodes to something else */
	ROW("\x62\xf1\x75\x40\xfe\x14\x37", "vpaddd (%rdi,%rsi,1),%zmm17,%zmm2", LOAD),
	ROW("\x62\xf2\x7d\x49\xa0\x04\x90", "vpscatterdd %zmm0,(%rax,%zmm2,4){%k1}", STORE),
	ROW("\x62\xf2\x7e\x48\x28\xc9", "vpmovm2b %k1,%zmm1", VECTOR),
	ROW("\x62\xf2\x7e\x48\x29\xc9", "vpmovb2m %zmm1,%k1", VECTOR),
	ROW("\x67\x0f\xb9\x40\x08", "ud1 0x8(%eax),%eax", OTHER),
	ROW("\x0f\xff\x00", "ud0 (%rax),%eax", OTHER),
	ROW("\xf3\x0f\xc7\xf8", "rdpid %rax", OTHER),
	ROW("\xf3\x0f\xc7\xf0", "senduipi %rax", OTHER),
	ROW("\xf3\x0f\xae\xf0", "umonitor %rax", OTHER),
	ROW("\xf2\x0f\xae\xf0", "umwait %eax", OTHER),
	ROW("\x66\x0f\xae\xf0", "tpause %eax", OTHER),
	ROW("\xf3\x48\x0f\xae\xe8", "incsspq %rax", OTHER),
	ROW("\xf3\x48\x0f\x1e\xc8", "rdsspq %rax", OTHER),
	ROW("\xf3\x0f\xae\x30", "clrssbsy (%rax)", STORE),
	ROW("\x0f\x1c\x00", "cldemote (%rax)", LOAD),
	ROW("\x8f\xe8\xf0\xa3\xd0\x30", "vpperm %xmm0,%xmm3,%xmm1,%xmm2", VECTOR),
	ROW("\xf3\x0f\x09", "wbnoinvd", OTHER),
	ROW("\xf3\x0f\x01\xd9", "vmgexit", OTHER),
	ROW("\x0f\x09", "wbinvd", OTHER),
	ROW("\x0f\x01\xd9", "vmmcall", OTHER),
	ROW("\x63\xc7", "movsxd %edi,%eax", OTHER),
	/* what only Zydis decodes */
	ROW("\x62\xb1\x7d\x20\x74\xc4", "vpcmpeqb %ymm20,%ymm16,%k0", VECTOR),
	ROW("\x62\xf3\x7d\x48\x3e\xc8\x04", "vpcmpnequb %zmm0,%zmm0,%k1", VECTOR),
	ROW("\x62\xf1\xed\x18\x58\xd9", "vaddpd {rn-sae},%zmm1,%zmm2,%zmm3", VECTOR),
	ROW("\x62\xf1\x6c\x48\xc2\xc9\x01", "vcmpltps %zmm1,%zmm2,%k1", VECTOR),
	ROW("\x62\xf1\x6c\x18\xc2\xc9\x01", "vcmpltps {sae},%zmm1,%zmm2,%k1", VECTOR),
	ROW("\x62\xf1\xed\x58\x58\x18", "vaddpd (%rax){1to8},%zmm2,%zmm3", LOAD),
	ROW("\x62\xf1\xef\x08\x2a\x10", "{evex} vcvtsi2sdq (%rax),%xmm2,%xmm2", LOAD),
	ROW("\x62\xf3\x7d\x48\x66\x08\x03", "vfpclasspsz $0x3,(%rax),%k1", LOAD),
	ROW("\xc4\xe2\x79\x50\xd1", "{vex} vpdpbusd %xmm1,%xmm0,%xmm2", VECTOR),
	ROW("\x62\xf2\x75\x48\xdc\xd0", "vaesenc %zmm0,%zmm1,%zmm2", VECTOR),
};

static const struct row att_32_rows[] = {
	ROW("\x50", "push %eax", STORE),
	ROW("\x40", "inc %eax", OTHER),
	ROW("\x60", "pusha", STORE),
	ROW("\x65\xa1\x14\x00\x00\x00", "mov %gs:0x14,%eax", LOAD),
	ROW("\x8d\xb4\x26\x00\x00\x00\x00", "lea 0x0(%esi,%eiz,1),%esi", OTHER),
	ROW("\x8d\x74\x26\x00", "lea 0x0(%esi,%eiz,1),%esi", OTHER),
	ROW("\xe8\xfb\xff\xff\xff", "call 1000", BRANCH),
	ROW("\xff\x24\x85\x00\xc0\x04\x08", "jmp *0x804c000(,%eax,4)", BRANCH),
	ROW("\x83\xe4\xf0", "and $0xfffffff0,%esp", OTHER),
	ROW("\xc7\x44\x24\x04\x00\x00\x00\x00", "movl $0x0,0x4(%esp)", STORE),
	ROW("\x62\x04\x11", "bound %eax,(%ecx,%edx,1)", LOAD),
	ROW("\xc4\x03", "les (%ebx),%eax", LOAD),
	ROW("\xc5\xfc\x28\x03", "vmovaps (%ebx),%ymm0", LOAD),
	ROW("\xf3\xab", "rep stos %eax,%es:(%edi)", STORE),
	ROW("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "nopw %cs:0x0(%eax,%eax,1)", OTHER),
	ROW("\x67\x8b\x07", "mov (%bx),%eax", LOAD),
	ROW("\x6a\xff", "push $0xffffffff", STORE),
	ROW("\xf3\x0f\x1e\xfb", "endbr32", OTHER),
	ROW("\x2e\x8b\x03", "mov %cs:(%ebx),%eax", LOAD),
	ROW("\xc8\x10\x00\x00", "enter $0x10,$0x0", STORE),
	ROW("\xe3\xfd", "jecxz fff", BRANCH),
	ROW("\x91", "xchg %eax,%ecx", OTHER),
	ROW("\xf2\x0f\x2a\x44\x24\x04", "cvtsi2sd 0x4(%esp),%xmm0", LOAD),
	ROW("\xea\x00\x10\x00\x00\x33\x00", "ljmp $0x33,$0x1000", BRANCH),
};

static const struct row intel_rows[] = {
	ROW("\x48\x8b\x40\x08", "mov rax,QWORD PTR [rax+0x8]", LOAD),
	ROW("\x48\x8d\x05\x00\x00\x00\x00", "lea rax,[rip+0x0]", OTHER),
	ROW("\x48\x8b\x05\xf0\xff\xff\xff", "mov rax,QWORD PTR [rip+0xfffffffffffffff0]", LOAD),
	ROW("\x48\xc7\x45\xf8\xff\xff\xff\xff", "mov QWORD PTR [rbp-0x8],0xffffffffffffffff", STORE),
	ROW("\x64\x48\x8b\x04\x25\x28\x00\x00\x00", "mov rax,QWORD PTR fs:0x28", LOAD),
	ROW("\x8b\x04\x25\x00\x10\x00\x00", "mov eax,DWORD PTR ds:0x1000", LOAD),
	ROW("\x0f\xb6\x04\x18", "movzx eax,BYTE PTR [rax+rbx*1]", LOAD),
	ROW("\xf3\x48\xab", "rep stos QWORD PTR es:[rdi],rax", STORE),
	ROW("\xf3\xa4", "rep movs BYTE PTR es:[rdi],BYTE PTR ds:[rsi]", STORE),
	ROW("\xff\x25\x00\x00\x00\x00", "jmp QWORD PTR [rip+0x0]", BRANCH),
	ROW("\xeb\x10", "jmp 1012", BRANCH),
	ROW("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "cs nop WORD PTR [rax+rax*1+0x0]", OTHER),
	ROW("\x66\x90", "xchg ax,ax", OTHER),
	ROW("\xd1\xe0", "shl eax,1", OTHER),
	ROW("\x62\xf1\xed\x58\x58\x18", "vaddpd zmm3,zmm2,QWORD BCST [rax]", LOAD),
	ROW("\x62\xb1\x7d\x20\x74\xc4", "vpcmpeqb k0,ymm16,ymm20", VECTOR),
	ROW("\xd8\xc1", "fadd st,st(1)", OTHER),
	ROW("\xdb\x28", "fld TBYTE PTR [rax]", LOAD),
	ROW("\xf0\x48\x0f\xb1\x17", "lock cmpxchg QWORD PTR [rdi],rdx", LOCKED),
	ROW("\x66\x0f\x2f\x00", "comisd xmm0,QWORD PTR [rax]", LOAD),
	ROW("\x3e\xff\xe0", "notrack jmp rax", BRANCH),
	ROW("\x66\x0f\x3a\x44\xc8\x11", "pclmulhqhqdq xmm1,xmm0", VECTOR),
};

HL_DEFINE_CLEANUP(struct hl_decoder, hl_decoder_free)
#define _cleanup_decoder_ _cleanup_(hl_decoder_freep)

static void check_rows(const struct row *rows, size_t n, enum hl_insn_mode mode, enum hl_insn_syntax syntax)
{
	_cleanup_decoder_ struct hl_decoder *decoder = hl_decoder_new(mode, syntax);
	struct hl_insn insn;

	CHECK(decoder);
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		hl_decoder_decode(decoder, (const uint8_t *)row->code, row->len, ADDRESS, &insn);
		CHECK_STR(insn.text, row->text);
		if (insn.class_ != row->class)
			FAIL("\"%s\" has class %d, should have %d", row->text, insn.class_, row->class);
		if (insn.length != row->len)
			FAIL("\"%s\" has length %d, should have %zu", row->text, insn.length, row->len);
		CHECK(!insn.undecoded);
	}
}

#define CHECK_ROWS(rows, mode, syntax) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), mode, syntax)

HL_TEST(att_text_and_class)
{
	CHECK_ROWS(att_rows, HL_INSN_MODE_64, HL_INSN_ATT);
}

HL_TEST(att_text_and_class_of_32_bit_code)
{
	CHECK_ROWS(att_32_rows, HL_INSN_MODE_32, HL_INSN_ATT);
}

HL_TEST(intel_text_and_class)
{
	CHECK_ROWS(intel_rows, HL_INSN_MODE_64, HL_INSN_INTEL);
}

/* One instruction by itself, by a decoder of its own. */
static struct hl_insn decode(const char *code, size_t len, uint64_t address, enum hl_insn_mode mode)
{
	_cleanup_decoder_ struct hl_decoder *decoder = hl_decoder_new(mode, HL_INSN_ATT);
	struct hl_insn insn;

	CHECK(decoder);
	memset(&insn, 0xa5, sizeof(insn));
	hl_decoder_decode(decoder, (const uint8_t *)code, len, address, &insn);
	return insn;
}

#define DECODE(code, address, mode) decode(code, sizeof(code) - 1, address, HL_INSN_MODE_##mode)

HL_TEST(target_of_direct_branches)
{
	struct hl_insn insn = DECODE("\xeb\x10", 0xffffffff81000000, 64);

	CHECK(insn.has_target && !insn.has_reference);
	CHECK_STR(insn.text, "jmp ffffffff81000012");
	CHECK(insn.target == 0xffffffff81000012);
	insn = DECODE("\xe8\xfb\xff\xff\xff", 0x400000, 64);
	CHECK(insn.has_target && insn.target == 0x400000);
	insn = DECODE("\xeb\x7f", 0xfffffff0, 32); /* wraps at 32 bits */
	CHECK_STR(insn.text, "jmp 71");
	CHECK(insn.has_target && insn.target == 0x71);
	insn = DECODE("\xff\xe0", ADDRESS, 64);
	CHECK(!insn.has_target);
	CHECK_INT(insn.target, 0);
}

HL_TEST(reference_of_rip_relative_operands)
{
	struct hl_insn insn = DECODE("\x48\x8b\x05\x10\x00\x00\x00", ADDRESS, 64);

	CHECK(insn.has_reference && !insn.has_target);
	CHECK_INT(insn.reference, ADDRESS + 7 + 0x10);
	insn = DECODE("\xc6\x05\xf0\xff\xff\xff\x01", ADDRESS, 64); /* the immediate stands behind */
	CHECK(insn.has_reference);
	CHECK_INT(insn.reference, ADDRESS + 7 - 0x10);
	insn = DECODE("\xff\x15\x00\x01\x00\x00", ADDRESS, 64);
	CHECK(insn.has_reference && !insn.has_target);
	CHECK_INT(insn.reference, ADDRESS + 6 + 0x100);
	insn = DECODE("\x48\x8b\x40\x10", ADDRESS, 64);
	CHECK(!insn.has_reference);
}

HL_TEST(undecoded_bytes_are_shown)
{
	struct hl_insn insn = DECODE("\x06", ADDRESS, 64);

	CHECK_STR(insn.text, ".byte 0x06 (undecoded)");
	CHECK(insn.undecoded && !insn.by_zydis && !insn.has_target && !insn.has_reference);
	CHECK_INT(insn.length, 1);
	CHECK_INT(insn.class_, HL_INSN_OTHER);
	insn = DECODE("\xd5\x88\x01\xc0\x90\x90\x90\x90\x90\x90", ADDRESS, 64); /* a REX2 prefix */
	CHECK_STR(insn.text, ".byte 0xd5,0x88,0x01,0xc0,0x90,0x90,0x90,0x90 (undecoded)");
	insn = DECODE("\xe8\x00\x00", ADDRESS, 64); /* cut off */
	CHECK_STR(insn.text, ".byte 0xe8,0x00,0x00 (undecoded)");
	CHECK(!insn.has_target);
	insn = DECODE("\x66\x66\x66", ADDRESS, 64); /* prefixes only */
	CHECK_STR(insn.text, ".byte 0x66,0x66,0x66 (undecoded)");
	insn = DECODE("", ADDRESS, 64);
	CHECK_STR(insn.text, "(no bytes)");
	CHECK(insn.undecoded);
}

HL_TEST(says_which_decoder_printed)
{
	CHECK(!DECODE("\x48\x89\xe5", ADDRESS, 64).by_zydis);
	CHECK(DECODE("\x62\xf1\x75\x40\xfe\x14\x37", ADDRESS, 64).by_zydis);
	CHECK(DECODE("\xf3\x0f\xc7\xf8", ADDRESS, 64).by_zydis); /* rdpid */
	CHECK(hl_starts_with(hl_decoder_versions(), "capstone 4."));
	CHECK(strstr(hl_decoder_versions(), "Zydis 4."));
}

HL_TEST(bytes_behind_the_instruction_change_nothing)
{
	_cleanup_decoder_ struct hl_decoder *decoder = hl_decoder_new(HL_INSN_MODE_64, HL_INSN_ATT);
	struct hl_insn insn;
	uint8_t code[16];

	CHECK(decoder);
	for (size_t i = 0; i < sizeof(att_rows) / sizeof(att_rows[0]); i++)
		for (unsigned int filler = 0; filler < 256; filler += 51) {
			memset(code, (int)filler, sizeof(code));
			memcpy(code, att_rows[i].code, att_rows[i].len);
			hl_decoder_decode(decoder, code, sizeof(code), ADDRESS, &insn);
			CHECK_STR(insn.text, att_rows[i].text);
		}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void check_random(struct hl_decoder *decoder, const uint8_t *code, size_t len, uint64_t address)
{
	struct hl_insn insn;
	size_t n;

	memset(&insn, 0xa5, sizeof(insn));
	hl_decoder_decode(decoder, code, len, address, &insn);
	n = strnlen(insn.text, sizeof(insn.text));
	CHECK(n > 0 && n < sizeof(insn.text));
	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)insn.text[i]))
			FAIL("byte %zu of the text is 0x%02x", i, (unsigned char)insn.text[i]);
	CHECK(insn.text[n - 1] != ' ');
	CHECK(insn.length >= 1 && insn.length <= 15);
	CHECK(insn.undecoded || insn.length <= len);
	CHECK(insn.class_ <= HL_INSN_LOCKED);
	CHECK(!(insn.undecoded && (insn.by_zydis || insn.has_target || insn.has_reference)));
}

HL_TEST_TIMEOUT(random_bytes_give_text, 120)
{
	uint64_t state = 0x9e3779b97f4a7c15;

	for (unsigned int kind = 0; kind < 4; kind++) {
		_cleanup_decoder_ struct hl_decoder *decoder = hl_decoder_new(kind & 1, kind >> 1);

		CHECK(decoder);
		for (unsigned int i = 0; i < 250000; i++) {
			size_t len = i % 8 ? 16 : next_random(&state) % 16;
			_cleanup_free_ uint8_t *code = malloc(len + !len); /* exact, for ASan */

			CHECK(code);
			for (size_t j = 0; j < len; j++)
				code[j] = (uint8_t)(next_random(&state) >> 24);
			/* The prefixes of vector instructions, and 0f, would be rare. */
			if (i % 4 == 1 && len)
				code[0] = (uint8_t)(next_random(&state) % 2 ? 0x62 : 0x0f);
			check_random(decoder, code, len, next_random(&state));
		}
	}
}
