/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CGROUP_ENTRY_H
#define HL_PROCESS_CGROUP_ENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "process/cgroup.h"
#include "process/cgroup_mounts.h"

/* What cgroup.c and cgroup_ask.c share. */

struct hl_cgroup_place;
struct hl_container;
struct hl_container_sockets;

/* Whether runtimes are asked about its container. */
enum hl_question {
	HL_NOT_ASKED, /* not yet, or there is no need */
	HL_TO_ASK,    /* since due_ns */
	HL_TO_ASK_AGAIN,
	HL_ASKED,
};

struct hl_cgroup_entry {
	struct hl_cgroup cgroup;
	struct hl_container *container;
	uint64_t used_ns; /* CLOCK_MONOTONIC */
	uint32_t tries;
	char *path, *unit;
	/* As it was when it was made, until it is looked at; NULL: that was not seen. */
	char *expected;
	struct hl_container *early; /* NULL: in none, or nothing was known yet */
	bool early_whole;           /* all files that were there could be used, or a runtime answered */
	enum hl_question question;
	uint64_t due_ns;                  /* of the question, CLOCK_MONOTONIC */
	bool given;                       /* others have seen the cgroup above, so that it does not change: */
	struct hl_cgroup later;           /* the same with what a runtime answered */
	struct hl_container *late_answer; /* NULL: `cgroup` counts */
};

struct hl_cgroups {
	struct hl_cgroup_mounts mounts;
	struct hl_reach *reach;
	int root_fd;                    /* the host's "/" */
	pthread_mutex_t lock;           /* of all below */
	struct hl_cgroup_entry **items; /* apart, so that none moves */
	size_t n, cap;
	struct hl_index index; /* by kind and id */
	struct hl_cgroups_stats stats;
	size_t n_expected;
	/* Of questions; NULL: nobody is asked. */
	struct hl_container_sockets *sockets;
	int ask_fd;
	pthread_cond_t answered;
	size_t n_to_ask, ask_from; /* where the next is looked for */
};

/* All of these are to be called with the lock held. */

/* NULL: it was never looked at. */
struct hl_cgroup_entry *hl_cgroups_find(const struct hl_cgroups *cgroups, uint8_t kind, uint64_t id);

/* Has runtimes asked about @container, which is @entry's at @place, unless they were or something described it. */
void hl_cgroups_consider_asking(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry,
				const struct hl_cgroup_place *place, const struct hl_container *container);
/* They are not asked any more, as @entry goes. */
void hl_cgroups_end_question(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry);
/* Whether a question is open. */
bool hl_cgroup_is_to_ask(const struct hl_cgroup_entry *entry);

#endif
