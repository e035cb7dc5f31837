/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SESSION_H
#define HL_COMMAND_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/capture.h"
#include "sample/window.h"

struct hl_cache;
struct hl_cgroups;
struct hl_code_files;
struct hl_exes;
struct hl_files;
struct hl_moved_code;
struct hl_reach;
struct hl_symd_options;
struct hl_symd_stats;
struct hl_words;

/*
 * A running capture with all that belongs to it: a thread of its own opens files the moment that they are
 * first sampled, since their process may be gone soon; the caller's thread drains.
 */
struct hl_session;

/*
 * Loads everything, starts nothing. The symd of @symd compiles unwind tables: one of its own, so that no
 * work on names keeps new files waiting for tables. @cache keeps them; it stays the caller's, who leaves it alone
 * until the stop, and may be NULL. 0 or -errno. hl_session_free() accepts NULL.
 */
int hl_session_new(const struct hl_capture_options *options, const struct hl_symd_options *symd,
		   struct hl_cache *cache, struct hl_session **ret, struct hl_err *err);
void hl_session_free(struct hl_session *session);

/*
 * From now on cgroups, containers and executables are looked at as they appear. Before the start. Runtimes are asked at
 * @sockets, if there are any, which live as long as the session. 0 or -errno.
 */
int hl_session_watch_identities(struct hl_session *session, const struct hl_words *sockets,
				struct hl_err *err);
/*
 * Opens what runs already and makes its tables, so that they are there when the first sample comes; the other thread
 * does. 0 or -errno. hl_session_is_prepared(): that is done, or has taken long enough.
 */
int hl_session_prepare(struct hl_session *session, struct hl_err *err);
bool hl_session_is_prepared(const struct hl_session *session);
/* Begins sampling when the session is prepared. 0 or -errno. */
int hl_session_start(struct hl_session *session, struct hl_err *err);
/*
 * Ends sampling, only for a moment perhaps: it goes on with hl_session_resume(), or comes to its end with
 * hl_session_stop().
 */
void hl_session_pause(struct hl_session *session);
void hl_session_resume(struct hl_session *session);
/* Moves what was sampled since the last call into @window. To be called about once a second. */
int hl_session_drain(struct hl_session *session, struct hl_window *window, struct hl_err *err);
/* Ends sampling, if it was not paused, and drains the rest; the files are final afterwards. */
int hl_session_stop(struct hl_session *session, struct hl_window *window, struct hl_err *err);

/*
 * Of a session that still samples, for a third thread: a copy of what is known of code that processes make,
 * made by the thread that drains; NULL without memory or descriptors.
 */
struct hl_code_files *hl_session_copy_code(struct hl_session *session);
/* The same of code that they moved out of files; see hl_session_moved_code(). */
struct hl_moved_code *hl_session_copy_moved(struct hl_session *session, uint64_t *ret_refused);
/* Copies what is known of the files in @window, and of those that @moved names, to @into. */
void hl_session_copy_files(struct hl_session *session, const struct hl_window *window,
			   const struct hl_moved_code *moved, struct hl_files *into);

/*
 * For sessions without an end: asks the other thread to forget files that no program has met for @unused_s
 * seconds. Their ids may still stand in windows: when all those that were filled up to three drains later are
 * resolved, and all that was known of files is forgotten, hl_session_reuse_files() lets other files have them.
 */
void hl_session_expire_files(struct hl_session *session, unsigned int unused_s);
void hl_session_reuse_files(struct hl_session *session);

/*
 * Starts the lists of processes that make or move code anew, as they only grow; to be called by the thread that
 * drains.
 * 0 or -ENOMEM: then it stays.
 */
int hl_session_forget_code(struct hl_session *session);

/* As hl_capture_limit_tables(), by the other thread, soon. */
void hl_session_limit_tables(struct hl_session *session, unsigned int mb);
/* CPU time of the symbolizer that makes tables, as of the last one; at any time. */
uint64_t hl_session_tables_cpu_ns(const struct hl_session *session);

struct hl_capture *hl_session_capture(const struct hl_session *session);
/* After the stop only: until then the other thread writes to them. */
const struct hl_files *hl_session_files(const struct hl_session *session);
/* Whether /proc counts processes as a container does, not as the kernel. */
bool hl_session_has_foreign_ids(const struct hl_session *session);
/* As hl_files_unrooted(). */
uint64_t hl_session_unrooted(struct hl_session *session);
struct hl_reach *hl_session_reach(const struct hl_session *session);
const struct hl_code_files *hl_session_code_files(const struct hl_session *session);
/* What was seen of cgroups so far, at any time; NULL if they are not watched. */
struct hl_cgroups *hl_session_cgroups(const struct hl_session *session);
/* The same of executables. */
struct hl_exes *hl_session_exes(const struct hl_session *session);
/* Code that processes moved out of files, and how much of it is walked as code of no file for want of room. */
const struct hl_moved_code *hl_session_moved_code(const struct hl_session *session, uint64_t *ret_refused);

/* When sampling began and ended, since the epoch; and the CPU time that this process used in between. */
struct hl_session_times {
	uint64_t start_ns, end_ns;
	uint64_t elapsed_ns;       /* by a clock that is not set */
	uint64_t end_monotonic_ns; /* CLOCK_MONOTONIC of the end */
	uint64_t process_cpu_ns;   /* its symd included */
};
/* After the stop only. */
void hl_session_symd_stats(const struct hl_session *session, struct hl_symd_stats *ret);
struct hl_session_times hl_session_times(const struct hl_session *session);

#endif
