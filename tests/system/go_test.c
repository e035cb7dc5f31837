// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */

/*
 * Go's programs keep frame pointers; tables there are for those that were not stripped. With and without, each
 * stack must reach the start of its goroutine. By frame pointer the caller of a function that has no frame of its
 * own is missing.
 */

#include <stdio.h>

#include "harness.h"
#include "shell.h"
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

/*
 * C runs on another stack than Go, and Go that C calls back on Go's again: what Go's compiler says of that leads
 * nowhere. Of the functions that cgo writes, only their names' beginnings are known.
 */
static void check_cgo(const char *flags, double least)
{
	static const char to_c[] = "main\\.main;main\\._Cfunc_%s(\\.abi0)?;runtime\\.cgocall;"
				   "runtime\\.asmcgocall(\\.abi0)?;(_cgo_[0-9a-f]+_Cfunc_%s;)?";
	static const char to_go[] = "backInGo;crosscall2;runtime\\.cgocallback(\\.abi0)?;([^;]*;)*"
				    "(main\\.backInGo;)?main\\.workInGo$";
	char way[512], whole[1024];
	struct folded folded;

	if (shell("command -v go >/dev/null && command -v gcc >/dev/null"))
		SKIP("there is no go (package golang-go), or no gcc");
	must("export GO111MODULE=off GOFLAGS= CGO_ENABLED=1 HOME=${HOME:-/root} && go build %s -o '%scgo' "
	     "tests/workload/cgo.go",
	     flags, test_dir());
	folded = record("-F 997 -d 4 --leaf function -- '%scgo' 4", test_dir());
	note_lines(&folded, ";(workInC|main\\.workInGo)$", 8);
	(void)snprintf(way, sizeof(way), to_c, "callInC", "callInC");
	(void)snprintf(whole, sizeof(whole),
		       "^cgo;runtime\\.goexit(\\.abi0)?;runtime\\.main;%s(callInC;)?workInC$", way);
	check_at_least("C that Go calls", sum_of(&folded, whole), sum_of(&folded, ";workInC$"), least);
	(void)snprintf(way, sizeof(way), to_c, "callBack", "callBack");
	(void)snprintf(whole, sizeof(whole),
		       "^cgo;runtime\\.goexit(\\.abi0)?;runtime\\.main;%s(callBack;)?%s", way, to_go);
	check_at_least("Go that C calls", sum_of(&folded, whole),
		       sum_of(&folded, ";main\\.workInGo$") - sum_of(&folded, ";inThread;.*main\\.workInGo$"),
		       least);
	(void)snprintf(whole, sizeof(whole),
		       "^cgo;(__)?clone3?;(start_thread|\\[libc[^;]*);inThread;(callBack;)?%s", to_go);
	check_at_least("Go in C's thread", sum_of(&folded, whole),
		       sum_of(&folded, ";inThread;.*main\\.workInGo$"), least);
	CHECK(sum_of(&folded, ";inThread;.*main\\.workInGo$") > 300);
	CHECK(sum_of(&folded, ";workInC$") > 300);
	folded_done(&folded);
}

HL_TEST(c_and_go_call_each_other)
{
	check_cgo("", 0.98);
}

HL_TEST(c_and_position_independent_go_call_each_other)
{
	check_cgo("-buildmode=pie", 0.98);
}

HL_TEST(goroutines_from_their_start)
{
	check_goroutines("", "main\\.middle;");
}

HL_TEST(goroutines_of_a_stripped_program_from_their_start)
{
	check_goroutines("-s -w", "(main\\.middle;)?");
}
