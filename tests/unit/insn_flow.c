// SPDX-License-Identifier: BSD-2-Clause
/* needs: base insn */

/* Where instructions go and what they do to the stack pointer, beside what objdump prints of the C library. */

#include "insn/flow.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { LONGEST = 15, ROOM = 16, MAX_LINE = 512 };

/* An instruction as objdump has it. */
struct line {
	uint64_t address;
	uint8_t code[ROOM];
	size_t len;
	char mnemonic[32], operands[128];
};

static bool is_prefix(const char *word)
{
	static const char *const prefixes[] = { "bnd",    "notrack", "lock",     "rep",     "repz", "repnz",
						"cs",     "ds",      "es",       "ss",      "fs",   "gs",
						"data16", "addr32",  "xacquire", "xrelease" };
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strcmp(word, prefixes[i]) == 0)
			return true;
	return strncmp(word, "rex", 3) == 0;
}

/* "  ADDRESS:\tBYTES\tTEXT". False: another kind of line. */
static bool parse(const char *text, struct line *ret)
{
	char *end;
	int used;

	*ret = (struct line){ .address = strtoull(text, &end, 16) };
	if (*end != ':')
		return false;
	memset(ret->code, 0x90, sizeof(ret->code));
	for (text = end + 2; ret->len < LONGEST && isxdigit((unsigned char)*text); text += 3)
		ret->code[ret->len++] = (uint8_t)strtoul(text, NULL, 16);
	text = strchr(end + 2, '\t');
	if (!text)
		return false;
	do {
		if (sscanf(text, " %31s%n", ret->mnemonic, &used) != 1)
			return false;
		text += used;
	} while (is_prefix(ret->mnemonic));
	(void)sscanf(text, " %127s", ret->operands);
	return true;
}

static bool is_one_of(const char *word, const char *words)
{
	size_t len = strlen(word);
	const char *at;

	for (at = strstr(words, word); at; at = strstr(at + 1, word))
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static enum hl_flow_next next_of(const struct line *l)
{
	const char *m = l->mnemonic;

	if (is_one_of(m, "call lcall callw"))
		return HL_NEXT_CALL;
	if (is_one_of(m, "jmp ljmp jmpw"))
		return HL_NEXT_JUMP;
	if (is_one_of(m, "ret retw lret iret iretq sysret sysretl sysretq sysexit"))
		return HL_NEXT_RETURN;
	if (m[0] == 'j' || strncmp(m, "loop", 4) == 0 || strcmp(m, "xbegin") == 0)
		return HL_NEXT_BRANCH;
	if (is_one_of(m, "syscall sysenter int"))
		return HL_NEXT_SYSCALL;
	if (is_one_of(m, "hlt ud0 ud1 ud2 int3"))
		return HL_NEXT_NEVER;
	return HL_NEXT_STRAIGHT;
}

/* What an instruction that names the stack pointer, or uses it by its nature, adds to it. False: another one. */
static bool stack_of(const struct line *l, int64_t *ret)
{
	int used = 0;
	int64_t value;

	if (strcmp(l->mnemonic, "push") == 0 || strcmp(l->mnemonic, "pop") == 0) {
		*ret = l->mnemonic[1] == 'u' ? -8 : 8;
		return strlen(l->operands) == 4 && strcmp(l->operands, "%rsp") != 0;
	}
	if (sscanf(l->operands, "$0x%lx,%%rsp%n", (unsigned long *)&value, &used) != 1 || !used ||
	    l->operands[used])
		return false;
	*ret = strcmp(l->mnemonic, "sub") == 0 ? -value : value;
	return strcmp(l->mnemonic, "sub") == 0 || strcmp(l->mnemonic, "add") == 0;
}

struct counts {
	unsigned long all, by_next[HL_NEXT_NEVER + 1], targets, stacks;
};

static void compare(const struct line *l, struct counts *n)
{
	enum hl_flow_next next = next_of(l);
	struct hl_flow f;
	int64_t grows;
	bool is_direct;

	hl_insn_flow(HL_INSN_MODE_64, l->code, sizeof(l->code), l->address, &f);
	if (f.length != l->len || f.next != next)
		FAIL("0x%lx: %s %s: %u bytes, next %u; should be %zu, %u", l->address, l->mnemonic,
		     l->operands, f.length, f.next, l->len, next);
	n->all++;
	n->by_next[next]++;
	if (next == HL_NEXT_CALL || next == HL_NEXT_JUMP || next == HL_NEXT_BRANCH) {
		is_direct = l->operands[0] != '*';
		if (f.has_target != is_direct || (is_direct && f.target != strtoull(l->operands, NULL, 16)))
			FAIL("0x%lx: %s %s: goes to 0x%lx", l->address, l->mnemonic, l->operands, f.target);
		n->targets += is_direct;
	}
	if (stack_of(l, &grows)) {
		if (f.stack != HL_STACK_ADD || f.grows != grows)
			FAIL("0x%lx: %s %s: kind %u, %d", l->address, l->mnemonic, l->operands, f.stack,
			     f.grows);
		n->stacks++;
	}
}

HL_TEST_TIMEOUT(c_library, 120)
{
	static const char path[] = "/lib/x86_64-linux-gnu/libc.so.6";
	struct counts n = { 0 };
	char text[MAX_LINE], command[256];
	struct line l;
	FILE *f;

	(void)snprintf(command, sizeof(command), "objdump -d -w --insn-width=16 %s 2>/dev/null", path);
	f = popen(command, "r");
	CHECK(f);
	while (fgets(text, sizeof(text), f))
		if (parse(text, &l) && strcmp(l.mnemonic, "(bad)") != 0)
			compare(&l, &n);
	CHECK_INT(pclose(f), 0);
	NOTE("%lu instructions, %lu targets, %lu changes of the stack pointer", n.all, n.targets, n.stacks);
	CHECK(n.all > 300000 && n.targets > 50000 && n.stacks > 10000);
	for (int i = HL_NEXT_STRAIGHT; i <= HL_NEXT_NEVER; i++)
		CHECK(n.by_next[i] > 0);
}

static struct hl_flow flow_of(const char *code, size_t len)
{
	struct hl_flow f;

	hl_insn_flow(HL_INSN_MODE_64, (const uint8_t *)code, len, 0x1000, &f);
	return f;
}
#define FLOW(code) flow_of(code, sizeof(code) - 1)

HL_TEST(bytes_that_are_no_instruction)
{
	CHECK_INT(FLOW("\x06").length, 0);         /* not in 64-bit mode */
	CHECK_INT(FLOW("\xe8\x00\x00").length, 0); /* a call that is cut */
	CHECK_INT(flow_of("", 0).next, HL_NEXT_UNKNOWN);
}

HL_TEST(constants_in_rax)
{
	CHECK_INT(FLOW("\xb8\x38\x00\x00\x00").ax, 0x38); /* mov $56,%eax */
	CHECK_INT(FLOW("\xb8\x38\x00\x00\x00").ax_bytes, 8);
	CHECK_INT(FLOW("\x48\xc7\xc0\x0f\x00\x00\x00").ax_bytes, 8); /* mov $15,%rax */
	CHECK_INT(FLOW("\xb0\x38").ax_bytes, 1);                     /* mov $56,%al */
	CHECK_INT(FLOW("\xb4\x38").ax_bytes, 0);                     /* mov $56,%ah */
	CHECK_INT(FLOW("\x66\xb8\x38\x00").ax_bytes, 2);             /* mov $56,%ax */
	CHECK_INT(FLOW("\x31\xc0").ax_bytes, 8);                     /* xor %eax,%eax */
	CHECK_INT(FLOW("\x31\xc0").ax, 0);
	CHECK_INT(FLOW("\xbb\x38\x00\x00\x00").ax_bytes, 0); /* mov $56,%ebx */
	CHECK_INT(FLOW("\x89\xc8").ax_bytes, 0);             /* mov %ecx,%eax */
}
