/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_PROC_H
#define HL_PROCESS_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

/* The readers of /proc that others build on. @proc_fd is an open /proc; see proc(5) for its files. */

/* Calls @each for every process there is. 0 or -errno. */
int hl_proc_each(int proc_fd, void (*each)(void *ctx, pid_t pid), void *ctx);

/*
 * Whether @dir_fd, an open /proc/PID, is of the process whose first thread started @start_time ns after boot:
 * numbers are used again.
 */
bool hl_proc_started(int dir_fd, uint64_t start_time);

/* A line of a maps file. */
struct hl_proc_mapping {
	uint64_t start, end;
	uint64_t offset; /* of `start` in the file */
	uint64_t inode;  /* 0: no file */
	uint64_t device; /* major << 32 | minor, as the file system reports it */
	bool exec;
	bool shared;
	const char *path; /* what stands behind, "" if nothing; valid during the call */
};

/*
 * Calls @each for every mapping in @maps, a path below @proc_fd such as "1/maps", until it returns false.
 * 0 or -errno: -ENOENT when the process has ended.
 */
int hl_proc_maps(int proc_fd, const char *maps,
		 bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx);
/* The same of an open maps file, or a copy of one, which is closed. */
int hl_proc_maps_of(int fd, bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx);

/*
 * A readable descriptor for what @path_fd (opened O_PATH) names, with its state in @ret_stat. Only a regular
 * file is opened, since opening a FIFO or a device can block or act: -EMEDIUMTYPE for anything else.
 */
int hl_proc_reopen(int path_fd, struct stat *ret_stat);

/*
 * Opens the regular file @path below @root as it stands in that tree: "/", ".." and every symbolic link stay
 * inside, and no link of /proc is followed. For names that a container chose. A readable descriptor, the
 * caller's, with its state in @ret_stat; as hl_proc_reopen() for other than regular files, else -errno.
 */
int hl_proc_open_in_root(int root, const char *path, struct stat *ret_stat);

#endif
