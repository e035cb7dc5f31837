// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/shell */
#include "process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "harness.h"
#include "shell.h"

/* A /proc of one process, 123, that maps one file. */
static char dir[64];
static int proc_fd;

static const char *in_dir(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	struct timespec times[2] = { { 1000, 0 }, { 1000, 5 } };
	int fd = open(in_dir(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	CHECK_INT(futimens(fd, times), 0);
	close(fd);
}

static void begin(void)
{
	strcpy(dir, "/tmp/hotleaf-files-XXXXXX");
	CHECK(mkdtemp(dir));
	CHECK_INT(mkdir(in_dir("123"), 0700), 0);
	CHECK_INT(mkdir(in_dir("123/map_files"), 0700), 0);
	put("sampled", "one file");
	put("twin", "another!");
	proc_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(proc_fd >= 0);
}

static void end(void)
{
	close(proc_fd);
	must("rm -r %s", dir);
}

/* An event of the file "sampled", as the kernel tells it, and a link of /proc to @mapped. */
static struct hl_file_event event_of(const char *mapped)
{
	struct hl_file_event event = {
		.start = 0x1000, .end = 0x2000, .id = HL_FILE_FIRST, .tgid = 123, .tid = 123
	};
	char target[128];
	struct stat st;

	CHECK_INT(stat(in_dir("sampled"), &st), 0);
	event.key = (struct hl_file_key){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_sec = (uint64_t)st.st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)st.st_mtim.tv_nsec,
		.device = major(st.st_dev) << 20 | minor(st.st_dev),
	};
	strcpy(target, in_dir(mapped));
	CHECK_INT(symlink(target, in_dir("123/map_files/1000-2000")), 0);
	return event;
}

static enum hl_file_state open_event(const struct hl_file_event *event)
{
	struct hl_files *files = hl_files_new(proc_fd, NULL);
	enum hl_file_state state;

	CHECK(files);
	state = hl_files_open(files, event);
	hl_files_free(files);
	return state;
}

HL_TEST(the_sampled_file_is_opened)
{
	struct hl_file_event event;

	begin();
	event = event_of("sampled");
	CHECK_INT(open_event(&event), HL_FILE_OPEN);
	end();
}

/* Of equal size and time: only the inode number tells them apart. */
HL_TEST(a_twin_in_its_place_is_not)
{
	struct hl_file_event event;

	begin();
	event = event_of("twin");
	CHECK_INT(open_event(&event), HL_FILE_FAILED);
	end();
}

/* A file system of layers: the kernel knows the file by another device and inode than stat tells. */
HL_TEST(other_numbers_of_another_device_do_not_matter)
{
	struct hl_file_event event;

	begin();
	event = event_of("sampled");
	event.key.device++;
	event.key.inode += 1000;
	CHECK_INT(open_event(&event), HL_FILE_OPEN);
	event.key.mtime_nsec++;
	CHECK_INT(open_event(&event), HL_FILE_FAILED);
	end();
}
