// SPDX-License-Identifier: BSD-2-Clause
#include "process/reach_job.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/str.h"
#include "process/proc.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546 /* linux/magic.h has it since 5.17 */
#endif

/* A maps file of a process with the 65,530 mappings that are the default limit, and long paths, has less. */
enum { READ_MAX = 32 << 20, MOUNTS_MAX = 4 << 20, RANGE_MAX = 1 << 20, BLOCK = 1 << 16 };

/* virtiofs looks like FUSE, but is a file system of the virtual machine's host: as reliable as a disk. */
static bool is_virtiofs(const struct stat *st)
{
	_cleanup_free_ char *text = NULL;
	char device[32], *line, *rest;

	(void)snprintf(device, sizeof(device), " %u:%u ", major(st->st_dev), minor(st->st_dev));
	if (hl_read_file_at(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, &text, NULL))
		return false;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (strstr(line, " - virtiofs ") && strstr(line, device))
			return true;
	return false;
}

static bool is_on_fuse(int fd, const struct stat *st)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || (fs.f_type == FUSE_SUPER_MAGIC && !is_virtiofs(st));
}

static int write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/* A descriptor of memory with what @from holds, at most @max bytes; -EFBIG if it is more. */
static int copy(int from, uint64_t max, uint64_t *ret_len)
{
	_cleanup_close_ int to = memfd_create("hotleaf-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char block[BLOCK];
	uint64_t len = 0;
	ssize_t n;
	int code;

	if (to < 0)
		return -errno;
	while ((n = read(from, block, sizeof(block))) != 0) {
		if (n < 0)
			return -errno;
		len += (uint64_t)n;
		if (len > max)
			return -EFBIG;
		code = write_all(to, block, (size_t)n);
		if (code)
			return code;
	}
	if (lseek(to, 0, SEEK_SET) < 0 ||
	    fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		return -errno;
	*ret_len = len;
	return TAKE_FD(to);
}

/* The file itself, or a copy if it could not be closed at will. */
static int hand_over(int fd, uint32_t copy_max, struct hl_reach_reply *ret)
{
	_cleanup_close_ int file = fd;
	uint64_t len = 0;
	int made;

	if (file < 0 || !is_on_fuse(file, &ret->st))
		return TAKE_FD(file);
	made = copy(file, copy_max, &len);
	if (made >= 0)
		ret->copied = len + 1;
	return made;
}

/* Where a magic link points, "" if that is not known. */
static void read_link(int dir_fd, const char *path, struct hl_reach_reply *ret)
{
	ssize_t n = readlinkat(dir_fd, path, ret->link, sizeof(ret->link) - 1);

	ret->link[n < 0 ? 0 : n] = '\0';
}

static int open_link(int dir_fd, const char *path, struct hl_reach_reply *ret)
{
	_cleanup_close_ int path_fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);
	int fd;

	if (path_fd < 0)
		return -errno;
	fd = hl_proc_reopen(path_fd, &ret->st);
	if (fd >= 0)
		read_link(dir_fd, path, ret);
	return fd;
}

static int read_file(int dir_fd, const char *path)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint64_t len;

	return fd < 0 ? -errno : copy(fd, READ_MAX, &len);
}

/* A copy of what @from holds from @start to @end, all of it. */
static int copy_range(int from, uint64_t start, uint64_t end)
{
	_cleanup_close_ int to = memfd_create("hotleaf-code", MFD_CLOEXEC);
	char block[BLOCK];
	uint64_t left = end - start;
	int code = to < 0 ? -errno : 0;

	if (!code && left > RANGE_MAX)
		code = -EFBIG;
	while (!code && left) {
		size_t want = left < sizeof(block) ? left : sizeof(block);
		ssize_t n = pread(from, block, want, (off_t)(end - left));

		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		code = write_all(to, block, (size_t)n);
		left -= (uint64_t)n;
	}
	return code ? code : TAKE_FD(to);
}

static int read_memory(int proc_fd, const struct hl_file_event *event)
{
	_cleanup_close_ int dir_fd = -1, fd = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", event->process.tgid);
	dir_fd = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || !hl_proc_started(dir_fd, event->process.start_time))
		return -ESRCH;
	fd = openat(dir_fd, "mem", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : copy_range(fd, event->start, event->end);
}

void hl_reach_do(const struct hl_reach_request *request, int dir_fd, struct hl_reach_reply *ret, int *ret_fd)
{
	int fd = -EINVAL;
	size_t dropped;

	memset(ret, 0, sizeof(*ret));
	*ret_fd = -1;
	switch (request->op) {
	case HL_REACH_OPEN_LINK:
		fd = hand_over(open_link(dir_fd, request->path, ret), request->copy_max, ret);
		break;
	case HL_REACH_OPEN_IN_ROOT:
		fd = hand_over(hl_proc_open_in_root(dir_fd, request->path, &ret->st), request->copy_max, ret);
		break;
	case HL_REACH_READ:
		fd = read_file(dir_fd, request->path);
		break;
	case HL_REACH_RANGE:
		fd = copy_range(dir_fd, request->event.start, request->event.end);
		break;
	case HL_REACH_MEMORY:
		fd = read_memory(dir_fd, &request->event);
		break;
	case HL_REACH_REMAPPED:
		ret->n = (uint32_t)hl_remapped_find(dir_fd, &request->event, ret->remapped, &dropped);
		ret->dropped = dropped;
		return;
	case HL_REACH_STAT_LINK:
		ret->status = fstatat(dir_fd, request->path, &ret->st, 0) ? -errno : 0;
		return;
	}
	if (fd < 0)
		ret->status = fd;
	else
		*ret_fd = fd;
}

int hl_reach_send(int socket, const void *message, size_t len, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec part = { (void *)message, len };
	struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS,
						   .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
		head.msg_control = &control;
		head.msg_controllen = sizeof(control);
	}
	if (sendmsg(socket, &head, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

int hl_reach_receive(int socket, void *message, size_t len, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { message, len };
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	const struct cmsghdr *header;
	ssize_t n;

	do
		n = recvmsg(socket, &head, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	*ret_fd = -1;
	header = CMSG_FIRSTHDR(&head);
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	if ((size_t)n == len && !(head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	/* No room for the descriptor: there are too many open files. */
	if (*ret_fd >= 0)
		(void)close(*ret_fd);
	*ret_fd = -1;
	return head.msg_flags & MSG_CTRUNC ? -EMFILE : -EPROTO;
}
