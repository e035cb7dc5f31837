// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Code that is made while it runs: who calls it what, and for whom. */

/* Starts "jit SECONDS NAME WORD…" in the test's directory. */
static pid_t start_jit(const char *arguments)
{
	return start("env -C %s \"$(realpath %s)\" %s", test_dir(), workload("jit"), arguments);
}

static void end_jit(pid_t pid)
{
	stop(pid);
	(void)shell("rm -f /tmp/perf-%d.map", (int)pid);
}

/* Both functions, each under its caller, are called @name for nearly all of the samples in made code. */
static void check_named(const struct folded *folded, const char *root, const char *name)
{
	char regex[256];
	uint64_t all;

	(void)snprintf(regex, sizeof(regex), "^%s;.*;call_made_code;.*\\[0x12340000[0-9a-f]+\\]$", root);
	all = sum_of(folded, regex);
	(void)snprintf(regex, sizeof(regex),
		       "^%s;.*;call_made_code;%s outer_\\[j\\];%s inner_\\[j\\];[^;]+ "
		       "\\[0x12340000020[0-9a-f]\\]$",
		       root, name, name);
	note_lines(folded, ";call_made_code;", 2);
	CHECK(all > 20);
	check_at_least(name, sum_of(folded, regex), all, 0.97);
}

static void check_names_of(const char *arguments, const char *name)
{
	pid_t pid = start_jit(arguments);
	struct folded folded;

	(void)usleep(300000);
	folded = record("-F 499 -d 2 -p %d", (int)pid);
	end_jit(pid);
	check_account(&folded);
	check_named(&folded, "jit", name);
	folded_done(&folded);
}

HL_TEST(names_of_a_perf_map)
{
	check_names_of("60 'my own' map", "my own");
}

HL_TEST(names_of_a_jitdump)
{
	check_names_of("60 dumped dump", "dumped");
}

HL_TEST(lines_of_a_jitdump)
{
	pid_t pid = start_jit("60 lined dump lines");
	struct folded folded;
	uint64_t all;

	(void)usleep(300000);
	folded = record("-F 499 -d 2 -p %d --lines", (int)pid);
	end_jit(pid);
	all = sum_of(&folded, ";lined inner_\\[j\\];");
	CHECK(all > 20);
	check_at_least("called in line 77",
		       sum_of(&folded, ";lined outer at outer.x:77_\\[j\\];lined inner_\\[j\\];[^;]+$"), all,
		       0.97);
	folded_done(&folded);
}

HL_TEST(names_of_a_deleted_jitdump)
{
	pid_t pid = start_jit("60 gone dump");
	struct folded folded;

	(void)usleep(300000);
	must("rm %sjit-*.dump", test_dir());
	folded = record("-F 499 -d 2 -p %d", (int)pid);
	end_jit(pid);
	check_named(&folded, "jit", "gone");
	folded_done(&folded);
}

HL_TEST(names_when_the_first_thread_has_ended)
{
	check_names_of("60 orphaned map orphan", "orphaned");
}

HL_TEST(jitdump_when_the_first_thread_has_ended)
{
	check_names_of("60 orphaned dump orphan", "orphaned");
}

/* Two processes run the same code at the same address, and call it by different names. */
HL_TEST(one_address_in_two_processes)
{
	pid_t first, second, third;
	struct folded folded;

	must("cp %s %sjit-a && cp %s %sjit-b && cp %s %sjit-c", workload("jit"), test_dir(), workload("jit"),
	     test_dir(), workload("jit"), test_dir());
	first = start("%sjit-a 60 first map", test_dir());
	second = start("env -C %s ./jit-b 60 second dump", test_dir());
	third = start("%sjit-c 60 third", test_dir());
	(void)usleep(300000);
	folded = record("-F 499 -d 3");
	end_jit(first);
	end_jit(second);
	end_jit(third);
	check_account(&folded);
	check_named(&folded, "jit-a", "first");
	check_named(&folded, "jit-b", "second");
	CHECK(sum_of(&folded, "^jit-c;.*;call_made_code;\\[jit\\]_\\[j\\];\\[jit\\]_\\[j\\];") > 20);
	CHECK_INT(sum_of(&folded, "^jit-c;.*(first|second|third)"), 0);
	folded_done(&folded);
}

/* Without names there is one frame a call, not one an address. */
HL_TEST(code_without_names)
{
	pid_t pid = start_jit("60 unheard");
	struct folded folded;
	uint64_t all;

	(void)usleep(300000);
	folded = record("-F 999 -d 2 -p %d", (int)pid);
	end_jit(pid);
	all = sum_of(&folded, ";call_made_code;.*\\[0x1234[0-9a-f]+\\]$");
	CHECK(all > 50);
	CHECK_INT(
		sum_of(&folded,
		       ";call_made_code;\\[jit\\]_\\[j\\];(\\[jit\\]_\\[j\\];)?[^;]+ \\[0x1234[0-9a-f]+\\]$"),
		all);
	CHECK_INT(sum_of(&folded, "jit\\+0x"), 0);
	folded_done(&folded);
}

/* The process is gone, and its file too, when names are looked up. */
HL_TEST(process_that_has_ended)
{
	struct folded folded = record("-F 499 -- %s 3 ended map remove", workload("jit"));

	check_account(&folded);
	check_named(&folded, "jit", "ended");
	folded_done(&folded);
}

/* What comes while it is recorded, its last line torn at first, names what was sampled before, too. */
HL_TEST(names_that_come_late)
{
	struct folded folded = record("-F 499 -- %s 4 tardy map late remove", workload("jit"));

	check_named(&folded, "jit", "tardy");
	folded_done(&folded);
}

/* One address, two instructions: each sample shows the one that it hit. */
static void check_rewritten(const char *words, const char *frame)
{
	struct folded folded = record("-F 499 -- %s 4 again rewrite remove %s", workload("jit"), words);
	char regex[256];
	uint64_t dec, loop;

	(void)snprintf(regex, sizeof(regex), ";%s;dec %%ecx \\[0x[0-9a-f]*20d\\]$", frame);
	dec = sum_of(&folded, regex);
	(void)snprintf(regex, sizeof(regex), ";%s;loop [^;]* \\[0x[0-9a-f]*20d\\]$", frame);
	loop = sum_of(&folded, regex);
	note_lines(&folded, ";call_made_code;", 3);
	CHECK(dec > 20);
	CHECK(loop > 20);
	folded_done(&folded);
}

HL_TEST(code_rewritten_in_anonymous_memory)
{
	check_rewritten("map", "again inner_\\[j\\]");
}

HL_TEST(code_rewritten_through_a_second_mapping)
{
	check_rewritten("map dual", "again inner_\\[j\\]");
}

HL_TEST(code_rewritten_in_a_private_mapping_of_a_file)
{
	check_rewritten("file", "\\[memfd:doublemapper\\+0x[0-9a-f]+\\]");
}

static bool says_lost(const char *text)
{
	/* A note may be wrapped. */
	return shell("tr -s ' \\n' ' ' <%sout.txt | grep -q 'names of generated code that are lost: .*%s'",
		     test_dir(), text) == 0;
}

/* What is lost of the names is said in the header. */
HL_TEST(names_that_are_lost)
{
	pid_t pid = start_jit("60 kept map");
	struct folded folded;

	(void)usleep(300000);
	must("printf 'nonsense\\n1234 5\\n123400000300 10 to' >>/tmp/perf-%d.map", (int)pid);
	folded = record("-F 499 -d 2 -p %d", (int)pid);
	end_jit(pid);
	check_named(&folded, "jit", "kept");
	CHECK(says_lost("2 are damaged, 1 files end in a record that is not whole (18 bytes not read)"));
	folded_done(&folded);
}

/* ---- whose file it is ---------------------------------------------------------------------------------- */

/* The pid of the workload that `unshare --fork` has started. */
static pid_t child_of(pid_t parent)
{
	pid_t child = 0;

	for (int i = 0; i < 50 && !child; i++) {
		(void)usleep(100000);
		child = (pid_t)strtol(output_of(NULL, "pgrep -P %d", (int)parent), NULL, 10);
	}
	CHECK(child > 0);
	return child;
}

/* In a container the process has another number and another /tmp; decoys lie where the host would look. */
HL_TEST(names_of_a_container)
{
	static const char decoy[] = "123400000000 1000 decoy";
	struct folded folded;
	pid_t outside, inside;

	if (geteuid() != 0)
		SKIP("needs root");
	if (shell("unshare --fork --pid --mount true"))
		SKIP("no namespaces");
	outside = start("unshare --fork --kill-child --pid --mount sh -c 'mount -t tmpfs none /tmp && "
			"exec %s 60 contained map'",
			workload("jit"));
	inside = child_of(outside);
	must("echo %s >/tmp/perf-1.map && echo %s >/tmp/perf-%d.map", decoy, decoy, (int)inside);
	folded = record("-F 499 -d 2 -p %d", (int)inside);
	stop(outside);
	must("rm /tmp/perf-1.map /tmp/perf-%d.map", (int)inside);
	check_named(&folded, "jit", "contained");
	CHECK_INT(sum_of(&folded, "decoy"), 0);
	folded_done(&folded);
}

/* Runs the workload below a root of its own, in which @before prepares /tmp/perf-1.map. */
static struct folded record_in_root(const char *before)
{
	const char *dir = test_dir();
	struct folded folded;
	pid_t outside, inside;

	if (geteuid() != 0)
		SKIP("needs root");
	if (shell("unshare --fork --pid --mount true"))
		SKIP("no namespaces");
	must("mkdir -p %sroot/tmp && cd %sroot && gcc -O2 -g -static -fno-omit-frame-pointer "
	     "-mno-omit-leaf-frame-pointer -pthread $OLDPWD/tests/workload/jit.c -o jit && %s",
	     dir, dir, before);
	outside = start("unshare --fork --kill-child --pid --mount chroot %sroot /jit 60 mine", dir);
	inside = child_of(outside);
	folded = record("-F 499 -d 2 -p %d", (int)inside);
	stop(outside);
	check_account(&folded);
	return folded;
}

static void check_refused(const char *before, bool is_there)
{
	struct folded folded = record_in_root(before);

	CHECK(sum_of(&folded, "^jit;.*;\\[jit\\]_\\[j\\];\\[jit\\]_\\[j\\];") > 20);
	CHECK_INT(sum_of(&folded, "stolen"), 0);
	CHECK_INT(says_lost("1 files are no regular ones, or another user"), is_there);
	folded_done(&folded);
}

HL_TEST(map_that_is_a_fifo)
{
	check_refused("mkfifo tmp/perf-1.map", true);
}

HL_TEST(map_that_is_a_device)
{
	check_refused("mknod tmp/perf-1.map c 1 5", true);
}

HL_TEST(map_of_another_user)
{
	check_refused("echo 123400000000 1000 stolen >tmp/perf-1.map && chown 12345 tmp/perf-1.map", true);
}

HL_TEST(map_that_leads_out_of_the_root)
{
	check_refused("echo 123400000000 1000 stolen >../outside && ln -s /proc/1/root$PWD/../outside "
		      "tmp/perf-1.map",
		      false);
	check_refused("ln -sf ../../../../../../../..$PWD/../outside tmp/perf-1.map", false);
}

HL_TEST(map_by_a_link_inside_the_root)
{
	struct folded folded = record_in_root("mkdir -p deep && "
					      "printf '123400000000 b linked outer\\n123400000200 13 linked "
					      "inner\\n' >deep/names && ln -s /deep/names tmp/perf-1.map");

	check_named(&folded, "jit", "linked");
	folded_done(&folded);
}

/* ---- node ---------------------------------------------------------------------------------------------- */

static void check_node(const char *option)
{
	struct folded folded;
	uint64_t all, named;

	if (shell("command -v node >/dev/null"))
		SKIP("no node");
	must("cat >%shot.js <<'END'\n"
	     "function innerHot(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 1103515245 + 12345) %% "
	     "2147483648; return x; }\n"
	     "function outerCall(n) { return innerHot(n) + innerHot(n + 1); }\n"
	     "const end = Date.now() + 6000;\n"
	     "while (Date.now() < end) outerCall(100000);\n"
	     "END",
	     test_dir());
	folded = record("-F 499 -- sh -c 'cd %s && exec node %s hot.js'", test_dir(), option);
	(void)shell("cd /tmp && grep -l '%shot.js' perf-*.map 2>/dev/null | xargs -r rm", test_dir());
	check_account(&folded);
	all = sum_of(&folded, "^node;.*_\\[j\\];[^;]+ \\[0x[0-9a-f]+\\]$");
	named = sum_of(&folded, ";[^;]*\\*innerHot [^;]*hot.js[^;]*_\\[j\\];[^;]+ \\[0x[0-9a-f]+\\]$");
	note_lines(&folded, "innerHot", 1);
	CHECK(all > 100);
	check_at_least("named by the function", named, all, 0.9);
	folded_done(&folded);
}

HL_TEST(node_with_a_perf_map)
{
	check_node("--perf-basic-prof");
}

HL_TEST(node_with_a_jitdump)
{
	check_node("--perf-prof");
}
