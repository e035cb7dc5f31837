// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include <sched.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <hotleaf/abi.h>

#include "harness.h"
#include "tests/bpf/walk.skel.h"

static struct walk_bpf *skel;

static void set_up(void)
{
	cpu_set_t first;
	struct bpf_map *map;

	/* The programs share per-CPU state between runs. */
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
	skel = walk_bpf__open();
	CHECK(skel);
	/* The outer maps are described at run time; these tests need none. */
	bpf_object__for_each_map(map, skel->obj) if (bpf_map__type(map) == BPF_MAP_TYPE_ARRAY_OF_MAPS)(void)
		bpf_map__set_autocreate(map, false);
	if (walk_bpf__load(skel))
		FAIL("the programs do not load");
}

static int run(struct bpf_program *program, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t args[3] = { a, b, c };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	CHECK_INT(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	return (int)opts.retval;
}

/* Bytes in front of the return address, the nearest last; the seventh from the end comes first. */
static int follows(const char *hex)
{
	uint64_t bytes = 0;
	unsigned int byte;
	int n = 0;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += hex[2] ? 3 : 2)
		bytes |= (uint64_t)byte << (8 * n++);
	CHECK_INT(n, 7);
	return run(skel->progs.test_follows_call, bytes, 0, 0);
}

HL_TEST(every_form_of_a_call_is_known)
{
	set_up();
	CHECK(follows("90 90 e8 11 22 33 44")); /* call rel32 */
	CHECK(follows("90 90 90 90 90 ff d0")); /* call *%rax */
	CHECK(follows("90 90 90 90 41 ff d3")); /* call *%r11 */
	CHECK(follows("90 90 90 90 90 ff 10")); /* call *(%rax) */
	CHECK(follows("90 90 90 90 ff 50 08")); /* call *0x8(%rax) */
	CHECK(follows("90 90 90 90 ff 14 c8")); /* call *(%rax,%rcx,8) */
	CHECK(follows("90 90 90 ff 54 24 08")); /* call *0x8(%rsp) */
	CHECK(follows("90 ff 15 11 22 33 44")); /* call *0x44332211(%rip) */
	CHECK(follows("90 ff 90 11 22 33 44")); /* call *0x44332211(%rax) */
	CHECK(follows("ff 94 24 11 22 33 44")); /* call *0x44332211(%rsp) */
	CHECK(follows("ff 14 c5 11 22 33 44")); /* call *0x44332211(,%rax,8) */
}

HL_TEST(what_looks_like_a_call_is_none)
{
	set_up();
	CHECK(!follows("90 90 90 90 90 90 90"));
	CHECK(!follows("90 90 e9 11 22 33 44")); /* jmp */
	CHECK(!follows("90 90 90 90 90 ff e0")); /* jmp *%rax */
	CHECK(!follows("90 90 90 90 90 ff 30")); /* push (%rax) */
	CHECK(!follows("90 90 90 90 90 ff 15")); /* a call whose displacement is cut off */
	CHECK(!follows("90 90 90 90 90 ff 14")); /* a call whose SIB byte is cut off */
	CHECK(!follows("90 90 90 90 ff 14 c5")); /* base 5 without its displacement */
	CHECK(!follows("90 e8 11 22 33 44 55")); /* one byte behind a call's end */
	CHECK(!follows("90 90 90 90 48 89 e5"));
	CHECK(!follows("00 00 00 00 00 00 00"));
}

/*
 * What the code of @hex is at an address that is @odd behind a multiple of 16, behind byte @before. Its bytes are
 * what counts, not that it may be executed.
 */
static int placed(const char *hex, unsigned int odd, unsigned int before)
{
	static _Alignas(16) uint8_t code[64];
	unsigned int byte, n = odd;

	memset(code, 0x90, sizeof(code));
	for (; sscanf(hex, "%2x", &byte) == 1; hex += hex[2] ? 3 : 2)
		code[n++] = (uint8_t)byte;
	return run(skel->progs.test_placed_code, (uint64_t)(uintptr_t)code + odd, before, 0);
}

HL_TEST(code_that_nobody_calls_but_that_is_returned_to)
{
	enum { UNKNOWN, SIGNAL, START };

	set_up();
	CHECK_INT(placed("48 c7 c0 0f 00 00 00 0f 05", 0, 0x90), SIGNAL); /* mov $15,%rax; syscall */
	CHECK_INT(placed("b8 0f 00 00 00 0f 05", 3, 0), SIGNAL);          /* mov $15,%eax; syscall */
	CHECK_INT(placed("b8 0e 00 00 00 0f 05", 3, 0), UNKNOWN);
	CHECK_INT(placed("48 c7 c0 0f 00 00 00 0f 34", 0, 0), UNKNOWN);
	CHECK_INT(placed("e8 11 22 33 44 90", 1, 0x90), START);   /* runtime.goexit */
	CHECK_INT(placed("e8 11 22 33 44 90", 2, 0x90), UNKNOWN); /* not aligned */
	CHECK_INT(placed("e8 11 22 33 44 90", 1, 0xc3), UNKNOWN);
	CHECK_INT(placed("e8 11 22 33 44 c3", 1, 0x90), UNKNOWN);
	CHECK_INT(placed("48 89 dc 48 8b 3c 24", 0, 0x90), START); /* __start_context */
	CHECK_INT(placed("48 89 dc 5b 5d c3", 0, 0x90), UNKNOWN);
	CHECK_INT(run(skel->progs.test_placed_code, 8, 0x90, 0), UNKNOWN); /* not to be read */
}

static void set_word(unsigned int word, uint64_t value)
{
	(void)run(skel->progs.test_maple_slot, word, value, 0);
}

static int slot(uint64_t address, unsigned int pivots)
{
	return run(skel->progs.test_maple_slot, ~0ull, address, pivots);
}

HL_TEST(slots_of_a_maple_node)
{
	set_up();
	for (unsigned int i = 0; i < 32; i++)
		set_word(i, 0);
	/* A leaf with three pivots; its slots begin at word 16. */
	set_word(1, 0xfff);
	set_word(2, 0x1fff);
	set_word(3, 0x7fffffffffff);
	CHECK_INT(slot(0, 15), 16);
	CHECK_INT(slot(0xfff, 15), 16);
	CHECK_INT(slot(0x1000, 15), 17);
	CHECK_INT(slot(0x2000, 15), 18);
	CHECK_INT(slot(0x800000000000, 15), 19); /* behind the last pivot */
	/* A first pivot of zero is one: the tree of a mapping at address 0. */
	set_word(1, 0);
	CHECK_INT(slot(0, 15), 16);
	CHECK_INT(slot(1, 15), 17);
	/* A full node has one slot more than it has pivots. */
	for (unsigned int i = 1; i <= 15; i++)
		set_word(i, i * 0x1000);
	CHECK_INT(slot(0xf001, 15), 31);
	CHECK_INT(slot(0x9001, 9), 1 + 9 + 9);
}
