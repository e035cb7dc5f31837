// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process */
#include "process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

/* A file of @size bytes, mapped by this process, and the event that its first sample would raise. */
static struct hl_file_event map_file(size_t size, uint32_t id)
{
	char name[] = "/tmp/hl-files-XXXXXX";
	struct hl_file_event event = { .id = id, .tgid = (uint32_t)getpid(), .tid = (uint32_t)getpid() };
	int fd = mkstemp(name);
	struct stat st;
	void *at;

	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0 && fstat(fd, &st) == 0);
	at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(at != MAP_FAILED);
	(void)close(fd);
	(void)unlink(name);
	event.start = (uint64_t)(uintptr_t)at;
	event.end = event.start + ((size + 4095) & ~4095ull);
	event.key = (struct hl_file_key){
		.inode = st.st_ino,
		.size = size,
		.mtime_sec = (uint64_t)st.st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)st.st_mtim.tv_nsec,
	};
	return event;
}

static off_t size_of(const struct hl_open_file *file)
{
	struct stat st;

	CHECK(file && file->state == HL_FILE_OPEN);
	CHECK_INT(fstat(file->fd, &st), 0);
	return st.st_size;
}

HL_TEST(a_forgotten_files_id_is_anothers)
{
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct hl_file_event first = map_file(5000, 7), second = map_file(9000, 7);
	struct hl_files *files = hl_files_new(proc_fd, NULL);

	if (geteuid() != 0)
		SKIP("needs root: /proc/PID/map_files");
	CHECK(files);
	CHECK_INT(hl_files_open(files, &first), HL_FILE_OPEN);
	CHECK_INT(size_of(hl_files_get(files, 7)), 5000);
	/* Known, whatever the event says … */
	CHECK_INT(hl_files_open(files, &second), HL_FILE_OPEN);
	CHECK_INT(size_of(hl_files_get(files, 7)), 5000);
	/* … until it is forgotten. */
	fd = hl_files_get(files, 7)->fd;
	hl_files_forget(files, 7);
	CHECK(!hl_files_get(files, 7));
	CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	hl_files_forget(files, 7);
	hl_files_forget(files, 123456);
	CHECK_INT(hl_files_open(files, &second), HL_FILE_OPEN);
	CHECK_INT(size_of(hl_files_get(files, 7)), 9000);
	hl_files_free(files);
	(void)close(proc_fd);
}
