// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Where code lies in a file, and where a stack leads through it. */

#define FRAMELESS "-fPIC -shared -fomit-frame-pointer -momit-leaf-frame-pointer"

/* Shares and callers of the workload "segments". */
static void check_segments(const char *program, int parts)
{
	struct folded folded = record("-F 999 -d 2 -- %s 60", program);
	uint64_t all = sum_of(&folded, ";(one_part|three_parts|one_part_more);[^;]+ \\[0x[0-9a-f]+\\]$");
	uint64_t apart = sum_of(&folded, ";three_parts;");

	note_lines(&folded, ";three_parts;", 1);
	CHECK(all > 300);
	check_at_least("samples in the three functions", all, sum_of(&folded, "^program;"), 0.9);
	check_share("three_parts", apart, all, 3.0 / parts);
	check_share("one_part", sum_of(&folded, ";one_part;"), all, 1.0 / parts);
	check_at_least("callers of three_parts", sum_of(&folded, ";main;caller_apart;three_parts;"), apart,
		       0.97);
	check_at_least("callers of one_part", sum_of(&folded, ";main;one_part;"),
		       sum_of(&folded, ";one_part;"), 0.97);
	folded_done(&folded);
}

static void segments(const char *flags)
{
	check_segments(build_workload("program", "segments.c", flags), 4);
}

HL_TEST(segments_as_linked_by_default)
{
	segments("");
}

HL_TEST(segments_of_two_deltas)
{
	segments("-Wl,--section-start=.apart=0x4800000");
}

HL_TEST(segments_shared_with_data)
{
	segments("-Wl,-z,noseparate-code -Wl,-z,max-page-size=0x200000");
}

HL_TEST(segments_at_a_high_base)
{
	segments("-no-pie -Wl,-Ttext-segment=0x10000000");
}

HL_TEST(segments_linked_by_lld)
{
	if (shell("command -v ld.lld >/dev/null"))
		SKIP("no lld");
	segments("-fuse-ld=lld -no-pie -Wl,--image-base=0x3000000");
}

/* Another library at the same place leaves the number and the size of the mappings as they were. */
HL_TEST(library_where_another_one_was)
{
	struct folded folded;
	uint64_t all;

	(void)build_workload("libfirst.so", "reload.c", "-DLIBRARY=first -DFRAME=256 " FRAMELESS);
	(void)build_workload("libother.so", "reload.c", "-DLIBRARY=other -DFRAME=1024 " FRAMELESS);
	folded = record("-F 1999 -d 2 -- %s 60 libfirst.so libother.so",
			build_workload("program", "reload.c", ""));
	all = sum_of(&folded, ";(first|other|work);([^;]*;)?[^;]+ \\[0x[0-9a-f]+\\]$");
	note_lines(&folded, ";(first|other);", 4);
	CHECK(all > 300);
	check_at_least("whole stacks",
		       sum_of(&folded, ";main;use;work;((first|other);)?[^;]+ \\[0x[0-9a-f]+\\]$"), all,
		       0.97);
	folded_done(&folded);
}

HL_TEST(library_with_a_high_link_address)
{
	char flags[256];

	(void)build_workload("libmore.so", "segments.c",
			     "-DLIBRARY -fPIC -shared -Wl,-Ttext-segment=0x3100000000");
	(void)snprintf(flags, sizeof(flags), "-DWITH_LIBRARY -L%s -lmore", test_dir());
	check_segments(build_workload("program", "segments.c", flags), 5);
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

/* Frames above bottom, in the workload "deep": descend by depth, main, two of libc, _start. */
enum { AROUND = 4, LIMIT = 64 };

static void check_depth(unsigned int depth, unsigned int limit)
{
	struct folded folded =
		record("-F 499 -d 1 --max-depth %u -- %s 60 %u", limit, workload("deep"), depth);
	uint64_t all = sum_of(&folded, ";bottom;[^;]+ \\[0x[0-9a-f]+\\]$");
	uint64_t cut =
		sum_of(&folded, "^deep;\\[truncated\\];([^;]*start[^;]*;)*(main;)?(descend;)+bottom;[^;]+$");

	CHECK(all > 50);
	/* Until the unwind table of libc is there, stacks end at main and are not cut. */
	if (depth + AROUND <= limit) {
		char whole[96];

		(void)snprintf(whole, sizeof(whole), "^deep;_start;([^;]+;)+main;(descend;){%u}bottom;",
			       depth);
		check_at_least("whole stacks", sum_of(&folded, whole), all, 0.8);
		CHECK_INT(cut, 0);
	} else {
		check_at_least("stacks marked as cut", cut, all, 0.8);
	}
	/* Nothing but the process stands at the root. */
	CHECK_INT(sum_of(&folded, "^deep;(.*;)?bottom;[^;]+ \\[0x[0-9a-f]+\\]$"), all);
	for (size_t i = 0; i < folded.n; i++) {
		size_t frames = 1;

		for (const char *c = folded.lines[i].stack; *c; c++)
			frames += *c == ';';
		if (strstr(folded.lines[i].stack, ";bottom;") && !strstr(folded.lines[i].stack, "_[k]"))
			CHECK(frames <= limit + 4); /* root, mark, function and instruction of the leaf */
	}
	folded_done(&folded);
}

HL_TEST(recursion_of_one)
{
	check_depth(1, LIMIT);
}

HL_TEST(recursion_one_below_the_limit)
{
	check_depth(LIMIT - AROUND - 1, LIMIT);
}

HL_TEST(recursion_at_the_limit)
{
	check_depth(LIMIT - AROUND, LIMIT);
	check_depth(LIMIT - AROUND + 1, LIMIT);
}

HL_TEST(recursion_at_the_limit_of_limits)
{
	check_depth(512 - AROUND, 512);
}

HL_TEST(recursion_beyond_the_limit)
{
	check_depth(1000, LIMIT);
	check_depth(1000, 512);
}

/* More different stacks than a sampler sees twice: each is kept, none becomes another. */
HL_TEST(sixteen_thousand_stacks)
{
	struct folded folded = record("-F 1999 -d 3 -- %s 60 14 wide", workload("deep"));
	uint64_t all = sum_of(&folded, ";wander;"), bottom;

	bottom = sum_of(&folded,
			";wander;fork_in_road;((left|right);fork_in_road;){14}[^;]+ \\[0x[0-9a-f]+\\]$");
	CHECK(all > 500);
	check_at_least("stacks of full depth", bottom, all, 0.9);
	check_account(&folded);
	CHECK(folded.n > all / 2);
	folded_done(&folded);
}

static struct folded record_frames(const char *mode)
{
	return record("-F 499 -d 2 -- %s 60 %s", workload("frames"), mode);
}

static void check_frames(const char *mode, const char *leaf, const char *stack)
{
	struct folded folded = record_frames(mode);
	uint64_t all = sum_of(&folded, leaf);

	note_lines(&folded, leaf, 1);
	CHECK(all > 100);
	check_at_least("samples in the leaf", all, sum_of(&folded, "^frames;"), 0.5);
	check_at_least("whole stacks", sum_of(&folded, stack), all, 0.97);
	folded_done(&folded);
}

HL_TEST(vdso_under_its_caller)
{
	/* The vDSO's own functions keep no frame pointer, so a caller may be missing above them. */
	check_frames("vdso", "(__vdso_clock_gettime|\\[vdso\\+0x[0-9a-f]+\\]);",
		     ";main;(ask_time;)?([^;]*clock_gettime[^;]*;)?(__vdso_clock_gettime|\\[vdso\\+0x[0-9a-f]"
		     "+\\]);");
}

HL_TEST(signal_handler_under_what_it_interrupted)
{
	check_frames("signal", ";handler_work;", ";main;interrupted;__restore_rt;on_signal;handler_work;");
}

HL_TEST(signal_handler_on_its_own_stack)
{
	check_frames("altstack", ";handler_work;", ";main;interrupted;__restore_rt;on_signal;handler_work;");
}

HL_TEST(signal_handlers_in_signal_handlers)
{
	check_frames("nested", ";handler_work;",
		     ";main;interrupted;(__restore_rt;on_nested;){4}handler_work;");
}

HL_TEST(signal_handler_with_an_end_of_its_own)
{
	check_frames("restorer", ";handler_work;", ";main;interrupted;own_restorer;on_signal;handler_work;");
}

HL_TEST(context_with_a_stack_of_its_own)
{
	check_frames("context", ";handler_work;", "^frames;__start_context;in_context;handler_work;");
}

HL_TEST(child_of_vfork_on_its_parents_stack)
{
	check_frames("vfork", ";handler_work;", "^frames;(.*;)?main;parent_of_vfork;handler_work;");
}

/* It holds its return address in a register while the kernel works, with nothing of its own on the stack. */
HL_TEST(vfork_itself_under_its_caller)
{
	struct folded folded = record("-F 1999 -d 2 -- %s 60 vforks", workload("frames"));
	uint64_t all = sum_of(&folded, ";(__)?vfork(@@[^;]*)?;.*_\\[k\\]");

	CHECK(all > 10);
	check_at_least("whole stacks", sum_of(&folded, ";main;many_vforks;(__)?vfork(@@[^;]*)?;.*_\\[k\\]"),
		       all, 0.97);
	folded_done(&folded);
}

static void check_borrowed(const char *mode, const char *stack)
{
	struct folded folded = record("-F 499 -d 2 -- %s 60 %s", workload("borrowed"), mode);
	uint64_t all = sum_of(&folded, ";work;");

	note_lines(&folded, ";work;", 1);
	CHECK(all > 100);
	check_at_least("right stacks", sum_of(&folded, stack), all, 0.97);
	CHECK_INT(sum_of(&folded, "never_runs"), 0);
	folded_done(&folded);
}

HL_TEST(stack_that_was_switched_to)
{
	check_borrowed("stack", "^borrowed;_start;.*;main;caller;on_stack;work;");
}

HL_TEST(frame_pointer_that_is_lost)
{
	check_borrowed("register", "^borrowed;\\[unwind: bad frame\\];caller;with_register;work;");
}

HL_TEST(return_address_of_zero_that_is_none)
{
	check_borrowed("lie", "^borrowed;\\[unwind: no mapping\\];with_lie;work;");
}

/* Without the program's own walk, the kernel passes on what it finds there. */
HL_TEST(frame_of_zeros_in_the_kernels_walk)
{
	struct folded folded = record("--kernel-walk -F 499 -d 1 -- %s 60 zeros", workload("borrowed"));

	CHECK(sum_of(&folded, "^borrowed;") > 50);
	folded_done(&folded);
}

HL_TEST(recursion_below_a_limit_of_three)
{
	struct folded folded = record("-F 499 -d 1 --max-depth 3 -- %s 60 20", workload("deep"));
	uint64_t all = sum_of(&folded, "^deep;.*;bottom;");

	CHECK(all > 50);
	check_at_least("marked stacks", sum_of(&folded, "^deep;\\[truncated\\];(descend;){3}bottom;"), all,
		       0.97);
	folded_done(&folded);
}

HL_TEST(frames_of_variable_size)
{
	check_frames("alloca", ";variable_frame;", ";main;variable_frames;variable_frame;");
}

/* The dynamic loader binds a function when it is first called, in a frame that only rbx leads out of. */
HL_TEST(lazy_binding_under_its_caller)
{
	struct folded folded;
	uint64_t all;

	must("cd %s && seq 2000 | sed 's/.*/void many&(void) {}/' > many.c && "
	     "gcc -shared -fPIC -o libmany.so many.c && "
	     "{ seq 2000 | sed 's/.*/void many&(void);/'; echo 'int main(void) {'; "
	     "seq 2000 | sed 's/.*/many&();/'; echo '}'; } > user.c && "
	     "gcc -fomit-frame-pointer -Wl,-z,lazy user.c -o user -L. -lmany -Wl,-rpath,$PWD",
	     test_dir());
	folded = record("-F 1999 -d 2 -- sh -c 'while :; do %suser; done'", test_dir());
	all = sum_of(&folded, ";_dl_runtime_resolve[^;]*;_dl_fixup;");
	note_lines(&folded, ";_dl_fixup;", 2);
	CHECK(all > 20);
	check_at_least("whole stacks", sum_of(&folded, ";main;_dl_runtime_resolve[^;]*;_dl_fixup;"), all,
		       0.97);
	folded_done(&folded);
}

static void check_plt(const char *flags)
{
	char with_library[256];
	const char *program;
	struct folded folded;
	uint64_t stub, all;

	(void)build_workload("libtiny.so", "plt.c", "-DLIBRARY -fPIC -shared");
	(void)snprintf(with_library, sizeof(with_library), "-DCALLER -L%s -ltiny %s", test_dir(), flags);
	program = build_workload("program", "plt.c", with_library);
	folded = record("-F 1999 -d 2 -- %s 60", program);
	stub = sum_of(&folded, ";tiny@plt;");
	all = sum_of(&folded, ";(tiny@plt|tiny|call_often);");
	note_lines(&folded, ";tiny@plt;", 2);
	CHECK(stub > 10);
	/* The stub has no frame of its own: its caller may be missing, another is never named. */
	check_at_least("the stub below main", sum_of(&folded, ";main;(call_often;)?tiny@plt;[^;]+$"), stub,
		       0.97);
	check_at_least("named samples", all, sum_of(&folded, "^program;"), 0.9);
	CHECK_INT(sum_of(&folded, ";_init;"), 0);
	folded_done(&folded);
}

HL_TEST(stubs_of_the_linkage_table)
{
	check_plt("-Wl,-z,lazy");
}

HL_TEST(stubs_of_the_linkage_table_with_branch_tracking)
{
	check_plt("-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt");
}

/* Without frame pointers the leaf is right; callers are right, or missing and marked, but never invented. */
HL_TEST(no_frame_pointers)
{
	const char *program =
		build_workload("program", "deep.c", "-fomit-frame-pointer -momit-leaf-frame-pointer");
	struct folded folded = record("-F 499 -d 2 -- %s 60 20", program);
	uint64_t all = sum_of(&folded, ";bottom;");

	CHECK(all > 100);
	check_at_least("leaf", all, sum_of(&folded, "^program;"), 0.95);
	check_at_least("marked or whole",
		       sum_of(&folded, "^program;(\\[unwind: [^;]+\\];|.*main;(descend;){20})bottom;"), all,
		       1);
	/* The leaf has no frame at all. */
	check_at_least("whole", sum_of(&folded, "^program;_start;.*main;(descend;){20}bottom;"), all, 0.97);
	CHECK_INT(sum_of(&folded, ";(left|right|wander|fork_in_road);(.*;)?bottom;"), 0);
	folded_done(&folded);
}
