// SPDX-License-Identifier: BSD-2-Clause
/* needs: tests/system/record tests/shell */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"
#include "system/record.h"

/* Bad use: one clear line, the right exit status, no half file. */

static void expect(int want_status, const char *want_text, const char *fmt, const char *argument)
{
	char command[1024];
	const char *said;
	int status;

	(void)snprintf(command, sizeof(command), fmt, argument);
	said = output_of(&status, "%s", command);
	if (status != want_status)
		FAIL("status %d instead of %d: %s: %s", status, want_status, command, said);
	if (!strstr(said, want_text))
		FAIL("\"%s\" is not in: %s", want_text, said);
	if (strchr(said, '\n') != said + strlen(said) - 1)
		FAIL("not one line: %s", said);
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
}

HL_TEST(unknown_event)
{
	expect(2, "unknown event", "%s record -d 1 -e nonsense -o /dev/null -f folded", hotleaf());
}

HL_TEST(unknown_option_and_format)
{
	expect(2, "--frequenzy", "%s record --frequenzy 99", hotleaf());
	expect(2, "format", "%s record -d 1 -o /tmp/hl-test-x.nonsense", hotleaf());
	CHECK(!exists("/tmp/hl-test-x.nonsense"));
}

HL_TEST(help_on_a_reason)
{
	int status;

	CHECK(strstr(output_of(&status, "%s help '[unwind: no call]'", hotleaf()), "return address"));
	CHECK_INT(status, 0);
	CHECK(strstr(output_of(&status, "%s help not delivered", hotleaf()), "hypervisor"));
	CHECK_INT(status, 0);
	CHECK(strstr(output_of(&status, "%s help reasons", hotleaf()), "\ntable dropped\n"));
	CHECK_INT(status, 0);
	expect(2, "no reason \"no idea\"", "%s help no idea", hotleaf());
	expect(2, "did you mean \"no table yet\"", "%s help 'no tabel yet'", hotleaf());
	expect(2, "did you mean \"record\"", "%s help recrod", hotleaf());
}

HL_TEST(unwritable_output_is_known_before_sampling)
{
	expect(1, "/nowhere/x.html", "%s record -d 60 -o /nowhere/x.html", hotleaf());
}

HL_TEST(full_disk_leaves_no_half_file)
{
	char path[128];

	need_root();
	(void)test_dir();
	must("mount -t tmpfs -o size=64k none %s", test_dir());
	must("dd if=/dev/zero of=%sfill bs=1k count=60 2>/dev/null; true", test_dir());
	(void)snprintf(path, sizeof(path), "%sx.html", test_dir());
	(void)shell("%s record -d 1 -F 199 -o %s 2>%serr", hotleaf(), path, "/tmp/hl-full-");
	expect(0, "No space left", "cat /tmp/hl-full-err%s", "");
	CHECK(!exists(path));
	CHECK_INT(shell("test $(ls -A %s | wc -l) = 1", test_dir()), 0);
	must("rm /tmp/hl-full-err; umount %s", test_dir());
}

HL_TEST(no_btf)
{
	need_root();
	expect(1, "CONFIG_DEBUG_INFO_BTF",
	       "unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec %s record -d 1 -o /dev/null -f "
	       "folded'",
	       hotleaf());
}

HL_TEST(no_such_process)
{
	need_root();
	expect(1, "there is no process 4194303", "%s record -d 1 -p 4194303 -o /dev/null -f folded",
	       hotleaf());
}

HL_TEST(command_that_cannot_be_run)
{
	need_root();
	expect(1, "/nowhere/program", "%s record -o /dev/null -f folded -- /nowhere/program", hotleaf());
}

HL_TEST(process_that_ends_at_once_ends_the_recording)
{
	char path[128];
	pid_t pid;

	need_root();
	(void)snprintf(path, sizeof(path), "%sx.folded", test_dir());
	pid = start("sleep 4");
	(void)signal(SIGCHLD, SIG_IGN); /* so that no zombie of it stays */
	(void)shell("timeout 30 %s record -d 60 -p %d -o %s", hotleaf(), (int)pid, path);
	CHECK(exists(path));
}

/* Some supervisors ignore SIGCHLD, and that is inherited. */
HL_TEST(end_of_the_command_is_seen_though_sigchld_is_ignored)
{
	char path[128];

	need_root();
	(void)snprintf(path, sizeof(path), "%sx.txt", test_dir());
	(void)signal(SIGCHLD, SIG_IGN);
	(void)shell("timeout 20 %s record -o %s -- sleep 0.3", hotleaf(), path);
	(void)signal(SIGCHLD, SIG_DFL);
	must("grep -q ' 0\\.[0-9]* s$' %s", path);
	/* The self-test waits for a child too. */
	CHECK(shell("grep -q \"kernel's own frame-pointer walks\" %s", path) != 0);
}

HL_TEST(container_with_its_own_process_ids)
{
	need_root();
	expect(1, "--pid=host", "unshare -pf --mount-proc %s record -d 0.1 -o /dev/null -f txt -- true",
	       hotleaf());
	expect(1, "--pid=host", "unshare -pf --mount-proc %s record -d 0.1 -o /dev/null -f txt -p 1",
	       hotleaf());
}

HL_TEST(another_name_for_the_host)
{
	need_root();
	CHECK(strncmp(output_of(NULL, "%s record -d 0.1 --host node-7 -f txt -o -", hotleaf()), "node-7, ",
		      8) == 0);
	expect(2, "without blanks", "%s record -d 0.1 --host 'node 7' -o /dev/null -f txt", hotleaf());
}

HL_TEST(not_root)
{
	need_root();
	must("cp %s %shotleaf && chmod 755 %s %shotleaf", hotleaf(), test_dir(), test_dir(), test_dir());
	expect(1, "root",
	       "setpriv --reuid 65534 --regid 65534 --clear-groups %shotleaf record -d 1 -o /dev/null -f "
	       "folded",
	       test_dir());
}

HL_TEST(interrupt_ends_early_and_still_writes)
{
	struct folded folded;
	char path[128];
	pid_t pid;
	int status;

	need_root();
	(void)snprintf(path, sizeof(path), "%sx.folded", test_dir());
	pid = start("%s record -F 499 -d 600 -o %s", hotleaf(), path);
	(void)sleep(3);
	CHECK(!exists(path)); /* written whole or not at all */
	(void)kill(pid, SIGINT);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	folded = read_folded(path);
	CHECK(folded.total > 0);
}

HL_TEST(silent_when_all_is_well)
{
	int status;
	const char *said;

	need_root();
	said = output_of(&status, "%s record -d 1 -o %sx.html", hotleaf(), test_dir());
	CHECK_INT(status, 0);
	CHECK_STR(said, "");
}

HL_TEST(stdout_is_an_output)
{
	const char *said;
	int status;

	need_root();
	said = output_of(&status,
			 "%s record -d 1 -F 499 -o - -f folded -- sh -c 'i=0; while [ $i -lt 200000 ]; do "
			 "i=$((i+1)); done'",
			 hotleaf());
	CHECK_INT(status, 0);
	CHECK(strncmp(said, "sh;", 3) == 0 || strstr(said, "\nsh;")); /* before execve it is called hotleaf */
}
