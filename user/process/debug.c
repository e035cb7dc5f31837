// SPDX-License-Identifier: BSD-2-Clause
#include "process/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { LONGEST_BUILD_ID = 64 };

/* Opening a FIFO or a device can block or act, so what it is comes first. */
static int open_regular(int root, const char *path)
{
	_cleanup_close_ int path_fd = openat(root, path, O_PATH | O_CLOEXEC);
	char self[64];
	struct stat st;
	int fd;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int hl_debug_file_open(int root, const char *home, const uint8_t *build_id, size_t len, unsigned int skip)
{
	static const struct {
		const char *prefix, *suffix;
		int in_home;
	} places[] = {
		{ "usr/lib/debug/.build-id/", ".debug", 0 },
		{ ".debug/.build-id/", "/debug", 1 },
		{ ".debug/.build-id/", "/elf", 1 },
		{ ".debug/.build-id/", "", 1 },
	};
	char hex[2 * LONGEST_BUILD_ID + 2], path[PATH_MAX];
	size_t at = 0;

	if (len < 2 || len > LONGEST_BUILD_ID)
		return -ENOENT;
	for (size_t i = 0; i < len; i++)
		at += (size_t)snprintf(hex + at, sizeof(hex) - at, i == 0 ? "%02x/" : "%02x", build_id[i]);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd, n;

		if (places[i].in_home && !home)
			continue;
		n = snprintf(path, sizeof(path), "%s%s%s%s%s", places[i].in_home ? home : "",
			     places[i].in_home ? "/" : "", places[i].prefix, hex, places[i].suffix);
		fd = n < (int)sizeof(path) ? open_regular(root, path) : -ENAMETOOLONG;
		if (fd >= 0 && skip-- == 0)
			return fd;
		hl_cleanup_close(&fd);
	}
	return -ENOENT;
}
