/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_REACH_H
#define HL_PROCESS_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"

struct hl_err;
struct hl_file_event;
struct hl_process_key;
struct hl_remapped;
struct stat;

/*
 * Opens and reads what may lie on a file system that does not answer: a FUSE mount whose daemon hangs, an NFS
 * server that is gone. A lookup, a stat, an open, a read there, even a close, blocks for ever, and not always
 * so that SIGKILL ends it; reading how such a process is laid out can block as well, behind a lock that it
 * holds. Child processes do all this and hand over descriptors. Who waits for one gives up after HL_REACH_MS;
 * the child is left to its fate and replaced, and the place is not tried again for a minute.
 *
 * A file on FUSE comes as a copy in memory, of its state now: closing the file itself would have to wait for
 * the daemon, at a time when it may hang.
 *
 * All functions may be called by several threads at once. A NULL reach is none: then all is done in place.
 */
struct hl_reach;

enum { HL_REACH_MS = 500 };
/* The largest file that is copied, and what all copies may come to. */
enum { HL_REACH_COPY_MAX = 64 << 20, HL_REACH_COPIES_MAX = 256 << 20 };

/* To be called while there are no other threads, as the children descend from a fork. 0 or -errno. */
int hl_reach_new(struct hl_reach **ret, struct hl_err *err);
void hl_reach_free(struct hl_reach *reach);

struct hl_reach_stats {
	uint64_t unanswered; /* requests that were given up */
	uint64_t untried;    /* the place did not answer lately, or too many children are stuck */
	uint64_t copied;     /* files on FUSE */
	uint64_t uncopied;   /* files on FUSE that are too large, alone or with the others */
	uint64_t killed;     /* how often the child that makes the others was replaced */
	uint64_t cpu_ns;     /* of the children, for what was answered */
	char first[80];      /* what was given up first */
};
void hl_reach_stats(struct hl_reach *reach, struct hl_reach_stats *ret);

/*
 * Opens the regular file that a magic link of /proc leads to, such as "1/exe" below @proc_fd, which works for
 * deleted files and over mount namespaces. @place tells file systems apart that may not answer, as a device
 * number does; 0: unknown. @ret_stat is the file's state; @ret_link, unless NULL, is where the link says
 * that it points, allocated, NULL without. A readable descriptor, the caller's; -EMEDIUMTYPE if it is no
 * regular file, -ETIMEDOUT without an answer, -EHOSTDOWN untried, -EFBIG uncopied, or another -errno.
 */
int hl_reach_open_link(struct hl_reach *reach, int proc_fd, const char *link, uint64_t place,
		       struct stat *ret_stat, char **ret_link);

/* The state of what such a link leads to, of any type, which is not opened. 0 or -errno, with the errors of above. */
int hl_reach_stat_link(struct hl_reach *reach, int proc_fd, const char *link, uint64_t place,
		       struct stat *ret_stat);
/* hl_proc_open_in_root(), with the errors of above. */
int hl_reach_open_in_root(struct hl_reach *reach, int root, const char *path, struct stat *ret_stat);

/* hl_proc_maps(), with the errors of above. */
int hl_reach_maps(struct hl_reach *reach, int proc_fd, const char *maps,
		  bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx);

/* hl_remapped_find(); 0 also without an answer, since it reads from the memory of the process. */
size_t hl_reach_remapped(struct hl_reach *reach, int proc_fd, const struct hl_file_event *event,
			 struct hl_remapped *ret, size_t *ret_dropped);

/*
 * Reads @n bytes, at most a megabyte, of the file @fd from @at on, or of the memory of @process, which must be the very
 * one: -ESRCH. 0 or -errno, also where not all of them are there; with the errors of above.
 */
int hl_reach_range(struct hl_reach *reach, int fd, uint64_t at, void *ret, size_t n);
int hl_reach_memory(struct hl_reach *reach, int proc_fd, const struct hl_process_key *process, uint64_t at,
		    void *ret, size_t n);

/* Whether @code is of a place that does not answer, now or lately. */
bool hl_reach_is_unanswered(int code);

#endif
