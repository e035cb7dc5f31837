// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture tests/system/record tests/shell */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/event.h"
#include "harness.h"
#include "shell.h"
#include "system/record.h"

/*
 * Which files are one file to the programs: the same content at the same place in the kernel, however many
 * names and mounts lead to it, and nothing else.
 */

static struct hl_capture *capture;

static void set_up(void)
{
	static struct hl_event_choice event;
	struct hl_capture_options options = {
		.event = &event, .frequency = 99, .max_depth = 127, .only_targets = true
	};
	struct hl_err err;

	if (geteuid() != 0)
		SKIP("needs root");
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespaces");
	if (hl_event_choose("cpu-clock", 99, &event, &err) || hl_capture_new(&options, &capture, &err))
		FAIL("%s", err.text);
}

/* A process that maps the file at @fd as code, and waits. */
static pid_t map_file(int fd)
{
	int ready[2];
	pid_t pid;
	char byte;

	CHECK_INT(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED)
			(void)!write(ready[1], "", 1);
		(void)close(ready[1]);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

struct wanted {
	const char *name;
	uint32_t id;
};

static void on_file(void *ctx, const struct hl_file_event *event)
{
	struct wanted *wanted = ctx;

	if (strcmp(event->name, wanted->name) == 0)
		wanted->id = event->id;
}

/* The id of the file at @fd, called @name. */
static uint32_t id_of(int fd, const char *name)
{
	struct wanted wanted = { .name = name };
	pid_t pid = map_file(fd);

	CHECK_INT(hl_capture_add_target(capture, pid, NULL), 0);
	CHECK_INT(hl_capture_list_files(capture, on_file, &wanted), 0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(wanted.id >= HL_FILE_FIRST);
	return wanted.id;
}

static uint32_t id_of_path(const char *path)
{
	char name[256];
	int fd;
	uint32_t id;

	(void)snprintf(name, sizeof(name), "%s%s", test_dir(), path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	id = id_of(fd, "file");
	(void)close(fd);
	return id;
}

HL_TEST(one_file_by_two_overlays_is_one)
{
	const char *dir = test_dir();
	uint32_t lower;

	set_up();
	must("mount -t tmpfs none %s && cd %s && mkdir lower copy && for i in 1 2; do mkdir $i u$i w$i; done "
	     "&& "
	     "head -c 8192 /dev/urandom >lower/file && cp -p lower/file copy/file",
	     dir, dir);
	for (int i = 1; i <= 2; i++)
		if (shell("mount -t overlay -o lowerdir=%slower,upperdir=%su%d,workdir=%sw%d none %s%d", dir,
			  dir, i, dir, i, dir, i))
			SKIP("no overlay file systems");
	lower = id_of_path("lower/file");
	CHECK_INT(id_of_path("1/file"), lower);
	CHECK_INT(id_of_path("2/file"), lower);
	CHECK(id_of_path("copy/file") != lower); /* equal content elsewhere is another file */
}

HL_TEST(a_file_written_over_in_place_is_another)
{
	const char *dir = test_dir();
	uint32_t before;

	set_up();
	must("head -c 8192 /dev/urandom >%sfile", dir);
	before = id_of_path("file");
	CHECK_INT(id_of_path("file"), before);
	must("sleep 0.05; head -c 8192 /dev/urandom >%sfile", dir);
	CHECK(id_of_path("file") != before);
}

HL_TEST(two_images_of_equal_content_are_two)
{
	const char *dir = test_dir();

	set_up();
	if (shell("command -v mkfs.ext2 >/dev/null"))
		SKIP("no mkfs.ext2");
	must("dd if=/dev/zero of=%simage0 bs=1M count=4 2>/dev/null && mkfs.ext2 -q %simage0", dir, dir);
	must("mkdir %s0 %s1", dir, dir);
	if (shell("mount -o loop %simage0 %s0 2>/dev/null", dir, dir))
		SKIP("no loop devices or no ext2");
	/* The copy of the image has the inode, size, time and generation of the first: only the device differs. */
	must("head -c 8192 /dev/urandom >%s0/file && umount %s0 && cp %simage0 %simage1", dir, dir, dir, dir);
	must("mount -o loop %simage0 %s0 && mount -o loop %simage1 %s1", dir, dir, dir, dir);
	CHECK(id_of_path("0/file") != id_of_path("1/file"));
}

HL_TEST(files_without_a_name_are_told_apart)
{
	int a, b;

	set_up();
	a = memfd_create("file", MFD_CLOEXEC);
	b = memfd_create("file", MFD_CLOEXEC);
	CHECK(a >= 0 && b >= 0 && ftruncate(a, 8192) == 0 && ftruncate(b, 8192) == 0);
	CHECK_INT(id_of(a, "memfd:file"), id_of(a, "memfd:file"));
	CHECK(id_of(a, "memfd:file") != id_of(b, "memfd:file"));
}
