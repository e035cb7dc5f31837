// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record */

/*
 * Go's programs keep frame pointers; tables there are for those that were not stripped. With and without, each
 * stack must reach the start of its goroutine. By frame pointer the caller of a function that has no frame of its
 * own is missing.
 */

#include <stdio.h>

#include "harness.h"
#include "system/record.h"

static void check_goroutines(const char *flags, const char *caller)
{
	struct folded folded;
	char whole[256];
	uint64_t busy;

	if (shell("command -v go >/dev/null"))
		SKIP("there is no go (package golang-go)");
	must("export GO111MODULE=off GOFLAGS= HOME=${HOME:-/root} && go build -ldflags='%s' -o "
	     "'%sgoroutines' "
	     "tests/workload/goroutines.go",
	     flags, test_dir());
	folded = record("-F 997 -d 4 --leaf function -- '%sgoroutines' 4", test_dir());
	note_lines(&folded, "\\[unwind: ", 8);
	busy = sum_of(&folded, ";main\\.burn$") -
	       sum_of(&folded, "^goroutines;\\[unwind: no table yet\\];.*;main\\.burn$");
	CHECK(busy > 1000);
	(void)snprintf(
		whole, sizeof(whole),
		"^goroutines;runtime\\.goexit(\\.abi0)?;(runtime\\.main;main\\.main|main\\.main\\.func1);"
		"main\\.work;%smain\\.burn$",
		caller);
	check_at_least("stacks from the goroutine's start", sum_of(&folded, whole), busy, 0.99);
	folded_done(&folded);
}

HL_TEST(goroutines_from_their_start)
{
	check_goroutines("", "main\\.middle;");
}

HL_TEST(goroutines_of_a_stripped_program_from_their_start)
{
	check_goroutines("-s -w", "(main\\.middle;)?");
}
