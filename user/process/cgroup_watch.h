/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CGROUP_WATCH_H
#define HL_PROCESS_CGROUP_WATCH_H

#include "base/cleanup.h"

struct hl_cgroups;

/*
 * Sees cgroups when they are made, which is before anything runs in them: a container of a tenth of a second may
 * be gone before its first sample is looked at. See cgroup_watch.c.
 */
struct hl_cgroup_watch;

/*
 * Watches the hierarchies in the mountinfo below @proc_fd, an open /proc that stays the caller's, and tells
 * @cgroups, which must outlive it. NULL without memory. hl_cgroup_watch_free() accepts NULL.
 */
struct hl_cgroup_watch *hl_cgroup_watch_new(struct hl_cgroups *cgroups, int proc_fd);
void hl_cgroup_watch_free(struct hl_cgroup_watch *watch);
HL_DEFINE_CLEANUP(struct hl_cgroup_watch, hl_cgroup_watch_free)

/* A descriptor that is readable when there is something to take; -1 where nothing can be watched. */
int hl_cgroup_watch_fd(const struct hl_cgroup_watch *watch);
/* Takes what there is, without waiting. */
void hl_cgroup_watch_take(struct hl_cgroup_watch *watch);

#endif
