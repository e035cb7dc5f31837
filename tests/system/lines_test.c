// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <stdlib.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Inlined functions and lines in recordings, wherever the debug information is; level by level what is missing. */

enum { INNER_LOOP = 9 }; /* its line in tests/workload/inlined.c */

static struct folded record_inlined(const char *options, const char *program)
{
	return record("-F 499 -d 2 %s -- '%s%s' 30", options, test_dir(), program);
}

/* Of the samples in outer() nearly all have both inlined functions under it. */
static void check_inlined(const char *program)
{
	struct folded folded = record_inlined("--inlines", program);
	uint64_t all = sum_of(&folded, ";outer;"),
		 whole = sum_of(&folded, ";main;outer;middle_\\[i\\];inner_\\[i\\];[^;]+\\]$");

	note_lines(&folded, ";outer;", 3);
	CHECK(all > 100);
	check_at_least(program, whole, all, 0.95);
	check_account(&folded);
	folded_done(&folded);
}

/* Fails unless the head of the last recording, its lines joined, says so. */
static void check_said(const char *regex)
{
	must("tr -s '\\n ' ' ' <'%sout.txt' | grep -q \"%s\"", test_dir(), regex);
}

static void build(const char *program, const char *flags)
{
	must("cp tests/workload/inlined.c '%s' && cd '%s' && gcc -O2 -g %s -c inlined.c -o '%s.o' && gcc "
	     "'%s.o' -o '%s'",
	     test_dir(), test_dir(), flags, program, program, program);
}

HL_TEST(inlined_functions_are_frames_when_asked_for)
{
	struct folded folded;

	build("plain", "");
	check_inlined("plain");
	folded = record_inlined("", "plain");
	CHECK_INT(sum_of(&folded, "_\\[i\\]"), 0);
	CHECK(sum_of(&folded, ";main;outer;[^;]+\\]$") > 100);
	folded_done(&folded);
}

HL_TEST(lines)
{
	struct folded folded;
	uint64_t all;
	char regex[160];

	build("lined", "");
	folded = record_inlined("--inlines --lines", "lined");
	all = sum_of(&folded, ";outer at inlined\\.c:[0-9]+;");
	CHECK(all > 100);
	(void)snprintf(regex, sizeof(regex),
		       ";outer at inlined\\.c:21;middle at inlined\\.c:16_\\[i\\];inner at "
		       "inlined\\.c:(%d|%d)_\\[i\\];[^;]+\\]$",
		       INNER_LOOP, INNER_LOOP + 1);
	note_lines(&folded, ";outer at", 3);
	check_at_least("lines", sum_of(&folded, regex), all, 0.95);
	folded_done(&folded);
	folded = record_inlined("--lines", "lined");
	CHECK_INT(sum_of(&folded, "_\\[i\\]"), 0);
	CHECK(sum_of(&folded, ";outer at inlined\\.c:(9|10);[^;]+\\]$") > 100);
	folded_done(&folded);
}

HL_TEST(separate_debug_file)
{
	build("stripped", "");
	must("cd '%s' && objcopy --only-keep-debug stripped stripped.debug && strip stripped && objcopy "
	     "--add-gnu-debuglink=stripped.debug stripped",
	     test_dir());
	check_inlined("stripped");
}

HL_TEST(compressed_debug_information)
{
	build("compressed", "");
	must("cd '%s' && objcopy --compress-debug-sections=zstd compressed", test_dir());
	check_inlined("compressed");
}

HL_TEST(split_debug_information)
{
	struct folded folded;

	build("split", "-gsplit-dwarf");
	check_inlined("split");
	must("cd '%s' && rm split.dwo", test_dir());
	folded = record_inlined("--inlines", "split");
	CHECK_INT(sum_of(&folded, ";outer;middle"), 0);
	CHECK(sum_of(&folded, ";main;outer;[^;]+\\]$") > 100);
	check_said("not found, or are of another build: 1; the first is 'split.dwo'");
	folded_done(&folded);
}

/*
 * The second time from the cache; with a package of another build, not at all. DWARF 4, since dwp of binutils 2.40
 * crashes on some files of DWARF 5, and llvm-dwp 14 does not end.
 */
HL_TEST_TIMEOUT(packed_debug_information, 240)
{
	struct folded folded;

	build("packed", "-gdwarf-4 -gsplit-dwarf");
	must("cd '%s' && dwp -e packed -o packed.dwp && rm packed.dwo", test_dir());
	check_inlined("packed");
	check_inlined("packed");
	build("other", "-gdwarf-4 -gsplit-dwarf -DOTHER -O1");
	must("cd '%s' && dwp -e other -o packed.dwp && rm other.dwo", test_dir());
	folded = record_inlined("--inlines", "packed");
	CHECK_INT(sum_of(&folded, ";outer;middle"), 0);
	CHECK(sum_of(&folded, ";main;outer;[^;]+\\]$") > 100);
	check_said("not found, or are of another build: 1; the first is 'a part of the .dwp file'");
	folded_done(&folded);
}

HL_TEST(alternate_file_of_dwz)
{
	struct folded folded;

	build("one", "");
	must("cd '%s' && cp one two && dwz -L none -l none -m common -r one two && test -s common",
	     test_dir());
	check_inlined("one");
	/* Another one of that name is not believed. */
	build("three", "-DOTHER -O1");
	must("cd '%s' && cp three four && dwz -L none -l none -m common -r three four", test_dir());
	folded = record_inlined("--inlines", "one");
	check_said("not found, or are of another build: 1");
	folded_done(&folded);
}

/* A gigabyte of debug information in little: names stay, and the head says why there is no more. */
HL_TEST_TIMEOUT(bombs, 180)
{
	struct folded folded;

	build("bomb", "");
	must("cd '%s' && truncate -s 1G zeros && objcopy -g bomb && "
	     "objcopy --add-section .debug_info=zeros bomb big && "
	     "objcopy --compress-debug-sections=zstd big bomb && rm zeros big && chmod +x bomb && "
	     "test $(stat -c %%s bomb) -lt 2000000",
	     test_dir());
	folded = record_inlined("--inlines --debug-memory 512", "bomb");
	CHECK_INT(sum_of(&folded, ";outer;middle"), 0);
	CHECK(sum_of(&folded, ";main;outer;[^;]+\\]$") > 100);
	check_said("1 refused, the first .*bomb': .*'.debug_info' is longer than");
	folded_done(&folded);
}
