// SPDX-License-Identifier: BSD-2-Clause
#include "process/debug.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "process/reach.h"

enum { LONGEST_BUILD_ID = 64 };

int hl_debug_file_open(struct hl_reach *reach, int root, const char *home, const uint8_t *build_id,
		       size_t len, unsigned int skip, bool *ret_copy)
{
	static const struct {
		const char *prefix, *suffix;
		bool in_home, is_copy;
	} places[] = {
		{ "usr/lib/debug/.build-id/", ".debug", false, false },
		{ ".debug/.build-id/", "/debug", true, false },
		{ ".debug/.build-id/", "/elf", true, true },
		{ ".debug/.build-id/", "", true, true },
	};
	struct stat st;
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
		fd = n < (int)sizeof(path) ? hl_reach_open_in_root(reach, root, path, &st) : -ENAMETOOLONG;
		if (fd >= 0 && skip-- == 0) {
			if (ret_copy)
				*ret_copy = places[i].is_copy;
			return fd;
		}
		hl_cleanup_close(&fd);
	}
	return -ENOENT;
}

int hl_debug_link_open(struct hl_reach *reach, int root, const char *path, const char *link,
		       unsigned int skip)
{
	static const struct {
		const char *before, *behind;
	} places[] = { { "", "" }, { "", ".debug/" }, { "usr/lib/debug/", "" } };
	const char *slash = strrchr(path, '/');
	int result = -ENOENT;

	if (path[0] != '/' || !link[0] || strchr(link, '/') || strcmp(link, ".") == 0 ||
	    strcmp(link, "..") == 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char name[PATH_MAX];
		struct stat st;
		int fd, n;

		n = snprintf(name, sizeof(name), "%s%.*s%s%s", places[i].before, (int)(slash - path),
			     path + 1, places[i].behind, link);
		fd = n < (int)sizeof(name) ? hl_reach_open_in_root(reach, root, name, &st) : -ENAMETOOLONG;
		if (fd >= 0 && skip-- == 0)
			return fd;
		if (fd == -EMEDIUMTYPE)
			result = fd;
		hl_cleanup_close(&fd);
	}
	return result;
}
