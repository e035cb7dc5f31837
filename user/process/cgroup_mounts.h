/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CGROUP_MOUNTS_H
#define HL_PROCESS_CGROUP_MOUNTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

/* Where cgroups are found by path and by id: version 2, and the memory controller of version 1. */
struct hl_cgroup_mounts {
	int proc_fd;
	int fds[2];      /* by enum hl_cgroup_kind; -1: not mounted */
	char *points[2]; /* where they are mounted */
};

/* By the mountinfo of this process below @proc_fd. What cannot be found is left out. */
void hl_cgroup_mounts_find(struct hl_cgroup_mounts *mounts, int proc_fd);
void hl_cgroup_mounts_done(struct hl_cgroup_mounts *mounts);

/*
 * Appends the path of the cgroup whose id is @id. 0; -ENOENT: there is none by now; -ENOTSUP: it cannot be asked
 * for, as without CAP_DAC_READ_SEARCH; other -errno.
 */
int hl_cgroup_path_by_id(const struct hl_cgroup_mounts *mounts, uint8_t kind, uint64_t id,
			 struct hl_str *out);

/*
 * Appends the path of the cgroup of kind @kind that process @pid is in; for HL_CGROUP_PID_NS of any hierarchy
 * in which it is not in the root. 0 or -errno.
 */
int hl_cgroup_path_of(const struct hl_cgroup_mounts *mounts, pid_t pid, uint8_t kind, struct hl_str *out);

/* The id of the cgroup at @path; 0: there is none, or it is not to be seen from here. */
uint64_t hl_cgroup_id_at(const struct hl_cgroup_mounts *mounts, uint8_t kind, const char *path);

#endif
