// SPDX-License-Identifier: BSD-2-Clause
/* needs: base tests/shell */
#include "base/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "harness.h"
#include "shell.h"

#define DAY UINT64_C(86400)
#define NOW (UINT64_C(20000) * DAY)

static char dir[] = "/tmp/hotleaf-prune-XXXXXX";
static struct hl_err err;

static void clean(void)
{
	(void)shell("rm -rf '%s'", dir);
}

static const char *path_of(const char *name)
{
	static char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(const char *name, size_t bytes, uint64_t age_s)
{
	struct timespec when[2] = { { .tv_sec = (time_t)(NOW - age_s) },
				    { .tv_sec = (time_t)(NOW - age_s) } };
	int fd = open(path_of(name), O_WRONLY | O_CREAT, 0644);
	char block[4096] = { 1 };

	for (; bytes; bytes -= sizeof(block))
		CHECK(write(fd, block, sizeof(block)) == sizeof(block));
	CHECK(fsync(fd) == 0 && futimens(fd, when) == 0 && close(fd) == 0);
}

static bool is_there(const char *name)
{
	struct stat st;

	return lstat(path_of(name), &st) == 0;
}

static bool is_page(const char *name)
{
	return hl_ends_with(name, ".html");
}

static void prune(uint64_t max_age_s, uint64_t max_bytes, uint64_t max_files)
{
	const struct hl_prune limits = { is_page, max_age_s * 1000000000, max_bytes, max_files };

	CHECK_INT(hl_prune_files(dir, &limits, NOW * 1000000000, &err), 0);
}

HL_TEST(the_oldest_go_first)
{
	CHECK(mkdtemp(dir) && atexit(clean) == 0);
	make("a.html", 8192, 9 * DAY);
	make("b.html", 8192, 3 * DAY);
	make("c.html", 8192, 2 * DAY);
	make("d.html", 8192, 1 * DAY);
	make("other", 8192, 90 * DAY);
	CHECK(mkdir(path_of("e.html"), 0755) == 0);
	CHECK(symlink("a.html", path_of("f.html")) == 0);
	prune(0, 0, 0);
	CHECK(is_there("a.html"));
	prune(7 * DAY, 0, 0);
	CHECK(!is_there("a.html") && is_there("b.html"));
	prune(7 * DAY, 20000, 0);
	CHECK(!is_there("b.html") && is_there("c.html") && is_there("d.html"));
	prune(0, 0, 1);
	CHECK(!is_there("c.html") && is_there("d.html"));
	/* One that is too large alone is better than none; one that is too old is not. */
	prune(0, 1, 0);
	CHECK(is_there("d.html"));
	prune(3600, 0, 0);
	CHECK(!is_there("d.html"));
	CHECK(is_there("other") && is_there("e.html") && is_there("f.html"));
	CHECK_INT(rmdir(path_of("e.html")), 0);
}

HL_TEST(no_directory)
{
	const struct hl_prune limits = { is_page, 1, 1, 1 };

	CHECK_INT(hl_prune_files("/nowhere/at/all", &limits, 0, &err), -ENOENT);
	CHECK(strstr(err.text, "cannot list '/nowhere/at/all'"));
}
