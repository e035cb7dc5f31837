// SPDX-License-Identifier: BSD-2-Clause
/* needs: base tests/system/record tests/shell */
/* File systems that do not answer, and a parser that does not run: neither can hold a recording up. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "shell.h"
#include "system/record.h"

/*
 * A mount namespace, as of a container, whose programs, perf map and debug files are on a FUSE mount. The
 * mount answers until it is told to be dead. "ondead" runs from it, and one whose name ends as if the file were
 * gone; "stripped" and "jit" run from elsewhere, which may be below /tmp.
 */
static const char container[] =
	"cd %s && mkdir -p files mount debug && cp %s files/ondead && strip -o stripped files/ondead && "
	"cp files/ondead 'files/gone (deleted)' && "
	"echo '123400000000 400 dead' >files/perf-$$.map && "
	"{ %s mount files & echo $! >daemon; } && "
	"for i in 1 2 3 4 5 6 7 8 9; do test -e mount/ondead && break; sleep 0.2; done; "
	"{ mount/ondead 600 3 & echo $! >pids; mount/gone' (deleted)' 600 3 & echo $! >>pids; ./stripped 600 "
	"3 & echo $! >>pids; } && "
	"mount --bind mount /usr/lib/debug && echo $$ >>pids && touch ready && "
	"here=$PWD && cd %s && { mount --bind \"$here/mount\" /tmp; exec ./jit 600 x; }";

static pid_t number_in(const char *name)
{
	char path[256];
	_cleanup_free_ char *text = NULL;

	(void)snprintf(path, sizeof(path), "%s%s", test_dir(), name);
	CHECK_INT(hl_read_file_at(AT_FDCWD, path, 100, &text, NULL), 0);
	return (pid_t)strtol(text, NULL, 10);
}

/* Its first process, once all of it runs. */
static pid_t start_container(void)
{
	char script[2048], *tool = realpath(workload("deadfuse"), NULL),
			   *folder = realpath(workload(""), NULL),
			   *program = realpath(workload("deep"), NULL);
	pid_t pid;

	if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK))
		SKIP("needs root and /dev/fuse");
	(void)shell("mkdir -p /usr/lib/debug");
	(void)snprintf(script, sizeof(script), container, test_dir(), program, tool, folder);
	pid = start("unshare -m --propagation private sh -c \"$(cat <<'END'\n%s\nEND\n)\"", script);
	for (int i = 0; i < 100 && shell("test -e %sready", test_dir()) != 0; i++)
		(void)usleep(100000);
	must("test -e %sready", test_dir());
	(void)sleep(1);
	return pid;
}

/* With the daemon those end that wait for it, for ever else. */
static void end_container(pid_t pid)
{
	(void)shell("kill -9 $(cat %sdaemon %spids)", test_dir(), test_dir());
	stop(pid);
}

static void check_header(const char *words)
{
	must("tr -s ' \\n' ' ' <%sout.txt | grep -q '%s'", test_dir(), words);
}

HL_TEST_TIMEOUT(mounts_that_do_not_answer, 120)
{
	pid_t pid = start_container(), deep;
	struct folded folded;

	CHECK_INT(kill(number_in("daemon"), SIGUSR1), 0);
	deep = start("%s 600 3", workload("deep"));
	folded = record("-F 499 -d 5 --exclude exe=none"); /* paths of executables are asked for, too */
	stop(deep);
	check_account(&folded);
	/* Who is on the mount has no names, and all others have. */
	CHECK(sum_of(&folded, "^ondead;") > 50);
	CHECK_INT(sum_of(&folded, "^ondead;.*;bottom;"), 0);
	check_at_least("named", sum_of(&folded, "^deep;.*;descend;bottom;[^;]+$"), sum_of(&folded, "^deep;"),
		       0.8);
	CHECK(sum_of(&folded, "^stripped;") > 50);
	CHECK(sum_of(&folded, "^jit;") > 50);
	check_header("file systems did not answer within 500 ms [1-9]");
	check_header("file system silent");
	folded_done(&folded);
	end_container(pid);
}

/* A mount that works is as good as any other file system. */
HL_TEST_TIMEOUT(mounts_that_answer, 120)
{
	pid_t pid = start_container();
	struct folded folded = record("-F 499 -d 4");

	check_account(&folded);
	check_at_least("named", sum_of(&folded, "^ondead;.*;descend;bottom;[^;]+$"),
		       sum_of(&folded, "^ondead;"), 0.8);
	CHECK(sum_of(&folded, "^jit;.*;dead_\\[j\\];") > 50);
	check_header("files on FUSE, copied as they were when first seen: [1-9]");
	folded_done(&folded);
	end_container(pid);
}

/* Whoever stops the parsers gets fewer names, not a recording that does not end. */
HL_TEST_TIMEOUT(parsers_that_are_stopped, 120)
{
	struct folded folded;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root");
	pid = start_recording("-d 4");
	(void)sleep(2);
	must("for t in /proc/%d/task/*; do for p in $(cat $t/children); do "
	     "grep -qx hotleaf-symd /proc/$p/comm && kill -STOP $p; done; done; true",
	     (int)pid);
	folded = finish_recording(pid);
	check_account(&folded);
	check_header("died, hung or lied [1-9]");
	folded_done(&folded);
}

/* Where the kernel's process ids are not those of /proc, that is the reason given. */
HL_TEST_TIMEOUT(process_ids_of_a_container, 120)
{
	pid_t other;

	if (geteuid() != 0)
		SKIP("needs root");
	other = start("%s 600 3", workload("deep")); /* whose file is not to be found */
	must("unshare -pf --mount-proc %s record -d 2 -o %sout.txt", hotleaf(), test_dir());
	stop(other);
	check_header("file not to be found: process ids here are a container");
	must("! grep -q 'file not opened' %sout.txt", test_dir());
}
