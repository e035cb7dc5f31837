// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
#include "process/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "sample/window.h"

#include "harness.h"
#include "shell.h"

/* What children open is what this process would. File systems that do not answer: tests/system/dead_test.c. */

static char dir[64];
static int root;

static struct hl_reach *begin(void)
{
	struct hl_reach *reach = NULL;
	struct hl_err err = { "" };
	int fd;

	strcpy(dir, "/tmp/hotleaf-reach-XXXXXX");
	CHECK(mkdtemp(dir));
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(root >= 0);
	fd = openat(root, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK_INT(write(fd, "seven b", 7), 7);
	close(fd);
	CHECK_INT(mkfifoat(root, "fifo", 0600), 0);
	CHECK_INT(symlinkat("/file", root, "link"), 0);
	CHECK_INT(hl_reach_new(&reach, &err), 0);
	return reach;
}

static void end(struct hl_reach *reach)
{
	hl_reach_free(reach);
	close(root);
	must("rm -r %s", dir);
}

static void check_opens(struct hl_reach *reach)
{
	char text[16] = "", path[64];
	_cleanup_free_ char *link = NULL;
	struct stat st;
	int fd = hl_reach_open_in_root(reach, root, "/link", &st);

	CHECK(fd >= 0);
	CHECK_INT(st.st_size, 7);
	CHECK_INT(read(fd, text, sizeof(text)), 7);
	CHECK_STR(text, "seven b");
	/* By a magic link: this descriptor's own. */
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	st.st_size = 0;
	close(hl_reach_open_link(reach, root, path, 77, &st, &link));
	CHECK_INT(st.st_size, 7);
	CHECK(link && strcmp(link + strlen(link) - 5, "/file") == 0);
	st.st_size = 0;
	CHECK_INT(hl_reach_stat_link(reach, root, path, 77, &st), 0);
	CHECK_INT(st.st_size, 7);
	close(fd);
	CHECK_INT(hl_reach_open_in_root(reach, root, "fifo", &st), -EMEDIUMTYPE);
	CHECK_INT(hl_reach_open_in_root(reach, root, "nothing/there", &st), -ENOENT);
	CHECK_INT(hl_reach_open_link(reach, root, "nothing", 77, &st, NULL), -ENOENT);
	CHECK_INT(hl_reach_stat_link(reach, root, "nothing", 77, &st), -ENOENT);
	CHECK_INT(hl_reach_stat_link(reach, root, "fifo", 77, &st), 0); /* which opening would wait for */
}

HL_TEST(children_open_what_we_would)
{
	struct hl_reach *reach = begin();
	struct hl_reach_stats stats;

	check_opens(NULL);
	for (int i = 0; i < 100; i++)
		check_opens(reach);
	hl_reach_stats(reach, &stats);
	CHECK_INT(stats.unanswered + stats.untried + stats.copied + stats.uncopied, 0);
	CHECK(stats.cpu_ns > 0);
	end(reach);
}

struct lines {
	unsigned int n;
	unsigned long first;
};

static bool take(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct lines *lines = ctx;

	if (!lines->n++)
		lines->first = mapping->start;
	return true;
}

static uint64_t started(void)
{
	char text[512] = "", *at;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	at = strrchr(text, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	CHECK(at);
	return strtoull(at, NULL, 10) * UINT64_C(10000000);
}

static const char in_memory[] = "what this process has in memory";

static void check_bytes(struct hl_reach *reach)
{
	struct hl_process_key self = { .tgid = (uint32_t)getpid(), .start_time = started() };
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = openat(root, "file", O_RDONLY | O_CLOEXEC);
	char bytes[sizeof(in_memory)] = "";

	CHECK_INT(hl_reach_range(reach, fd, 2, bytes, 5), 0);
	CHECK(memcmp(bytes, "ven b", 5) == 0);
	/* All of them, or none. */
	CHECK_INT(hl_reach_range(reach, fd, 2, bytes, 6), -ENODATA);
	CHECK_INT(hl_reach_range(reach, fd, UINT64_MAX - 2, bytes, 6), -EINVAL);
	CHECK_INT(hl_reach_range(reach, fd, 0, bytes, (size_t)2 << 20), -EFBIG);
	CHECK_INT(hl_reach_memory(reach, proc_fd, &self, (uintptr_t)in_memory, bytes, sizeof(bytes)), 0);
	CHECK_STR(bytes, in_memory);
	CHECK_INT(hl_reach_memory(reach, proc_fd, &self, 16, bytes, sizeof(bytes)), -EIO);
	/* A process that has its number, but is another. */
	self.start_time -= 1000000000;
	CHECK_INT(hl_reach_memory(reach, proc_fd, &self, (uintptr_t)in_memory, bytes, sizeof(bytes)), -ESRCH);
}

HL_TEST(bytes_come_whole_or_not_at_all)
{
	struct hl_reach *reach = begin();

	check_bytes(NULL);
	check_bytes(reach);
	end(reach);
}

HL_TEST(maps_come_as_they_are)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct hl_reach *reach = begin();
	struct lines here = { 0 }, there = { 0 };
	char name[32];

	/* Of the parent, which does not change its mappings meanwhile as this process may. */
	(void)snprintf(name, sizeof(name), "%d/maps", (int)getppid());
	CHECK_INT(hl_reach_maps(NULL, proc, name, take, &here), 0);
	CHECK_INT(hl_reach_maps(reach, proc, name, take, &there), 0);
	CHECK(here.n > 5);
	CHECK_INT(there.n, here.n);
	CHECK_INT(there.first, here.first);
	CHECK_INT(hl_reach_maps(reach, proc, "0/maps", take, &there), -ENOENT);
	end(reach);
}

static void *open_many(void *reach)
{
	for (int i = 0; i < 200; i++)
		check_opens(reach);
	return NULL;
}

HL_TEST(several_threads_at_once)
{
	struct hl_reach *reach = begin();
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, open_many, reach), 0);
	for (int i = 0; i < 6; i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
	end(reach);
}

/* The one that makes the others may be killed, too: alone, or with all of them. */
HL_TEST(the_server_is_replaced_as_well)
{
	static const char *const kills[] = {
		"kill -9 $p",
		"kill -9 $p $(cat /proc/$p/task/$p/children)",
	};

	for (size_t i = 0; i < sizeof(kills) / sizeof(kills[0]); i++) {
		struct hl_reach *reach = begin();
		struct hl_reach_stats stats;
		char command[300];

		check_opens(reach);
		/* The shell itself is a child as well. */
		(void)snprintf(
			command, sizeof(command),
			"for p in $(cat /proc/%d/task/*/children); do "
			"test $(cat /proc/$p/comm) = hotleaf-reach && { %s; echo; }; done | grep -q ''",
			(int)getpid(), kills[i]);
		CHECK_INT(system(command), 0);
		for (int turn = 0; turn < 10; turn++)
			check_opens(reach);
		hl_reach_stats(reach, &stats);
		/* Where one of its children lives on, it is not missed yet. */
		CHECK(stats.killed == i);
		end(reach);
	}
}

/* One that is killed costs the request that it had at most. */
HL_TEST(children_that_die_are_replaced)
{
	struct hl_reach *reach = begin();
	int failed = 0, pid = (int)getpid();
	char command[200];

	check_opens(reach);
	/* Its own shell, which `children` lists too, has no child that could be killed. */
	(void)snprintf(
		command, sizeof(command),
		"for p in $(cat /proc/%d/task/%d/children); do "
		"for q in $(cat /proc/$p/task/$p/children); do kill -9 $q && echo $q; done; done | grep -q .",
		pid, pid);
	CHECK_INT(system(command), 0);
	for (int i = 0; i < 6; i++) {
		struct stat st;
		int fd = hl_reach_open_in_root(reach, root, "file", &st);

		failed += fd < 0;
		hl_cleanup_close(&fd);
	}
	CHECK(failed <= 1);
	check_opens(reach);
	end(reach);
}
