// SPDX-License-Identifier: BSD-2-Clause
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Clock ticks of /proc/PID/stat are hundredths of a second on every Linux. */
#define TICK_NS UINT64_C(10000000)

int hl_proc_each(int proc_fd, void (*each)(void *ctx, pid_t pid), void *ctx)
{
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int code = -errno;

		hl_cleanup_close(&fd);
		return code;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			each(ctx, (pid_t)strtol(entry->d_name, NULL, 10));
	return 0;
}

bool hl_proc_started(int dir_fd, uint64_t start_time)
{
	_cleanup_free_ char *stat = NULL;
	const char *at;

	if (hl_read_file_at(dir_fd, "stat", 4096, &stat, NULL))
		return false;
	/* The name in parentheses may hold anything; field 22 is the 20th behind it. */
	at = strrchr(stat, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at && strtoull(at + 1, NULL, 10) == start_time / TICK_NS;
}

static bool parse_line(char *line, struct hl_proc_mapping *ret)
{
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	char perms[8] = "";
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, perms, &offset, &major, &minor, &inode,
		   &path) < 7)
		return false;
	*ret = (struct hl_proc_mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.device = (uint64_t)major << 32 | minor,
		.exec = perms[2] == 'x',
		.shared = perms[2] && perms[3] == 's',
		.path = path ? line + path : "",
	};
	return true;
}

int hl_proc_maps(int proc_fd, const char *maps,
		 bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx)
{
	int fd = openat(proc_fd, maps, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : hl_proc_maps_of(fd, each, ctx);
}

int hl_proc_maps_of(int fd, bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx)
{
	_cleanup_fclose_ FILE *f = fdopen(fd, "r");
	_cleanup_free_ char *line = NULL;
	struct hl_proc_mapping mapping;
	size_t size = 0;

	if (!f) {
		int code = -errno;

		hl_cleanup_close(&fd);
		return code;
	}
	while (getline(&line, &size, f) > 0)
		if (parse_line(line, &mapping) && !each(ctx, &mapping))
			break;
	return 0;
}

int hl_proc_reopen(int path_fd, struct stat *ret_stat)
{
	_cleanup_close_ int fd = -1;
	char self[64];

	if (fstat(path_fd, ret_stat))
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -EMEDIUMTYPE;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* Its state as of now: someone may write to it. */
	return fd < 0 || fstat(fd, ret_stat) ? -errno : TAKE_FD(fd);
}

int hl_proc_open_in_root(int root, const char *path, struct stat *ret_stat)
{
	enum { TRIES = 16 };
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int path_fd = -1;

	/* EAGAIN: something was renamed or mounted while ".." was resolved; openat2(2) says to try again. */
	for (int i = 0; i < TRIES && path_fd < 0 && (i == 0 || errno == EAGAIN); i++)
		path_fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	return path_fd < 0 ? -errno : hl_proc_reopen(path_fd, ret_stat);
}
