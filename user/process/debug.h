/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_DEBUG_H
#define HL_PROCESS_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_reach;

/*
 * Opens the separate debug file of a build-id below @root (a directory descriptor, "/" in earnest): where
 * distributions put it, /usr/lib/debug/.build-id/xx/yyyy.debug, and where perf caches files, in both its
 * layouts below @home (a path relative to @root; NULL: none): .debug/.build-id/xx/yyyy/debug, …/elf, and
 * .debug/.build-id/xx/yyyy itself. Only regular files below @root are
 * opened, see hl_reach_open_in_root(). A descriptor, owned by the caller, or
 * -ENOENT. @skip of the places that are there are passed over, for a caller that could not use them. @ret_copy, may be
 * NULL: it is perf's copy of the whole file, as stripped as that is.
 */
int hl_debug_file_open(struct hl_reach *reach, int root, const char *home, const uint8_t *build_id,
		       size_t len, unsigned int skip, bool *ret_copy);

/*
 * Opens the separate debug file that the file at @path, as it is called below @root, names in .gnu_debuglink,
 * at the places of "Debugging with GDB", 18.3: @link in the directory of @path, in .debug/ there, and in that
 * directory below /usr/lib/debug. As above; -EMEDIUMTYPE if what is there is no regular file, -EINVAL if
 * @path is none or @link is no base name.
 */
int hl_debug_link_open(struct hl_reach *reach, int root, const char *path, const char *link,
		       unsigned int skip);

#endif
