/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_CGROUP_H
#define HL_PROCESS_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hl_container;
struct hl_reach;
struct hl_window;

/*
 * The cgroups that samples name by id, and what they tell of containers and units. Each is looked at the first
 * time that it is seen, while it and the files of its runtime are there, and is kept: a container that has
 * ended still has its names. Threads may share one of these; what hl_cgroups_get() gives does not change and
 * stays until hl_cgroups_expire() lets go of it.
 */
struct hl_cgroups;

struct hl_cgroup {
	uint64_t id;
	uint8_t kind;     /* enum hl_cgroup_kind, of the id */
	const char *path; /* as the host sees it; any bytes but '\n'; NULL: it was gone before it was seen */
	const char *unit; /* systemd's, NULL outside of one */
	const struct hl_container *container; /* NULL: in none */
};

/* Known so far. */
struct hl_cgroups_stats {
	uint64_t n, unknown; /* cgroups, and those of them that were gone before they were seen */
	uint64_t containers;
	uint64_t undescribed; /* containers of which no file of a runtime was there */
	uint64_t refused;     /* whose file could not be used */
	uint64_t labels_dropped;
	uint64_t dropped;    /* look-ups that found no room */
	char why[200];       /* of the first that was refused */
	uint64_t unanswered; /* cgroups of containers of which a runtime is yet to be asked, maybe again */
	uint64_t failures;   /* questions to runtimes that failed */
	char failure[200];   /* the first of them */
};

/*
 * Finds the cgroup file systems by the mountinfo below @proc_fd, an open /proc, and the host's root as that of
 * process 1, or if that may not be opened its own. @proc_fd stays the caller's, as does @reach,
 * which opens files. NULL: no memory.
 */
struct hl_cgroups *hl_cgroups_new(int proc_fd, struct hl_reach *reach);
void hl_cgroups_free(struct hl_cgroups *cgroups);

/*
 * From now on runtimes are asked about containers of which no file was there: those at the @n sockets @paths, of
 * which there is one or more; see hl_container_sockets_new(). To be called once, before there are other threads.
 * 0 or -ENOMEM.
 */
int hl_cgroups_use_sockets(struct hl_cgroups *cgroups, const char *const *paths, size_t n);
/*
 * Asks about one container, if that is due, which takes HL_ASK_MS a socket at most; nobody else has to wait meanwhile.
 * To be called by a thread that does nothing else, after so many milliseconds as it returned, -1: any number, or when
 * the descriptor below can be read.
 */
int hl_cgroups_ask(struct hl_cgroups *cgroups);
/* Can be read when there is something to ask; -1: no sockets are used. */
int hl_cgroups_ask_fd(const struct hl_cgroups *cgroups);

/*
 * Looks at the cgroups of the samples from number @first of @window on that are new. To be called after each
 * drain.
 */
void hl_cgroups_look(struct hl_cgroups *cgroups, const struct hl_window *window, size_t first);
/*
 * Looks at the cgroup that process @pid is in now. To be called when a process runs a file that was not seen
 * before, as a new container does: it may be gone before the next drain.
 */
void hl_cgroups_look_at(struct hl_cgroups *cgroups, pid_t pid);

/*
 * Looks at the cgroup at @path of a hierarchy, which was made just now: one that is gone when its first sample is
 * looked at is known all the same. It counts as known only with its first sample.
 */
void hl_cgroups_expect(struct hl_cgroups *cgroups, uint8_t kind, const char *path);

/*
 * The cgroup of a sample; NULL if it was never looked at. If a runtime is being asked about its container, that is
 * waited for, until HL_ASK_MS after it was seen; an answer that comes later is given from then on.
 */
const struct hl_cgroup *hl_cgroups_get(struct hl_cgroups *cgroups, uint8_t kind, uint64_t id);
/* Forgets those that no call named since @before_ns of CLOCK_MONOTONIC. */
void hl_cgroups_expire(struct hl_cgroups *cgroups, uint64_t before_ns);
void hl_cgroups_stats(struct hl_cgroups *cgroups, struct hl_cgroups_stats *ret);

#endif
