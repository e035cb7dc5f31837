// SPDX-License-Identifier: BSD-2-Clause
#include "process/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc.h"

enum { LONGEST_BUILD_ID = 64 };

static int open_regular(int root, const char *path)
{
	_cleanup_close_ int path_fd = openat(root, path, O_PATH | O_CLOEXEC);
	struct stat st;

	return path_fd < 0 ? -errno : hl_proc_reopen(path_fd, &st);
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
