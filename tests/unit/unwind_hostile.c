// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample elf insn unwind tests/elfwriter tests/tabletext */

/*
 * Code without call frame information that was made to be dear to follow. It ends within the time and memory
 * that a test has, with a sound table or none; what was not looked at is counted.
 */

#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/err.h"
#include "elf/elf.h"
#include "elfwriter.h"
#include "harness.h"
#include "sample/unwind_table.h"
#include "tabletext.h"

enum { BIAS = 0x400000, TEXT = 0x401000, SIZE = 1 << 18, MEMORY = 512 << 20, SECONDS = 120 };

static uint8_t code[SIZE];
static uint64_t seed = 0x5eed;

static uint32_t next_random(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % below;
}

/* Fills the code with copies of what @len bytes at @bytes are, and puts a distance to anywhere at @distance. */
static void fill(const char *bytes, size_t len, size_t distance)
{
	size_t at;
	int32_t to;

	for (at = 0; at + len <= SIZE; at += len) {
		memcpy(code + at, bytes, len);
		to = (int32_t)next_random(SIZE) - (int32_t)(at + distance + 4);
		if (distance)
			memcpy(code + at + distance, &to, sizeof(to));
	}
}
#define FILL(bytes, distance) fill(bytes, sizeof(bytes) - 1, distance)

/* A sanitizer's shadow takes more address space than that. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit memory;

	CHECK(getrlimit(RLIMIT_AS, &memory) == 0);
	memory.rlim_cur = MEMORY;
	CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
#endif
}

/* @symbols: so many functions at random places. */
static void compile(unsigned int symbols)
{
	struct hl_unwind_result table = { 0 };
	struct hl_err err = { "" };
	struct elfwriter w;
	struct hl_elf *elf;
	unsigned int text;
	int r;

	ew_init(&w, true);
	text = ew_code(&w, ".text", TEXT - BIAS, TEXT, SIZE);
	ew_put(&w, TEXT - BIAS, code, SIZE);
	for (unsigned int i = 0; i < symbols; i++)
		(void)ew_symbol(&w, EW_SYMTAB, "f", STB_GLOBAL, STT_FUNC, text, TEXT + next_random(SIZE),
				next_random(SIZE));
	elf = ew_open(&w);
	limit_memory();
	r = hl_unwind_compile(elf, &table, &err);
	if (r < 0) {
		CHECK_INT(r, -ENODATA);
		NOTE("%s", err.text);
	} else {
		if (hl_unwind_check(table.bytes, table.len, &err) < 0)
			FAIL("%s", err.text);
		CHECK(table.derived + table.left_out <= table.uncovered);
		NOTE("of %llu bytes %llu derived, %llu left out", (unsigned long long)table.uncovered,
		     (unsigned long long)table.derived, (unsigned long long)table.left_out);
	}
	free(table.bytes);
	hl_elf_free(elf);
}

static void compile_both(void)
{
	compile(0);
	compile(100);
}

HL_TEST_TIMEOUT(random_bytes, SECONDS)
{
	for (size_t i = 0; i < SIZE; i++)
		code[i] = (uint8_t)next_random(256);
	compile_both();
}

HL_TEST_TIMEOUT(webs_of_branches, SECONDS)
{
	FILL("\x0f\x84\x00\x00\x00\x00", 2); /* je anywhere, into the middle of others mostly */
	compile_both();
	FILL("\x74\x7e", 0);
	compile_both();
	FILL("\x50\x0f\x84\x00\x00\x00\x00", 3); /* with another depth by each way */
	compile_both();
	FILL("\x0f\x05\x0f\x84\x00\x00\x00\x00\xc3", 4); /* behind system calls, which may not return */
	compile_both();
}

HL_TEST_TIMEOUT(jumps_into_themselves, SECONDS)
{
	FILL("\xeb\xff\xc0", 0);
	compile_both();
	FILL("\xe9\x00\x00\x00\x00", 1);
	compile_both();
}

HL_TEST_TIMEOUT(calls_of_everything, SECONDS)
{
	FILL("\xe8\xfb\xff\xff\xff", 0); /* of itself */
	compile_both();
	FILL("\xe8\x00\x00\x00\x00", 1);
	compile_both();
	FILL("\x48\x8d\x05\x00\x00\x00\x00\xff\xe0", 3); /* lea of anything; jmp *%rax */
	compile_both();
	FILL("\x53\xe8\x00\x00\x00\x00\x5b\xc3\x66\x90", 2);
	compile_both();
}

HL_TEST_TIMEOUT(depth_without_end, SECONDS)
{
	FILL("\x50", 0);
	compile_both();
	FILL("\x48\x81\xec\x00\x00\x00\x00", 3); /* sub $anything,%rsp */
	compile_both();
	FILL("\x75\x00\x48\x81\xec\x00\x00\x00\x00\xff\xe0", 5);
	compile_both();
}

HL_TEST_TIMEOUT(filling_without_end, SECONDS)
{
	size_t i;

	FILL("\x66\x90", 0);
	for (i = 0; i < SIZE / 2; i += 16)
		memcpy(code + i, "\xe9\x00\x00\x00\x00\xc3", 6);
	for (i = 0; i < SIZE / 2; i += 16) {
		int32_t to = (int32_t)(SIZE / 2 - i - 5);

		memcpy(code + i + 1, &to, sizeof(to));
	}
	memcpy(code + SIZE / 2, "\xff\xd0", 2); /* call *%rax, and then nothing but filling */
	compile_both();
	memset(code + SIZE / 2 + 2, 0, SIZE / 2 - 2);
	compile_both();
}

HL_TEST_TIMEOUT(switches_everywhere, SECONDS)
{
	FILL("\xff\xe0\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 0);
	compile_both();
	FILL("\x48\x8d\x0d\x00\x00\x00\x00\x74\x01\xc3\xff\xe0\x90\x90\x90\x90", 3);
	compile_both();
	FILL("\x48\x8d\x0d\x00\x00\x00\x00\xff\xd0\xff\xe1", 3);
	compile_both();
}
