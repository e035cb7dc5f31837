// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Files that have no name, another one, or several: what runs is named by what is in it. */

/* Mounts of a test end with the test. */
static void own_mounts(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespaces");
}

/* Records while the workload "deep" runs from @path, which is on disk when it starts, then @then is done. */
static struct folded record_file(const char *path, const char *then)
{
	pid_t pid = start("'%s' 600 3", path);
	struct folded folded;

	(void)usleep(300000);
	must("%s", then);
	folded = record("-F 499 -d 2");
	stop(pid);
	check_account(&folded);
	return folded;
}

static void check_deep(const struct folded *folded, const char *root, unsigned int programs)
{
	uint64_t all, named;
	char regex[160];

	(void)snprintf(regex, sizeof(regex), "^%s;.*[^k]\\]$", root);
	all = sum_of(folded, regex);
	(void)snprintf(regex, sizeof(regex),
		       "^%s;(.*;)?main;descend;descend;descend;bottom;[^;]+ \\[0x[0-9a-f]+\\]$", root);
	named = sum_of(folded, regex);
	CHECK(all > 20 * programs); /* a busy machine leaves little */
	check_at_least(root, named, all, 0.9);
}

HL_TEST(memfd_with_any_name)
{
	static const char *const names[] = { "app", "two words", "x (deleted)", ";a", "../../etc/passwd" };
	static const char *const roots[] = { "memfd:app", "memfd:two words", "memfd:x \\(delete",
					     "memfd:\\\\x3ba", "memfd:\\.\\./\\.\\./etc" };
	pid_t pids[5];
	struct folded folded;

	for (int i = 0; i < 5; i++) {
		char deep[256];

		(void)snprintf(deep, sizeof(deep), "%s", workload("deep"));
		pids[i] = start("%s %s '%s' 600 3", workload("memfd"), deep, names[i]);
	}
	(void)usleep(300000);
	folded = record("-F 999 -d 4");
	for (int i = 0; i < 5; i++)
		stop(pids[i]);
	for (int i = 0; i < 5; i++)
		check_deep(&folded, roots[i], 1);
	folded_done(&folded);
	/* The table names the module for what it is; one name stands for all five, whose content is equal. */
	CHECK_INT(shell("grep -q ' memfd:.* bottom' %sout.txt", test_dir()), 0);
	CHECK(shell("grep -q ' passwd ' %sout.txt", test_dir()) != 0);
}

HL_TEST(deleted_file)
{
	char path[128], then[192];
	struct folded folded;

	(void)snprintf(path, sizeof(path), "%sgone", test_dir());
	(void)snprintf(then, sizeof(then), "rm %s", path);
	must("cp %s %s", workload("deep"), path);
	folded = record_file(path, then);
	check_deep(&folded, "gone", 1);
	folded_done(&folded);
}

HL_TEST(deleted_file_with_another_in_its_place)
{
	char path[128], then[512];
	struct folded folded;

	(void)snprintf(path, sizeof(path), "%sreplaced", test_dir());
	must("cp %s %s", workload("deep"), path);
	(void)snprintf(then, sizeof(then), "rm %s && cp %s %s", path, workload("frames"), path);
	folded = record_file(path, then);
	check_deep(&folded, "replaced", 1);
	CHECK_INT(sum_of(&folded, "^replaced;.*;(handler_work|ask_time|variable_frame)"), 0);
	folded_done(&folded);
}

/* A library written over in place: processes that come later run other code at the same inode. */
HL_TEST(library_written_over)
{
	char flags[256], program[256];
	struct folded folded;
	pid_t first, second;

	(void)build_workload("libmore.so", "segments.c", "-DLIBRARY -fPIC -shared");
	(void)snprintf(flags, sizeof(flags), "-DWITH_LIBRARY -L%s -lmore", test_dir());
	strcpy(program, build_workload("program", "segments.c", flags));
	first = start("%s 600", program);
	must("sleep 0.5; cp %slibmore.so %sfirst.so", test_dir(), test_dir());
	/* The same code, by another name and not stripped of it: what runs goes on running. */
	must("objcopy --redefine-sym one_part_more=one_part_moar %slibmore.so %ssecond.so && "
	     "cat %ssecond.so >%slibmore.so",
	     test_dir(), test_dir(), test_dir(), test_dir());
	must("cp %sprogram %slater", test_dir(), test_dir());
	second = start("%slater 600", test_dir());
	(void)usleep(300000);
	folded = record("-F 499 -d 2");
	stop(first);
	stop(second);
	check_account(&folded);
	/* Both run what is in the file now; its names are those of now. */
	CHECK(sum_of(&folded, "^(program|later);.*;one_part_moar;") > 5);
	CHECK_INT(sum_of(&folded, "^(program|later);.*;one_part_more;"), 0);
	folded_done(&folded);
}

HL_TEST(one_file_in_two_overlays_and_a_copy)
{
	const char *dir = test_dir();
	struct folded folded;
	pid_t pids[3];

	own_mounts();
	must("mount -t tmpfs none %s && cd %s && mkdir lower && for i in 1 2; do mkdir $i upper$i work$i; "
	     "done",
	     dir, dir);
	must("cp %s %slower/layered", workload("deep"), dir);
	for (int i = 1; i <= 2; i++)
		if (shell("mount -t overlay -o lowerdir=%slower,upperdir=%supper%d,workdir=%swork%d none "
			  "%s%d 2>/dev/null",
			  dir, dir, i, dir, i, dir, i))
			SKIP("no overlay file systems");
	must("mkdir %s3 && cp %slower/layered %s3/layered", dir, dir, dir);
	for (int i = 0; i < 3; i++)
		pids[i] = start("%s%d/layered 600 3", dir, i + 1);
	(void)usleep(300000);
	folded = record("-F 499 -d 3");
	for (int i = 0; i < 3; i++)
		stop(pids[i]);
	check_account(&folded);
	check_deep(&folded, "layered", 3);
	folded_done(&folded);
}

/* Two file systems made in the same way: inode, size and times of their files may be equal. */
HL_TEST(two_file_systems_of_equal_content)
{
	static const char *const programs[] = { "deep", "frames" };
	const char *dir = test_dir();
	struct folded folded;
	pid_t pids[2];

	own_mounts();
	if (shell("command -v mkfs.ext2 >/dev/null"))
		SKIP("no mkfs.ext2");
	for (int i = 0; i < 2; i++) {
		must("dd if=/dev/zero of=%simage%d bs=1M count=4 2>/dev/null && mkfs.ext2 -q -U "
		     "00000000-0000-0000-0000-000000000001 %simage%d && mkdir %s%d",
		     dir, i, dir, i, dir, i);
		if (shell("mount -o loop %simage%d %s%d 2>/dev/null", dir, i, dir, i))
			SKIP("no loop devices or no ext2");
		must("cp %s %s%d/twin && truncate -s 200000 %s%d/twin && touch -d @1000000000 %s%d/twin",
		     workload(programs[i]), dir, i, dir, i, dir, i);
	}
	/* Equal inode, size and time, different devices: two files. */
	CHECK_STR(output_of(NULL, "stat -c '%%i %%s %%Y' %s0/twin %s1/twin | uniq | wc -l", dir, dir), "1\n");
	pids[0] = start("%s0/twin 600 3", dir);
	pids[1] = start("%s1/twin 600 signal", dir);
	(void)usleep(300000);
	folded = record("-F 499 -d 3");
	for (int i = 0; i < 2; i++)
		stop(pids[i]);
	check_account(&folded);
	CHECK(sum_of(&folded, "^twin;(.*;)?main;descend;descend;descend;bottom;") > 20);
	CHECK(sum_of(&folded, "^twin;(.*;)?main;interrupted;(.*;)?handler_work;") > 20);
	folded_done(&folded);
}

/*
 * Below a root of its own, or with another file system over the path, a process runs what is called like
 * another program outside; and outside that runs, too.
 */
static void check_decoy(const char *how, const char *name)
{
	const char *dir = test_dir();
	struct folded folded;
	pid_t inside, outside;
	char command[512];

	(void)snprintf(command, sizeof(command), how, dir, dir);
	inside = start("unshare --mount sh -c '%s'", command);
	outside = start("%s%s 600 signal", dir, name);
	(void)usleep(500000);
	folded = record("-F 499 -d 3");
	stop(inside);
	stop(outside);
	check_account(&folded);
	CHECK(sum_of(&folded, "^decoy;(.*;)?main;descend;descend;descend;bottom;") > 20);
	CHECK(sum_of(&folded, "^decoy;(.*;)?main;interrupted;(.*;)?handler_work;") > 20);
	CHECK_INT(sum_of(&folded, "^decoy;(.*;)?(bottom;.*handler_work|handler_work;.*bottom)"), 0);
	folded_done(&folded);
}

static void build_static(const char *path, const char *source)
{
	must("gcc -O2 -g -static -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -pthread "
	     "tests/workload/%s.c -o %s%s",
	     source, test_dir(), path);
}

HL_TEST(decoy_below_a_root_of_its_own)
{
	char inside[256];

	own_mounts();
	must("mkdir -p %sroot%s", test_dir(), test_dir());
	build_static("decoy", "frames");
	(void)snprintf(inside, sizeof(inside), "root%sdecoy", test_dir());
	build_static(inside, "deep");
	check_decoy("exec chroot %sroot %sdecoy 600 3", "decoy");
}

HL_TEST(decoy_under_another_mount)
{
	own_mounts();
	must("mkdir %splace %sother", test_dir(), test_dir());
	build_static("place/decoy", "frames");
	build_static("other/decoy", "deep");
	check_decoy("mount --bind %1$sother %1$splace && exec %2$splace/decoy 600 3", "place/decoy");
}

HL_TEST(file_renamed_to_anothers_name)
{
	char path[128], then[512];
	struct folded folded;

	(void)snprintf(path, sizeof(path), "%srenamed", test_dir());
	must("cp %s %s", workload("deep"), path);
	(void)snprintf(then, sizeof(then), "mv %s %saway && cp %s %s", path, test_dir(), workload("frames"),
		       path);
	folded = record_file(path, then);
	check_deep(&folded, "renamed", 1);
	CHECK_INT(sum_of(&folded, "^renamed;.*;(handler_work|ask_time|variable_frame)"), 0);
	folded_done(&folded);
}

/* ---- code in anonymous memory, as for huge pages -------------------------------------------------------- */

/* The stack of the workload "remap" that runs at @program; its rest is the instruction. */
#define MOVED_STACK ";_start;([^;]+;)*main;call_moved_work;moved_work;[^;]+ \\[0x[0-9a-f]+\\]$"

static struct folded record_moved(const char *program, const char *how)
{
	pid_t pid = start("%s 600 %s", program, how);
	struct folded folded;

	(void)usleep(300000);
	folded = record("-F 499 -d 2 -p %d", (int)pid);
	stop(pid);
	check_account(&folded);
	note_lines(&folded, "^[^;]*;.*[^k]\\]$", 2);
	CHECK(sum_of(&folded, "^[^;]*;.*[^k]\\]$") > 20);
	return folded;
}

static const char *without_frame_pointers(void)
{
	return build_workload("remap", "remap.c", "-fomit-frame-pointer -momit-leaf-frame-pointer");
}

/* Whole, and the same as where nothing was moved. */
static void check_moved(const char *program, const char *how)
{
	struct folded folded = record_moved(program, how), left;
	uint64_t all = sum_of(&folded, "^remap;.*[^k]\\]$"), both = 0;

	check_at_least("whole stacks", sum_of(&folded, MOVED_STACK), all, 0.95);
	left = record_moved(program, "none");
	for (size_t i = 0; i < folded.n; i++)
		for (size_t k = 0; k < left.n; k++)
			if (strcmp(folded.lines[i].stack, left.lines[k].stack) == 0)
				both += folded.lines[i].count;
	/* To the instruction. */
	check_at_least("stacks that occur in both", both, folded.total, 0.8);
	folded_done(&folded);
	folded_done(&left);
}

HL_TEST(page_moved_to_anonymous_memory)
{
	check_moved(without_frame_pointers(), "part");
}

HL_TEST(segment_moved_to_anonymous_memory)
{
	check_moved(without_frame_pointers(), "all");
}

HL_TEST(segment_of_another_distance_moved)
{
	if (shell("command -v ld.lld >/dev/null"))
		SKIP("no lld");
	check_moved(build_workload("remap", "remap.c",
				   "-fomit-frame-pointer -momit-leaf-frame-pointer -fuse-ld=lld"),
		    "all");
}

/* Then it is not the file's code, whatever it looks like: no frame is made up. */
HL_TEST(segment_changed_where_it_was_moved_to)
{
	struct folded folded = record_moved(without_frame_pointers(), "changed");

	CHECK_INT(sum_of(&folded, ";(main|call_moved_work|moved_work);"), 0);
	folded_done(&folded);
}

HL_TEST(another_program_after_code_was_moved)
{
	char then[256];
	struct folded folded;
	uint64_t all;

	(void)snprintf(then, sizeof(then), "all %s 600 20", workload("deep"));
	folded = record("-F 499 -d 2 -- %s 600 %s", without_frame_pointers(), then);
	all = sum_of(&folded, ";bottom;");
	CHECK(all > 100);
	check_at_least("whole stacks", sum_of(&folded, "^deep;_start;([^;]+;)+main;(descend;){20}bottom;"),
		       all, 0.9);
	CHECK_INT(sum_of(&folded, "^deep;.*moved_work"), 0);
	folded_done(&folded);
}

HL_TEST(large_pages_of_node)
{
	static const char script[] =
		"const c=require('crypto');for(;;)c.pbkdf2Sync('a','b',20000,32,'sha512')";
	struct folded folded;
	uint64_t all;

	if (shell("node --use-largepages=on -e 0 2>&1 | grep -q .; [ $? -eq 1 ]"))
		SKIP("node has no large pages here");
	/* It is asked about 0, 0.25 and 0.75 s after it began; a busy host takes as long to move the code. */
	folded = record("-F 499 -d 8 -- node --use-largepages=on -e \"%s\"", script);
	all = sum_of(&folded, "^node;.*[^k]\\]$");
	note_lines(&folded, "^node;", 3);
	CHECK(all > 100);
	check_at_least("whole stacks", all - sum_of(&folded, "^node;\\[(unwind|truncated)"), all, 0.8);
	folded_done(&folded);
}

/* What is called as a mark of ours is called is no mark. */
HL_TEST(program_called_like_a_mark)
{
	struct folded folded;

	must("cp %s '%s[irq]'", workload("deep"), test_dir());
	folded = record("-F 499 -d 1 -- '%s[irq]' 60 3", test_dir());
	CHECK_INT(sum_of(&folded, "^\\[irq\\]"), 0);
	check_deep(&folded, "\\\\x5birq\\]", 1);
	folded_done(&folded);
}

/*
 * A container as a runtime makes one: its root is an overlay, and it has namespaces of its own. Its made code
 * has a map in its own /tmp; outside, another one lies at the same path.
 */
HL_TEST(container_of_runc)
{
	const char *dir = test_dir();
	struct folded folded;
	pid_t runc;

	own_mounts();
	if (shell("command -v runc >/dev/null"))
		SKIP("no runc");
	must("mount -t tmpfs none %s && mkdir -p %slower/bin %slower/tmp %slower/proc %supper %swork "
	     "%srootfs",
	     dir, dir, dir, dir, dir, dir, dir);
	build_static("lower/bin/jit", "jit");
	must("mount -t overlay -o lowerdir=%slower,upperdir=%supper,workdir=%swork none %srootfs", dir, dir,
	     dir, dir);
	must("cd %s && runc spec && python3 - <<'END'\n"
	     "import json\n"
	     "spec = json.load(open(\"config.json\"))\n"
	     "spec[\"process\"].update(terminal=False, rlimits=[], args=\"/bin/jit 600 contained "
	     "map\".split())\n"
	     "spec[\"root\"][\"readonly\"] = False\n"
	     "spec[\"linux\"].pop(\"resources\", None)\n"
	     "json.dump(spec, open(\"config.json\", \"w\"))\n"
	     "END",
	     dir);
	runc = start("runc --root %sstate run -b %s hotleaf-test-%d", dir, dir, (int)getpid());
	(void)sleep(2);
	must("echo 123400000000 1000 decoy >/tmp/perf-1.map");
	folded = record("-F 499 -d 2");
	(void)shell("rm -f /tmp/perf-1.map; runc --root %sstate kill hotleaf-test-%d KILL", dir,
		    (int)getpid());
	(void)sleep(1);
	stop(runc);
	check_account(&folded);
	note_lines(&folded, "^jit;.*contained", 2);
	CHECK(sum_of(&folded, "^jit;(.*;)?main;(.*;)?call_made_code;contained outer_\\[j\\];contained "
			      "inner_\\[j\\];") > 20);
	CHECK_INT(sum_of(&folded, "decoy"), 0);
	folded_done(&folded);
}

HL_TEST(what_runs_already_has_its_tables_from_the_first_sample_on)
{
	/* A large table, of code without frame pointers. */
	pid_t pid = start("/usr/bin/python3 -c 'while True: sorted(str(i) for i in range(1000))'");
	struct folded folded;

	(void)usleep(500000);
	folded = record("-p %d -F 4999 -d 0.5", (int)pid);
	stop(pid);
	note_lines(&folded, "no table yet", 5);
	CHECK(folded.total > 50);
	CHECK_INT(sum_of(&folded, "no table yet"), 0);
	folded_done(&folded);
}
