// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */

/*
 * Programs for whose code there is no call frame information: with musl's C library, linked with it, linked
 * into them, and stripped; and busybox, many programs in one, which tables of pointers lead to. Every stack must reach
 * the program's or the thread's start.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

static const char *build(const char *flags)
{
	static char path[256];

	if (shell("command -v musl-gcc >/dev/null"))
		SKIP("there is no musl-gcc (package musl-tools)");
	(void)snprintf(path, sizeof(path), "%smusl", test_dir());
	must("musl-gcc -O2 -fomit-frame-pointer %s tests/workload/musl.c -o '%s'", flags, path);
	return path;
}

/* Where threads begin and end, their stacks hold nothing: so many are seen there that one in 50 was cut. */
static void check_threads(const char *flags)
{
	struct folded folded = record("-F 997 -d 4 --leaf function -- %s 4 threads", build(flags));
	uint64_t user = sum_of(&folded, "^musl;") - sum_of(&folded, "\\[unwind: no table yet\\]");

	note_lines(&folded, "\\[unwind: ", 8);
	CHECK(user > 300 && sum_of(&folded, "^musl;[^;]*;?.*ret_from_fork") > 10);
	check_at_least("stacks to the start",
		       user - sum_of(&folded, "^musl;\\[unwind: (no frame pointer|no mapping|no call|fault)"),
		       user, 0.99);
	folded_done(&folded);
}

HL_TEST(threads_that_live_for_microseconds)
{
	check_threads("-static");
}

HL_TEST(threads_of_a_program_linked_with_the_library)
{
	check_threads("");
}

/* @main_, @thread: lines from the start of the program, and of a thread, to the workload's functions. */
static void check_stacks(const char *flags, const char *main_, const char *thread)
{
	struct folded folded = record("-F 499 -d 4 --leaf function -- %s 4", build(flags));
	/* What was sampled before the table came, and code that interrupts, says nothing about the table. */
	uint64_t user = sum_of(&folded, "^musl;") - sum_of(&folded, "^musl;(\\[irq\\]|entry_SYSCALL|asm_)") -
			sum_of(&folded, "\\[unwind: no table yet\\]");
	uint64_t in_main = sum_of(&folded, main_), in_thread = sum_of(&folded, thread);

	note_lines(&folded, "\\[unwind: ", 8);
	CHECK(user > 500 && in_main > 100 && in_thread > 100);
	check_at_least("stacks to the start",
		       user - sum_of(&folded, "^musl;\\[unwind: no (frame pointer|mapping|call)"), user,
		       0.99);
	/* Without names the two look alike. */
	check_at_least("stacks from main and from threads",
		       strcmp(main_, thread) ? in_main + in_thread : in_main, user, 0.95);
	folded_done(&folded);
}

HL_TEST(linked_into_the_program)
{
	check_stacks("-static", "^musl;_start;([^;]*start[^;]*;)*main;(do_|raise;)",
		     "^musl;__clone;start;run_thread;do_");
}

HL_TEST(linked_into_the_program_and_stripped)
{
	check_stacks("-static -s", "^musl;\\[musl\\+[^;]*;\\[musl\\+[^;]*;\\[musl\\+",
		     "^musl;\\[musl\\+[^;]*;\\[musl\\+[^;]*;\\[musl\\+");
}

/* What symbols tell of a program is what is found out where they are gone. */
HL_TEST(stripped_functions_gather_at_their_starts)
{
	const char *path = build("-static");
	struct folded folded;
	uint64_t all, right = 0;
	char *starts;

	starts = strdup(output_of(
		NULL,
		"nm '%s' | awk '$2 ~ /[tTwW]/ { sub(/^0*/, \"\", $1); print \"+0x\" $1 \"]\" }' | sort -u",
		path));
	must("strip '%s'", path);
	folded = record("-F 499 -d 4 --leaf function -- %s 4", path);
	all = sum_of(&folded, "\\[musl\\+0x[0-9a-f]+\\]( |$)");
	for (const char *s = starts, *end; (end = strchr(s, '\n')); s = end + 1) {
		char pattern[64];

		(void)snprintf(pattern, sizeof(pattern), "\\[musl\\%.*s\\]( |$)", (int)(end - s - 1), s);
		right += sum_of(&folded, pattern);
	}
	free(starts);
	CHECK(all > 300);
	check_at_least("leaves at the starts of functions", right, all, 0.95);
	folded_done(&folded);
}

HL_TEST(linked_with_the_library)
{
	check_stacks("", "^musl;_start;(\\[libc[^;]*;)*main;(do_|raise;)",
		     "^musl;\\[libc[^;]*;\\[libc[^;]*;run_thread;do_");
}

/* A shell never returns from its loop, and nothing but a table leads to it. */
HL_TEST(shell_of_busybox)
{
	struct folded folded;
	uint64_t user;

	if (shell("b=$(command -v busybox) && ! readelf -lSW \"$b\" | grep -qE 'INTERP|symtab'"))
		SKIP("there is no busybox that is static and stripped (package busybox-static)");
	folded = record("-F 499 --leaf function -- busybox sh -c "
			"'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'");
	user = sum_of(&folded, "^busybox;") - sum_of(&folded, "\\[unwind: no table yet\\]");
	note_lines(&folded, "\\[unwind: ", 8);
	CHECK(user > 100);
	check_at_least("stacks to the start", user - sum_of(&folded, "^busybox;\\[unwind: (no [fmc]|fault)"),
		       user, 0.98);
	folded_done(&folded);
}
