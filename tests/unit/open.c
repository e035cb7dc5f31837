// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
/* What is opened of names that others chose: regular files below the root, nothing that blocks or acts. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "process/debug.h"
#include "process/proc.h"
#include "shell.h"

/* A root in a directory of its own, and a file beside it that must stay out of reach. */
struct tree {
	char path[64];
	int outside, root;
};

static void put(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, name, strlen(name)), strlen(name));
	close(fd);
}

static void make_tree(struct tree *t)
{
	strcpy(t->path, "/tmp/hotleaf-open-XXXXXX");
	CHECK(mkdtemp(t->path));
	t->outside = open(t->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(mkdirat(t->outside, "root", 0700), 0);
	t->root = openat(t->outside, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(t->root >= 0);
	put(t->outside, "secret");
	put(t->root, "file");
}

static void remove_tree(struct tree *t)
{
	close(t->root);
	close(t->outside);
	must("rm -r %s", t->path);
}

/* What was opened, or -errno. */
static int try(int root, const char *path)
{
	struct stat st;
	int fd = hl_proc_open_in_root(root, path, &st);

	if (fd < 0)
		return fd;
	CHECK(S_ISREG(st.st_mode));
	CHECK_INT(fcntl(fd, F_GETFL) & (O_PATH | O_ACCMODE), O_RDONLY);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	return (int)st.st_size;
}

HL_TEST(names_stay_inside_the_root)
{
	struct tree t;
	char absolute[128];

	make_tree(&t);
	(void)snprintf(absolute, sizeof(absolute), "%s/secret", t.path);
	CHECK_INT(symlinkat(absolute, t.root, "out"), 0);
	CHECK_INT(symlinkat("../secret", t.root, "up"), 0);
	CHECK_INT(symlinkat("/file", t.root, "in"), 0);
	CHECK_INT(symlinkat("loop", t.root, "loop"), 0);
	CHECK_INT(try(t.root, "file"), 4);
	CHECK_INT(try(t.root, "/../../file"), 4);
	CHECK_INT(try(t.root, "in"), 4);
	CHECK_INT(try(t.root, "../secret"), -ENOENT);
	CHECK_INT(try(t.root, "out"), -ENOENT);
	CHECK_INT(try(t.root, "up"), -ENOENT);
	CHECK_INT(try(t.root, "loop"), -ELOOP);
	remove_tree(&t);
}

HL_TEST_TIMEOUT(only_regular_files_are_opened, 10)
{
	struct tree t;
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	make_tree(&t);
	/* Opening a FIFO to read waits for a writer: this test would time out. */
	CHECK_INT(mkfifoat(t.root, "fifo", 0600), 0);
	CHECK_INT(mkdirat(t.root, "directory", 0700), 0);
	CHECK_INT(try(t.root, "fifo"), -EMEDIUMTYPE);
	CHECK_INT(try(t.root, "directory"), -EMEDIUMTYPE);
	CHECK_INT(try(root, "dev/zero"), -EMEDIUMTYPE);
	/* No magic link: it would lead out of any root. */
	CHECK_INT(try(root, "proc/self/exe"), -ELOOP);
	close(root);
	remove_tree(&t);
}

HL_TEST_TIMEOUT(a_debug_file_is_a_regular_file, 10)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef };
	const char *const name = ".debug/.build-id/ab/cdef";
	struct tree t;
	bool is_copy = false;
	int fd;

	make_tree(&t);
	CHECK_INT(mkdirat(t.root, ".debug", 0700), 0);
	CHECK_INT(mkdirat(t.root, ".debug/.build-id", 0700), 0);
	CHECK_INT(mkdirat(t.root, ".debug/.build-id/ab", 0700), 0);
	CHECK_INT(mkfifoat(t.root, name, 0600), 0);
	CHECK_INT(hl_debug_file_open(NULL, t.root, ".", id, sizeof(id), 0, NULL), -ENOENT);
	CHECK_INT(unlinkat(t.root, name, 0), 0);
	CHECK_INT(symlinkat("../../../../secret", t.root, name), 0);
	CHECK_INT(hl_debug_file_open(NULL, t.root, ".", id, sizeof(id), 0, NULL), -ENOENT);
	CHECK_INT(unlinkat(t.root, name, 0), 0);
	put(t.root, name);
	fd = hl_debug_file_open(NULL, t.root, ".", id, sizeof(id), 0, &is_copy);
	CHECK(fd >= 0);
	CHECK(is_copy);
	close(fd);
	remove_tree(&t);
}
