/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_CGROUP_THREAD_H
#define HL_COMMAND_CGROUP_THREAD_H

struct hl_cgroups;
struct hl_err;

/* A thread that looks at cgroups when they are made, whatever the others wait for. */
struct hl_cgroup_thread;

/* @cgroups and @proc_fd, an open /proc, stay the caller's. 0 or -errno. */
int hl_cgroup_thread_new(struct hl_cgroups *cgroups, int proc_fd, struct hl_cgroup_thread **ret,
			 struct hl_err *err);
/* Stops it. Accepts NULL. */
void hl_cgroup_thread_free(struct hl_cgroup_thread *thread);

#endif
