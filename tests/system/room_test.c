// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <string.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Unwind tables that do not fit into the memory that they may have. */

/* A compiler at work, over and over: its table alone takes more than 1 MiB, and it keeps no frame pointers. */
static pid_t start_compiler(void)
{
	must("for i in $(seq 300); do echo \"int f$i(int x, int *p) { for (int i = 0; i < x; i++) p[i] += x "
	     "* $i; "
	     "return p[x]; }\"; done >%ssource.c",
	     test_dir());
	return start(
		"sh -c 'while :; do $(gcc -print-prog-name=cc1) -quiet -O2 %ssource.c -o /dev/null; done'",
		test_dir());
}

static uint64_t count_marked(const struct folded *folded, const char *mark)
{
	uint64_t n = 0;

	for (size_t i = 0; i < folded->n; i++)
		if (strstr(folded->lines[i].stack, mark))
			n += folded->lines[i].count;
	return n;
}

HL_TEST(tables_without_room_are_said_in_stacks_and_header)
{
	pid_t compiler = start_compiler();
	struct folded folded = record("-e cpu-clock -d 3 -F 499 --unwind-memory 1");
	uint64_t marked = count_marked(&folded, "[unwind: table dropped]");

	NOTE("%llu of %llu samples", (unsigned long long)marked, (unsigned long long)folded.total);
	CHECK(marked > 0);
	must("tr -s ' \\n' '  ' <%sout.txt | grep -q 'found no room below --unwind-memory'", test_dir());
	folded_done(&folded);
	/* With room, there is nothing to say. */
	folded = record("-e cpu-clock -d 3 -F 499");
	CHECK_INT(count_marked(&folded, "[unwind: table dropped]"), 0);
	CHECK(shell("grep -q 'found no room' %sout.txt", test_dir()) != 0);
	folded_done(&folded);
	stop(compiler);
}
