// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */

/* Paths of executables, from a tree that stands for /proc. */

#include "process/exes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "harness.h"
#include "hotleaf/abi.h"

/* What process 7 is said to run, whose link reads @name in a new directory; @exists: so does the file. */
static void check_path(const char *name, bool exists, const char *expected)
{
	char dir[] = "/tmp/hotleaf-exes-XXXXXX", target[128], want[128], link[128];
	struct hl_exes *exes;
	int fd, proc_fd;

	CHECK(mkdtemp(dir) != NULL);
	(void)snprintf(target, sizeof(target), "%s/%s", dir, name);
	(void)snprintf(want, sizeof(want), "%s/%s", dir, expected);
	(void)snprintf(link, sizeof(link), "%s/7", dir);
	CHECK_INT(mkdir(link, 0700), 0);
	(void)snprintf(link, sizeof(link), "%s/7/exe", dir);
	CHECK_INT(symlink(target, link), 0);
	if (exists) {
		fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		CHECK(fd >= 0);
		close(fd);
	}
	proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(proc_fd >= 0);
	exes = hl_exes_new(proc_fd, NULL);
	CHECK(exes != NULL);
	hl_exes_look_at(exes, HL_FILE_FIRST, 7);
	CHECK_STR(hl_exes_path(exes, HL_FILE_FIRST), want);
	hl_exes_free(exes);
	close(proc_fd);
	(void)unlink(target);
	(void)unlink(link);
	(void)snprintf(link, sizeof(link), "%s/7", dir);
	(void)rmdir(link);
	(void)rmdir(dir);
}

HL_TEST(a_file_that_is_gone)
{
	check_path("app (deleted)", false, "app");
}

HL_TEST(a_file_that_is_called_deleted)
{
	check_path("app (deleted)", true, "app (deleted)");
}
