// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
/* Where a debug file that is named by .gnu_debuglink is looked for, and where not. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "process/debug.h"
#include "process/roots.h"

/* A directory with a root in it, and what lies outside. */
struct tree {
	char path[64];
	int root;
};

static void shell(const struct tree *t, const char *command)
{
	char line[PATH_MAX];

	(void)snprintf(line, sizeof(line), "cd %s/root && { %s; }", t->path, command);
	CHECK_INT(system(line), 0);
}

static void make_tree(struct tree *t)
{
	char root[80];

	strcpy(t->path, "/tmp/hotleaf-link-XXXXXX");
	CHECK(mkdtemp(t->path));
	(void)snprintf(root, sizeof(root), "%s/root", t->path);
	CHECK_INT(mkdir(root, 0700), 0);
	t->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	shell(t, "mkdir -p bin/.debug usr/lib/debug/bin && echo outside >../outside.debug");
}

static void remove_tree(struct tree *t)
{
	shell(t, "rm -r ../root/* ../outside.debug; cd .. && rm -r $PWD");
	close(t->root);
}

/* The first line of what is opened, or strerrorname_np() of why nothing is. */
static const char *opened(const struct tree *t, const char *path, const char *link, unsigned int skip)
{
	static char text[64];
	int fd = hl_debug_link_open(NULL, t->root, path, link, skip);
	ssize_t n;

	if (fd < 0)
		return strerrorname_np(-fd);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	CHECK(n > 0);
	text[n - 1] = '\0';
	return text;
}

HL_TEST(three_places_in_this_order)
{
	struct tree t;

	make_tree(&t);
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "ENOENT");
	shell(&t, "echo global >usr/lib/debug/bin/app.debug");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "global");
	shell(&t, "echo below >bin/.debug/app.debug");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "below");
	shell(&t, "echo beside >bin/app.debug");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "beside");
	/* One that could not be used is passed over. */
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 1), "below");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 2), "global");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 3), "ENOENT");
	/* A file in the root directory itself. */
	shell(&t, "echo top >top.debug");
	CHECK_STR(opened(&t, "/top", "top.debug", 0), "top");
	remove_tree(&t);
}

HL_TEST(a_name_that_is_a_path_opens_nothing)
{
	static const char *const links[] = { "", ".", "..", "../outside.debug", "/etc/passwd", "a/b", "/" };
	struct tree t;

	make_tree(&t);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		CHECK_STR(opened(&t, "/bin/app", links[i], 0), "EINVAL");
	CHECK_STR(opened(&t, "app", "app.debug", 0), "EINVAL");
	CHECK_STR(opened(&t, "", "app.debug", 0), "EINVAL");
	/* The path is the process's to choose, too. */
	CHECK_STR(opened(&t, "/../app", "outside.debug", 0), "ENOENT");
	CHECK_STR(opened(&t, "/bin/../../app", "outside.debug", 0), "ENOENT");
	remove_tree(&t);
}

HL_TEST(links_stay_inside_the_root)
{
	struct tree t;

	make_tree(&t);
	shell(&t, "ln -s ../../outside.debug bin/up.debug && ln -s $PWD/../outside.debug bin/out.debug");
	CHECK_STR(opened(&t, "/bin/app", "up.debug", 0), "ENOENT");
	CHECK_STR(opened(&t, "/bin/app", "out.debug", 0), "ENOENT");
	shell(&t, "echo inside >usr/inside && ln -s /usr/inside bin/in.debug");
	CHECK_STR(opened(&t, "/bin/app", "in.debug", 0), "inside");
	shell(&t, "ln -s loop.debug bin/loop.debug");
	CHECK_STR(opened(&t, "/bin/app", "loop.debug", 0), "ENOENT");
	remove_tree(&t);
}

HL_TEST_TIMEOUT(what_is_no_regular_file_is_passed_over_and_said, 10)
{
	struct tree t;

	make_tree(&t);
	shell(&t, "mkfifo bin/app.debug && mkdir bin/.debug/app.debug");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "EMEDIUMTYPE");
	shell(&t, "echo global >usr/lib/debug/bin/app.debug");
	CHECK_STR(opened(&t, "/bin/app", "app.debug", 0), "global");
	remove_tree(&t);
}

HL_TEST(a_root_is_opened_once_however_many_see_it)
{
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct hl_roots roots = { 0 };
	struct stat st, own;

	fd = hl_roots_of(&roots, proc_fd, getpid(), getpid());
	CHECK(fd >= 0 && !fstat(fd, &st) && !stat("/", &own));
	CHECK(st.st_ino == own.st_ino && st.st_dev == own.st_dev);
	CHECK_INT(hl_roots_of(&roots, proc_fd, getpid(), getpid()), fd);
	CHECK_INT(roots.n, 1);
	CHECK_INT(hl_roots_of(&roots, proc_fd, INT_MAX, INT_MAX), -1);
	hl_roots_done(&roots);
	CHECK_INT(fstat(fd, &st), -1);
	close(proc_fd);
}
