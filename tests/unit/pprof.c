// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile render tests/profiles */
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "render/render.h"

#include "harness.h"
#include "profiles.h"

/* What a decoder that shares no code with the writer (tests/pprof) makes of its output. */
static const char *decoded(const struct hl_profile *p, bool instruction_lines)
{
	static char text[1 << 20];
	struct hl_render_options options = { .instruction_lines = instruction_lines };
	struct hl_err err = { "" };
	char path[] = "/tmp/hl-pprof-XXXXXX", command[128];
	FILE *f = fdopen(mkstemp(path), "w"), *decoder;
	size_t n;

	CHECK(f);
	if (hl_writer_pprof.write(p, &options, f, &err))
		FAIL("%s", err.text);
	CHECK(fclose(f) == 0);
	(void)snprintf(command, sizeof(command), "tests/pprof %s", path);
	decoder = popen(command, "r");
	CHECK(decoder);
	n = fread(text, 1, sizeof(text) - 1, decoder);
	text[n] = '\0';
	CHECK_INT(pclose(decoder), 0);
	(void)unlink(path);
	return text;
}

static void has(const char *text, const char *line)
{
	_cleanup_str_ struct hl_str want = { 0 };

	hl_str_addf(&want, "\n%s\n", line);
	if (!strstr(text, want.data))
		FAIL("no line \"%s\" in\n%s", line, text);
}

/* A program with two executable segments of different deltas, as lld and BOLT make them. */
static void add_binary(struct hl_profile *p)
{
	static const struct hl_segment segments[] = { { 0x1040, 0x40, 0x2000 },
						      { 0x8000100, 0x3100, 0x500 } };
	const struct hl_binary binary = { .id = { 1, 1 },
					  .build_id = (const uint8_t *)"\x01\xab\xff",
					  .build_id_len = 3,
					  .segments = segments,
					  .n_segments = 2 };

	CHECK_INT(hl_profile_add_binary(p, &binary), 0);
}

static struct hl_profile *sample_profile(const char *unit)
{
	static struct hl_profile_meta meta = { .host = "web-1",
					       .kernel = "6.18.5",
					       .version = "0.1.0",
					       .event = "cpu-clock",
					       .frequency = 99,
					       .start_ns = 1796040000000000000,
					       .end_ns = 1796040060500000000 };
	struct hl_profile *p = hl_profile_new();
	uint32_t app = profiles_named(p, HL_FRAME_ROOT, "app"),
		 kt = profiles_named(p, HL_FRAME_ROOT, "[kernel threads]");
	uint32_t mains = profiles_function(p, HL_FRAME_USER, 0x1100, "main");
	uint32_t far = profiles_function(p, HL_FRAME_USER, 0x8000180, "far");
	uint32_t inl = profiles_function(p, HL_FRAME_INLINED, 0x1108, "skip<int>(char)");
	uint32_t jit = profiles_named(p, HL_FRAME_JIT, "Lfoo;bar()"),
		 irq = profiles_named(p, HL_FRAME_MARK, "[irq]");
	uint32_t sys = profiles_function(p, HL_FRAME_KERNEL, 0xffffffff81000100, "do_syscall_64");
	uint32_t imul = profiles_insn(p, 0x1110, 0x10, 1, "imul $0x3,%rax,%rdx");
	uint32_t jbe = profiles_insn(p, 0x8000190, 0x10, 3, "jbe 11d0 <a+0x40>");
	uint32_t mov = profiles_insn(p, 0xffffffff81000110, 0x10, 2, "mov %rax,(%rdi)");

	add_binary(p);
	meta.unit = unit;
	profiles_add(p, (uint32_t[]){ app, mains, far, jbe }, 4, 9);
	profiles_add(p, (uint32_t[]){ app, mains, inl, imul }, 4, 3);
	profiles_add(p, (uint32_t[]){ app, mains, inl, far, jbe }, 5, 2);
	profiles_add(p, (uint32_t[]){ app, mains, jit }, 3, 4);
	profiles_add(p, (uint32_t[]){ kt, app, irq, sys, mov }, 5, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	hl_profile_set_meta(p, &meta);
	return p;
}

HL_TEST(one_location_an_address)
{
	struct hl_profile *p = sample_profile("nanoseconds");
	const char *text = decoded(p, false);

	CHECK(hl_starts_with(text, "types samples/count cpu/nanoseconds default cpu\n"));
	has(text, "period cpu/nanoseconds 10101010");
	has(text, "time 1796040000000000000 60500000000");
	/* A segment is mapped at its link address: address - start + offset is where it lies. */
	has(text, "mapping 1 8000100-8000600 3100 /usr/sbin/app FNL 01abff");
	has(text, "main@3:1100;far@1:8000190 | comm=app insn=jbe 11d0 <a+0x40> class=branch offset=16bytes "
		  "9/90000000");
	has(text, "main>skip<int>(char)@3:1110 | comm=app insn=imul $0x3,%rax,%rdx class=load offset=16bytes "
		  "3/30000000");
	has(text, "main>skip<int>(char)@3:1108;far@1:8000190 | comm=app insn=jbe 11d0 <a+0x40> class=branch "
		  "offset=16bytes "
		  "2/20000000");
	has(text, "main@3:1100;Lfoo;bar()@4:0 | comm=app 4/40000000");
	has(text, "[irq]@5:0;do_syscall_64@2:ffffffff81000110 | root=[kernel threads] comm=app "
		  "insn=mov %rax,(%rdi) class=store offset=16bytes 1/10000000");
	has(text, "mapping 3 1040-3040 40 /usr/sbin/app FNLI 01abff");
	has(text, "mapping 4 0-1000 0 [jit] FNL ");
	has(text, "mapping 5 0-1000 0 [hotleaf] FNL ");
	has(text, "mapping 2 ffffffff81000000-ffffffffc0000000 0 [kernel.kallsyms] FNL ");
	has(text, "comment host     web-1, kernel 6.18.5");
	has(text, "comment lost     none");
	hl_profile_free(p);
}

HL_TEST(the_instruction_is_the_innermost_line)
{
	struct hl_profile *p = sample_profile("nanoseconds");
	const char *text = decoded(p, true);

	has(text, "main@3:1100;far>jbe 11d0 <a+0x40> [0x8000190]@1:8000190 | comm=app insn=jbe 11d0 <a+0x40> "
		  "class=branch offset=16bytes 9/90000000");
	has(text, "main>skip<int>(char)>imul $0x3,%rax,%rdx [0x1110]@3:1110 | comm=app "
		  "insn=imul $0x3,%rax,%rdx class=load offset=16bytes 3/30000000");
	hl_profile_free(p);
}

HL_TEST(cycles_are_no_time)
{
	struct hl_profile *p = sample_profile("cycles");
	const char *text = decoded(p, false);

	CHECK(hl_starts_with(text, "types samples/count cycles/count default cycles\n"));
	has(text, "period cycles/count 10000000");
	hl_profile_free(p);
}

HL_TEST(nothing_sampled)
{
	struct hl_profile *p = hl_profile_new();

	CHECK_INT(hl_profile_finish(p), 0);
	has(decoded(p, false), "mapping 1 0-1000 0 [hotleaf] FNL ");
	hl_profile_free(p);
}

HL_TEST(deep_and_without_frames)
{
	struct hl_profile *p = hl_profile_new();
	static uint32_t stack[30000];
	const char *text;

	for (size_t i = 0; i < 30000; i++)
		stack[i] = profiles_function(p, HL_FRAME_USER, 0x1000 + i % 7, i % 7 ? "f" : "g");
	profiles_add(p, stack, 30000, 1);
	profiles_add(p, stack, 0, 5);
	CHECK_INT(hl_profile_finish(p), 0);
	text = decoded(p, false);
	has(text, " | 5/50000000");
	CHECK(strstr(text, ";f@1:1001;f@1:1002;"));
	hl_profile_free(p);
}

/* A file that no symbol table was read from: addresses are offsets, and stay that. */
HL_TEST(a_file_that_was_not_opened)
{
	struct hl_profile *p = hl_profile_new();
	struct hl_frame frame = { .kind = HL_FRAME_USER,
				  .address = 0x5123,
				  .name = "[gone+0x5123]",
				  .name_len = 13,
				  .module = "/usr/bin/gone",
				  .module_len = 13 };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	profiles_add(p, &index, 1, 1);
	CHECK_INT(hl_profile_finish(p), 0);
	has(decoded(p, false), "mapping 1 5000-6000 5000 /usr/bin/gone FNL ");
	hl_profile_free(p);
}
