// SPDX-License-Identifier: BSD-2-Clause
#include "process/cgroup_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "sample/window.h"

enum { MOUNTS_LIMIT = 4 << 20, PROC_LIMIT = 1 << 16 };

/* Type of the file handles of kernfs, whose bytes are the 64-bit id (FILEID_KERNFS in linux/exportfs.h). */
enum { KERNFS_HANDLE = 0xfe };

static bool has_option(const char *options, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = options; (at = strstr(at, name)); at += n)
		if ((at == options || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

/* "36 35 98:0 /ROOT POINT OPTIONS TAGS… - TYPE SOURCE SUPER_OPTIONS" (proc(5)) */
static void take_mount(struct hl_cgroup_mounts *mounts, char *line)
{
	char *behind = strstr(line, " - "), *root, *point, type[16] = "", super[256] = "";
	int kind, at = 0, end = 0;

	if (!behind || sscanf(behind, " - %15s %*s %255s", type, super) < 1 ||
	    sscanf(line, "%*s %*s %*s %n%*s%n", &at, &end) < 0 || end <= at || line[end] != ' ')
		return;
	root = line + at;
	line[end] = '\0';
	point = line + end + 1;
	if (strcmp(type, "cgroup2") == 0)
		kind = HL_CGROUP_V2;
	else if (strcmp(type, "cgroup") == 0 && has_option(super, "memory"))
		kind = HL_CGROUP_V1_MEMORY;
	else
		return;
	point[strcspn(point, " ")] = '\0';
	/* A part of the tree, as a container may have, is of no use; nor are points with blanks, as \040. */
	if (mounts->fds[kind] >= 0 || strcmp(root, "/") != 0 || strchr(point, '\\'))
		return;
	mounts->points[kind] = strdup(point);
	if (mounts->points[kind])
		mounts->fds[kind] = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void hl_cgroup_mounts_find(struct hl_cgroup_mounts *mounts, int proc_fd)
{
	_cleanup_free_ char *text = NULL;

	*mounts = (struct hl_cgroup_mounts){ .proc_fd = proc_fd, .fds = { -1, -1 } };
	if (hl_read_file_at(proc_fd, "self/mountinfo", MOUNTS_LIMIT, &text, NULL))
		return;
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		take_mount(mounts, line);
	}
}

void hl_cgroup_mounts_done(struct hl_cgroup_mounts *mounts)
{
	for (int kind = 0; kind < 2; kind++) {
		hl_cleanup_close(&mounts->fds[kind]);
		free(mounts->points[kind]);
	}
}

int hl_cgroup_path_by_id(const struct hl_cgroup_mounts *mounts, uint8_t kind, uint64_t id, struct hl_str *out)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} h = { .handle = { .handle_bytes = sizeof(id), .handle_type = KERNFS_HANDLE } };
	_cleanup_close_ int fd = -1;
	char link[PATH_MAX], self[32];
	struct stat st;
	size_t prefix;
	ssize_t n;

	if (kind > HL_CGROUP_V1_MEMORY || mounts->fds[kind] < 0)
		return -ENOTSUP;
	memcpy(h.handle.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mounts->fds[kind], &h.handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE ? -ENOENT : errno == EPERM ? -ENOTSUP : -errno;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, link, sizeof(link));
	if (n < 0 || n == (ssize_t)sizeof(link) || fstat(fd, &st))
		return -ENAMETOOLONG;
	link[n] = '\0';
	prefix = strlen(mounts->points[kind]);
	if (strncmp(link, mounts->points[kind], prefix) != 0 || (link[prefix] && link[prefix] != '/'))
		return -ENOTSUP;
	/* Removed since: the kernel marks such paths, and a name may end like the mark. */
	if (hl_cgroup_id_at(mounts, kind, link + prefix) != id)
		return -ENOENT;
	hl_str_adds(out, link[prefix] ? link + prefix : "/");
	return hl_str_status(out);
}

uint64_t hl_cgroup_id_at(const struct hl_cgroup_mounts *mounts, uint8_t kind, const char *path)
{
	struct stat st;

	while (*path == '/')
		path++;
	if (kind > HL_CGROUP_V1_MEMORY || mounts->fds[kind] < 0 ||
	    fstatat(mounts->fds[kind], *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	return st.st_ino;
}

/* Whether a line of /proc/PID/cgroup, "NUMBER:CONTROLLERS:PATH", is of @kind. */
static bool is_of_kind(const char *line, const char *controllers, const char *path, uint8_t kind)
{
	char list[128];

	if (kind == HL_CGROUP_V2)
		return hl_starts_with(line, "0::");
	(void)snprintf(list, sizeof(list), "%.*s", (int)(path - 1 - controllers), controllers);
	return kind == HL_CGROUP_V1_MEMORY ? has_option(list, "memory") : path[0] == '/' && path[1];
}

int hl_cgroup_path_of(const struct hl_cgroup_mounts *mounts, pid_t pid, uint8_t kind, struct hl_str *out)
{
	static const char deleted[] = " (deleted)";
	_cleanup_free_ char *text = NULL;
	char name[32];
	int code;

	(void)snprintf(name, sizeof(name), "%d/cgroup", (int)pid);
	code = hl_read_file_at(mounts->proc_fd, name, PROC_LIMIT, &text, NULL);
	if (code)
		return code;
	for (char *line = text, *end; *line; line = end) {
		const char *controllers = strchr(line, ':'), *path;

		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path || !is_of_kind(line, controllers + 1, path + 1, kind))
			continue;
		hl_str_add(out, path + 1,
			   strlen(path + 1) - (hl_ends_with(path, deleted) ? strlen(deleted) : 0));
		return hl_str_status(out);
	}
	return -ENOENT;
}
