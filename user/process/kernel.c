// SPDX-License-Identifier: BSD-2-Clause
#include "process/kernel.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/io.h"
#include "process/debug.h"
#include "process/reach.h"

enum { MAX_NOTES = 1 << 16 };

/* One note (System V gABI, "Note Section") at @c: its name and its bytes. False behind the last one. */
static bool read_note(struct hl_cursor *c, uint32_t *ret_type, const char **ret_name, size_t *ret_name_len,
		      const uint8_t **ret_bytes, size_t *ret_len)
{
	uint32_t name_len = hl_cursor_u32(c), len = hl_cursor_u32(c);
	const void *name, *bytes;

	*ret_type = hl_cursor_u32(c);
	name = hl_cursor_bytes(c, name_len);
	hl_cursor_skip(c, -name_len & 3);
	bytes = hl_cursor_bytes(c, len);
	hl_cursor_skip(c, -len & 3);
	*ret_name = name;
	*ret_name_len = name_len;
	*ret_bytes = bytes;
	*ret_len = len;
	return name && bytes;
}

size_t hl_kernel_build_id(int sys, uint8_t ret[HL_KERNEL_BUILD_ID_MAX])
{
	_cleanup_free_ char *notes = NULL;
	const uint8_t *bytes;
	const char *name;
	struct hl_cursor c;
	size_t len, name_len;
	uint32_t type;

	if (hl_read_file_at(sys, "kernel/notes", MAX_NOTES, &notes, &len) < 0)
		return 0;
	c = hl_cursor_of(notes, len, "the kernel's notes");
	while (hl_cursor_left(&c) && read_note(&c, &type, &name, &name_len, &bytes, &len))
		if (type == NT_GNU_BUILD_ID && name_len == 4 && memcmp(name, "GNU", 4) == 0 &&
		    len <= HL_KERNEL_BUILD_ID_MAX) {
			memcpy(ret, bytes, len);
			return len;
		}
	return 0;
}

int hl_kernel_debug_open(struct hl_reach *reach, int root, const char *release, const uint8_t *build_id,
			 size_t len, unsigned int skip)
{
	static const char *const places[] = {
		"usr/lib/debug/boot/vmlinux-%s",       "usr/lib/debug/lib/modules/%s/vmlinux",
		"usr/lib/debug/boot/vmlinux-%s.debug", "lib/modules/%s/vmlinux",
		"lib/modules/%s/build/vmlinux",        "boot/vmlinux-%s",
	};
	unsigned int seen = 0;
	struct stat st;
	int fd;

	while ((fd = hl_debug_file_open(reach, root, NULL, build_id, len, seen, NULL)) >= 0) {
		if (seen++ == skip)
			return fd;
		hl_cleanup_close(&fd);
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), places[i], release) >= (int)sizeof(path))
			continue;
		fd = hl_reach_open_in_root(reach, root, path, &st);
		if (fd >= 0 && seen++ == skip)
			return fd;
		hl_cleanup_close(&fd);
	}
	return -ENOENT;
}
