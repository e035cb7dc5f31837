// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Files that anybody may start on a host that is profiled: names and contents meant to do harm. */

enum { MOST = 64 };

/* Lines of a command's output, borrowed from it. */
static size_t split(char *text, char **lines)
{
	size_t n = 0;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		CHECK(n < MOST);
		lines[n++] = line;
	}
	return n;
}

/* Samples of the function at @start to @end of the program "hostile", by the address of the leaf. */
static uint64_t sum_between(const struct folded *folded, unsigned long start, unsigned long end)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < folded->n; i++) {
		const char *stack = folded->lines[i].stack, *at = strrchr(stack, '[');
		unsigned long address = at && strncmp(at, "[0x", 3) == 0 ? strtoul(at + 1, NULL, 16) : 0;

		if (address >= start && address < end && strstr(stack, ";call_one;"))
			sum += folded->lines[i].count;
	}
	return sum;
}

/* What every format promises, whatever the names are. */
static void check_outputs(void)
{
	must("python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); "
	     "assert not d.getElementsByTagName(\"script\") and d.getElementsByTagName(\"rect\")' %sout.svg",
	     test_dir());
	must("python3 -c 'import sys, re; d = open(sys.argv[1], \"rb\").read().decode(\"utf-8\"); "
	     "assert not re.search(\"alert\\\\(|onload\", d) and not "
	     "re.search(\"[\\x00-\\x08\\x0b-\\x1f\\x7f\\x9b]\", d)' "
	     "%sout.html",
	     test_dir());
	must("python3 -c 'import sys, re; d = open(sys.argv[1], \"rb\").read().decode(\"utf-8\"); "
	     "assert not re.search(\"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202e]\", d)' %sout.txt",
	     test_dir());
	must("python3 -c 'import sys, re; d = open(sys.argv[1], \"rb\").read().decode(\"utf-8\"); "
	     "assert not re.search(\"[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202e]\", d); "
	     "s = [l.rsplit(\" \", 1) for l in d.splitlines()]; "
	     "assert all(len(p) == 2 and p[1].isdigit() and len(p[0]) < 50000 for p in s); "
	     "t = [p[0] for p in s if \";call_one;\" in p[0]]; assert t and len(set(t)) == len(t)' "
	     "%sout.folded",
	     test_dir());
}

HL_TEST_TIMEOUT(names_of_functions, 120)
{
	char *lines[MOST];
	struct folded folded;
	size_t n;
	uint64_t all, part;

	n = split(strdup(output_of(NULL, "python3 tests/workload/hostile.py %s", test_dir())), lines);
	CHECK(n > 30);
	folded = record("-F 1999 -d 4 -o %sout.html -o %sout.svg -- %shostile 60", test_dir(), test_dir(),
			test_dir());
	check_outputs();
	check_account(&folded);
	all = sum_of(&folded, "^hostile;.*;call_one;");
	CHECK(all > 1000);
	for (size_t i = 0; i < n; i++) {
		char *after;
		unsigned long start = strtoul(lines[i], &after, 16), size = strtoul(after, NULL, 16);

		CHECK(size > 0);
		/* They take turns in a fixed order, which the clock may fall in step with. */
		part = sum_between(&folded, start, start + size);
		check_at_least("one of the functions", part, all, 0.5 / (double)n);
		check_at_least("the others", all - part, all, 1 - 2.0 / (double)n);
	}
	/* A function called main is not the main that calls it. */
	CHECK(sum_of(&folded, ";main;call_one;main;[^;]+$") > 0);
	CHECK(sum_of(&folded, ";main;call_one;a\\\\x3bb\\\\x3bc;[^;]+$") > 0);
	folded_done(&folded);
}

static const char *const file_names[] = { "two\nlines",     "\"quotes' and <tags> &amp;",
					  "app (deleted)",  "[vdso]",
					  "no\xff\xfeutf8", "a;b 7" };

HL_TEST_TIMEOUT(names_of_files, 120)
{
	struct folded folded;
	pid_t pids[6];
	uint64_t all;

	must("python3 tests/workload/hostile.py %s >/dev/null", test_dir());
	for (int i = 0; i < 6; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			char path[256];

			(void)snprintf(path, sizeof(path), "%s%s", test_dir(), file_names[i]);
			(void)execl(path, path, "600", (char *)NULL);
			_exit(1);
		}
	}
	folded = record("-F 999 -d 4 -o %sout.html -o %sout.svg", test_dir(), test_dir());
	for (int i = 0; i < 6; i++)
		stop(pids[i]);
	check_outputs();
	check_account(&folded);
	all = sum_of(&folded, ";call_one;");
	CHECK(all > 300);
	/* None is taken for a deleted file or for the vDSO: all have their names. */
	check_at_least("named", sum_of(&folded, ";main;call_one;"), all, 0.97);
	CHECK_INT(sum_of(&folded, ";call_one;\\[[^;]*\\+0x[0-9a-f]+\\];"), 0);
	CHECK(sum_of(&folded, "^app \\(deleted\\);") > 0);
	/* A process may be called as a mark of ours: then its bracket is written as a number. */
	CHECK_INT(sum_of(&folded, "^\\[vdso\\];"), 0);
	CHECK(sum_of(&folded, "^\\\\x5bvdso\\];") > 0);
	folded_done(&folded);
}

HL_TEST_TIMEOUT(damaged_programs_beside_a_healthy_one, 150)
{
	char *lines[MOST], regex[256];
	pid_t pids[MOST], healthy;
	struct folded folded;
	const char *said;
	int status;
	size_t n;
	uint64_t all;

	if (geteuid() != 0)
		SKIP("needs root");
	n = split(strdup(output_of(NULL, "python3 tests/workload/damage.py %s", test_dir())), lines);
	CHECK(n > 20);
	for (size_t i = 0; i < n; i++) {
		char *blank = strchr(lines[i], ' ');

		CHECK(blank);
		*blank = '\0';
		lines[i] = strcmp(blank + 1, "names") == 0 ? lines[i] : strcat(lines[i], "!");
		pids[i] = start("%s%.*s", test_dir(), (int)strcspn(lines[i], "!"), lines[i]);
	}
	healthy = start("%shealthy", test_dir());
	said = output_of(
		&status,
		"timeout 120 nice -n -10 sh -c '%s record -F 999 -e cpu-clock -d 5 -o %sout.folded -o "
		"%sout.txt; echo status $?; grep -h VmHWM /proc/$$/status' & wait $!",
		hotleaf(), test_dir(), test_dir());
	for (size_t i = 0; i < n; i++)
		stop(pids[i]);
	stop(healthy);
	CHECK(strncmp(said, "status 0\n", 9) == 0);
	(void)snprintf(regex, sizeof(regex), "%sout.folded", test_dir());
	folded = read_folded(regex);
	check_account(&folded);
	all = sum_of(&folded, "^healthy;");
	CHECK(all > 20);
	check_at_least("the healthy program's names",
		       sum_of(&folded, "^healthy;_start;health_start;health_stem;health_leaf;"), all, 0.9);
	for (size_t i = 0; i < n; i++) {
		bool intact = !strchr(lines[i], '!');
		int len = (int)strcspn(lines[i], "!");

		(void)snprintf(regex, sizeof(regex), "^%.*s;_start;health_start;health_stem;health_leaf;",
			       len, lines[i]);
		all = sum_of(&folded, regex);
		if (intact && !all)
			FAIL("no names of '%s'", lines[i]);
		/* What cannot be named is called by its own file. */
		(void)snprintf(regex, sizeof(regex), "^%.*s;.*\\+0x[0-9a-f]+\\];", len, lines[i]);
		all = sum_of(&folded, regex);
		(void)snprintf(regex, sizeof(regex), "^%.*s;(.*;)?\\[%.*s\\+0x[0-9a-f]+\\];[^;]+$", len,
			       lines[i], len, lines[i]);
		if (sum_of(&folded, regex) != all)
			FAIL("'%s' is called by another file's name", lines[i]);
	}
	folded_done(&folded);
}
