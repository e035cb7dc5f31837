// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */

/* Paths of executables, from a tree that stands for /proc. */

#include "process/exes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "harness.h"
#include "sample/window.h"
#include "shell.h"

enum { ID = HL_FILE_FIRST, PID = 7 };

static char dir[64];
static struct hl_exes *exes;

static void begin(void)
{
	char name[128];
	int proc_fd;

	strcpy(dir, "/tmp/hotleaf-exes-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	(void)snprintf(name, sizeof(name), "%s/%d", dir, PID);
	CHECK_INT(mkdir(name, 0700), 0);
	proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(proc_fd >= 0);
	exes = hl_exes_new(proc_fd, NULL);
	CHECK(exes != NULL);
}

static void end(void)
{
	hl_exes_free(exes);
	must("rm -r %s", dir);
}

/* Has the process run @target from now on. */
static void run(const char *target)
{
	char link[128];

	(void)snprintf(link, sizeof(link), "%s/%d/exe", dir, PID);
	(void)unlink(link);
	CHECK_INT(symlink(target, link), 0);
}

/* What an event tells of the file at @path. */
static struct hl_file_event event_of(const char *path)
{
	struct hl_file_event event = { .id = ID, .tgid = PID };
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	event.key.inode = st.st_ino;
	event.key.size = (uint64_t)st.st_size;
	event.key.mtime_sec = (uint64_t)st.st_mtim.tv_sec;
	event.key.mtime_nsec = (uint32_t)st.st_mtim.tv_nsec;
	event.key.device = major(st.st_dev) << 20 | minor(st.st_dev);
	return event;
}

/* A new file @name of @size bytes, whose path comes in @ret_path, as an event tells of it. */
static struct hl_file_event make_file(const char *name, off_t size, char *ret_path, size_t len)
{
	int fd;

	(void)snprintf(ret_path, len, "%s/%s", dir, name);
	fd = open(ret_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(ftruncate(fd, size), 0);
	close(fd);
	return event_of(ret_path);
}

/* Looks at the process as after a drain in which it ran the file. */
static void drain(void)
{
	struct hl_process_row process = { .key.tgid = PID, .process.exe = ID };
	struct hl_window window = { .processes = &process, .n_processes = 1 };

	hl_exes_look(exes, &window, 0);
}

HL_TEST(a_file_that_is_called_deleted)
{
	struct hl_file_event event;
	char path[128];

	begin();
	event = make_file("app (deleted)", 1, path, sizeof(path));
	run(path);
	hl_exes_on_file(exes, &event);
	CHECK_STR(hl_exes_path(exes, ID), path);
	end();
}

/* Of a process that really runs. */
HL_TEST(a_file_that_is_gone)
{
	struct hl_file_event event;
	char path[128];
	char *argv[] = { path, "60", NULL };
	struct hl_exes *real;
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid;

	begin();
	(void)make_file("app", 1, path, sizeof(path));
	must("cp \"$(command -v sleep)\" %s && chmod 700 %s", path, path);
	event = event_of(path);
	CHECK_INT(posix_spawn(&pid, path, NULL, NULL, argv, NULL), 0); /* comes back after the exec */
	CHECK_INT(unlink(path), 0);
	event.tgid = (uint32_t)pid;
	real = hl_exes_new(proc_fd, NULL);
	hl_exes_on_file(real, &event);
	CHECK_STR(hl_exes_path(real, ID), path);
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	hl_exes_free(real);
	close(proc_fd);
	end();
}

/* Who is looked at after a fork and an exec runs another file than when it was sampled. */
HL_TEST(a_process_that_runs_another_file_by_now)
{
	struct hl_file_event event;
	char path[128], other[128];

	begin();
	event = make_file("shell", 1, path, sizeof(path));
	(void)make_file("command", 2, other, sizeof(other));
	run(other);
	hl_exes_on_file(exes, &event);
	CHECK(hl_exes_path(exes, ID) == NULL);
	drain();
	CHECK(hl_exes_path(exes, ID) == NULL);
	run(path);
	drain();
	CHECK_STR(hl_exes_path(exes, ID), path);
	end();
}

/* Whether a process runs the file cannot be said before the event that tells of it was read. */
HL_TEST(a_file_of_which_nothing_is_told_yet)
{
	struct hl_file_event event;
	char path[128];

	begin();
	event = make_file("app", 1, path, sizeof(path));
	run(path);
	drain();
	CHECK(hl_exes_path(exes, ID) == NULL);
	event.end = 4096;
	hl_exes_on_file(exes, &event);
	drain();
	CHECK_STR(hl_exes_path(exes, ID), path);
	end();
}
