/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_CGROUP_THREAD_H
#define HL_COMMAND_CGROUP_THREAD_H

struct hl_cgroups;
struct hl_err;

/*
 * A thread that looks at cgroups when they are made, whatever the others wait for; and, where sockets of runtimes are
 * used, one that asks there.
 */
struct hl_cgroup_thread;

/* @cgroups and @proc_fd, an open /proc, stay the caller's. 0 or -errno. */
int hl_cgroup_thread_new(struct hl_cgroups *cgroups, int proc_fd, struct hl_cgroup_thread **ret,
			 struct hl_err *err);
/* Stops them. Accepts NULL. */
void hl_cgroup_thread_free(struct hl_cgroup_thread *thread);

#endif
