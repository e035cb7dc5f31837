// SPDX-License-Identifier: BSD-2-Clause
#include "command/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "command/cgroup_thread.h"
#include "command/moved_code.h"
#include "command/opener.h"
#include "process/cgroup.h"
#include "process/codefiles.h"
#include "process/exes.h"
#include "process/files.h"
#include "process/maps.h"
#include "process/moved.h"
#include "process/reach.h"
#include "process/tree.h"
#include "symd/client.h"

/*
 * Tables of what runs already are made before sampling starts, as many as this, and as half of the memory for
 * tables holds: the rest has to wait until it is sampled. The start waits for them no longer than this.
 */
enum { EARLY_BYTES = 16 << 20, EARLY_MS = 3000 };

static uint64_t process_cpu_ns(const struct hl_session *session)
{
	struct hl_reach_stats reach;
	struct hl_symd_stats symd;

	hl_symd_stats(session->symd, &symd);
	hl_reach_stats(session->reach, &reach);
	return hl_process_cpu_ns() + symd.cpu_ns + reach.cpu_ns;
}

/* Each sampled file keeps a descriptor; the soft limit is often 1,024 only. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int hl_session_new(const struct hl_capture_options *options, const struct hl_symd_options *symd,
		   struct hl_cache *cache, struct hl_session **ret, struct hl_err *err)
{
	struct hl_session *session = calloc(1, sizeof(*session));
	const char *why;
	int code;

	if (!session)
		return hl_err_set(err, -ENOMEM, "no memory for the capture");
	session->stop_fd = session->ready_fd = -1;
	session->cache = cache;
	(void)pthread_mutex_init(&session->files_lock, NULL); /* cannot fail */
	session->early_bytes = EARLY_BYTES;
	if (options->unwind_mb && (size_t)options->unwind_mb << 19 < EARLY_BYTES)
		session->early_bytes = (size_t)options->unwind_mb << 19;
	session->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (session->proc_fd < 0) {
		code = hl_err_errno(err, -errno, "cannot open '/proc'");
	} else {
		raise_file_limit();
		code = hl_reach_new(&session->reach, err);
	}
	if (!code)
		code = hl_capture_new(options, &session->capture, err);
	if (!code) {
		session->stop_fd = eventfd(0, EFD_CLOEXEC);
		session->ready_fd = eventfd(0, EFD_CLOEXEC);
		session->files = hl_files_new(session->proc_fd, session->reach);
		session->code_files = hl_code_files_new(session->proc_fd, session->reach);
		session->moved = hl_moved_watch_new(session->proc_fd, session->reach, session->capture,
						    session->files, hl_opener_on_file, session);
		if (hl_capture_walk(session->capture, &why) == HL_CAPTURE_WALK_KERNEL)
			session->maps = hl_maps_new(session->proc_fd, session->reach, session->files);
		if (session->stop_fd < 0 || session->ready_fd < 0 || !session->files ||
		    !session->code_files || !session->moved)
			code = hl_err_set(err, -ENOMEM, "no memory for the capture");
	}
	if (!code) {
		session->symd = hl_symd_new_with(symd, err);
		code = session->symd ? 0 : -ECHILD;
	}
	if (code) {
		hl_session_free(session);
		return code;
	}
	*ret = session;
	return 0;
}

static void stop_opener(struct hl_session *session)
{
	uint64_t one = 1;

	if (!session->opener_runs)
		return;
	(void)!write(session->stop_fd, &one, sizeof(one));
	(void)pthread_join(session->opener, NULL);
	session->opener_runs = false;
}

void hl_session_free(struct hl_session *session)
{
	if (!session)
		return;
	stop_opener(session);
	hl_capture_free(session->capture);
	hl_code_files_free(session->code_files);
	hl_cgroup_thread_free(session->cgroup_thread);
	hl_cgroups_free(session->cgroups);
	hl_exes_free(session->exes);
	hl_moved_watch_free(session->moved);
	hl_maps_free(session->maps);
	hl_files_free(session->files);
	hl_reach_free(session->reach);
	hl_symd_free(session->symd);
	free(session->waiting.items);
	free(session->lost.items);
	free(session->expired.items);
	hl_cleanup_close(&session->stop_fd);
	hl_cleanup_close(&session->ready_fd);
	hl_cleanup_close(&session->proc_fd);
	free(session);
}

int hl_session_watch_identities(struct hl_session *session, const struct hl_words *sockets,
				struct hl_err *err)
{
	session->cgroups = hl_cgroups_new(session->proc_fd, session->reach);
	session->exes = hl_exes_new(session->proc_fd, session->reach);
	if (!session->cgroups || !session->exes ||
	    (sockets->n && hl_cgroups_use_sockets(session->cgroups, sockets->items, sockets->n)))
		return hl_err_set(err, -ENOMEM, "no memory for cgroups");
	return hl_cgroup_thread_new(session->cgroups, session->proc_fd, &session->cgroup_thread, err);
}

int hl_session_prepare(struct hl_session *session, struct hl_err *err)
{
	int code = pthread_create(&session->opener, NULL, hl_opener_run, session);

	if (code)
		return hl_err_errno(err, -code, "cannot start the thread that opens files");
	session->opener_runs = true;
	session->prepared_by_ns = hl_monotonic_ns() + EARLY_MS * UINT64_C(1000000);
	return 0;
}

/* Whether it is after @wait_ms. */
static bool is_prepared(const struct hl_session *session, int wait_ms)
{
	struct pollfd ready = { .fd = session->ready_fd, .events = POLLIN };

	return poll(&ready, 1, wait_ms) == 1;
}

bool hl_session_is_prepared(const struct hl_session *session)
{
	return is_prepared(session, 0) || hl_monotonic_ns() >= session->prepared_by_ns;
}

int hl_session_start(struct hl_session *session, struct hl_err *err)
{
	int code = session->opener_runs ? 0 : hl_session_prepare(session, err);
	uint64_t now_ns = hl_monotonic_ns();

	if (code)
		return code;
	if (now_ns < session->prepared_by_ns)
		(void)is_prepared(session, (int)((session->prepared_by_ns - now_ns) / 1000000));
	session->times.start_ns = hl_realtime_ns();
	session->started_ns = hl_monotonic_ns();
	session->started_cpu_ns = process_cpu_ns(session);
	return hl_capture_start(session->capture, err);
}

int hl_session_drain(struct hl_session *session, struct hl_window *window, struct hl_err *err)
{
	size_t known = window->n_samples, known_processes = window->n_processes;
	struct hl_window raw = { 0 };
	int code;

	code = hl_capture_drain(session->capture, session->maps ? &raw : window, err);
	if (session->maps) {
		(void)pthread_mutex_lock(&session->files_lock);
		hl_maps_translate(session->maps, &raw, window);
		(void)pthread_mutex_unlock(&session->files_lock);
	}
	hl_window_done(&raw);
	if (session->cgroups) {
		hl_cgroups_look(session->cgroups, window, known);
		hl_exes_look(session->exes, window, known_processes);
	}
	hl_code_files_look(session->code_files, window, known);
	return code;
}

void hl_session_pause(struct hl_session *session)
{
	hl_capture_stop(session->capture);
	session->times.end_ns = hl_realtime_ns();
	session->times.end_monotonic_ns = hl_monotonic_ns();
	session->times.elapsed_ns = session->times.end_monotonic_ns - session->started_ns;
}

void hl_session_resume(struct hl_session *session)
{
	session->times.end_ns = 0;
	hl_capture_resume(session->capture);
}

int hl_session_stop(struct hl_session *session, struct hl_window *window, struct hl_err *err)
{
	int code;

	if (!session->times.end_ns)
		hl_session_pause(session);
	stop_opener(session);
	(void)pthread_mutex_lock(&session->files_lock);
	(void)hl_files_search(session->files);
	(void)pthread_mutex_unlock(&session->files_lock);
	code = hl_session_drain(session, window, err);
	if (!code)
		code = hl_session_drain(session, window, err);
	session->times.process_cpu_ns = process_cpu_ns(session) - session->started_cpu_ns;
	return code;
}

struct hl_code_files *hl_session_copy_code(struct hl_session *session)
{
	return hl_code_files_copy(session->code_files);
}

struct hl_moved_code *hl_session_copy_moved(struct hl_session *session, uint64_t *ret_refused)
{
	return hl_moved_watch_copy(session->moved, ret_refused);
}

static void copy_file(struct hl_session *session, uint32_t id, struct hl_files *into)
{
	const struct hl_open_file *known = id < HL_FILE_FIRST ? NULL : hl_files_get(into, id);

	/* Where that fails, it stays without names, and is counted. */
	if (id >= HL_FILE_FIRST && (!known || known->state != HL_FILE_OPEN))
		(void)hl_files_copy(session->files, id, into);
}

static uint32_t file_of(uint64_t frame)
{
	return frame & HL_FRAME_RAW ? HL_FILE_NONE : (uint32_t)(frame >> HL_FRAME_FILE_SHIFT);
}

void hl_session_copy_files(struct hl_session *session, const struct hl_window *window,
			   const struct hl_moved_code *moved, struct hl_files *into)
{
	uint32_t id;

	(void)pthread_mutex_lock(&session->files_lock);
	for (size_t i = 0; i < window->n_samples; i++)
		copy_file(session, file_of(window->samples[i].key.ip), into);
	for (size_t i = 0; i < window->n_stacks; i++)
		for (uint32_t k = 0; k < window->stacks[i].head.n; k++)
			copy_file(session, file_of(window->stacks[i].frames[k]), into);
	for (size_t i = 0; (id = hl_moved_code_file(moved, i)) != HL_FILE_NONE; i++)
		copy_file(session, id, into);
	(void)pthread_mutex_unlock(&session->files_lock);
}

void hl_session_expire_files(struct hl_session *session, unsigned int unused_s)
{
	atomic_store(&session->expire_s, unused_s);
}

void hl_session_reuse_files(struct hl_session *session)
{
	atomic_store(&session->reuse, true);
}

void hl_session_limit_tables(struct hl_session *session, unsigned int mb)
{
	atomic_store(&session->limit_mb, mb);
}

uint64_t hl_session_tables_cpu_ns(const struct hl_session *session)
{
	return atomic_load(&session->tables_cpu_ns);
}

int hl_session_forget_code(struct hl_session *session)
{
	struct hl_code_files *files = hl_code_files_new(session->proc_fd, session->reach);

	if (!files)
		return -ENOMEM;
	hl_code_files_free(session->code_files);
	session->code_files = files;
	hl_moved_watch_clear(session->moved);
	return 0;
}

struct hl_capture *hl_session_capture(const struct hl_session *session)
{
	return session->capture;
}

const struct hl_files *hl_session_files(const struct hl_session *session)
{
	return session->files;
}

bool hl_session_has_foreign_ids(const struct hl_session *session)
{
	return !hl_process_ids_are_the_hosts(session->proc_fd);
}

uint64_t hl_session_unrooted(struct hl_session *session)
{
	uint64_t n;

	(void)pthread_mutex_lock(&session->files_lock);
	n = hl_files_unrooted(session->files);
	(void)pthread_mutex_unlock(&session->files_lock);
	return n;
}

struct hl_reach *hl_session_reach(const struct hl_session *session)
{
	return session->reach;
}

const struct hl_code_files *hl_session_code_files(const struct hl_session *session)
{
	return session->code_files;
}

struct hl_cgroups *hl_session_cgroups(const struct hl_session *session)
{
	return session->cgroups;
}

struct hl_exes *hl_session_exes(const struct hl_session *session)
{
	return session->exes;
}

const struct hl_moved_code *hl_session_moved_code(const struct hl_session *session, uint64_t *ret_refused)
{
	*ret_refused = hl_moved_watch_refused(session->moved);
	return hl_moved_watch_found(session->moved);
}

void hl_session_symd_stats(const struct hl_session *session, struct hl_symd_stats *ret)
{
	hl_symd_stats(session->symd, ret);
}

struct hl_session_times hl_session_times(const struct hl_session *session)
{
	return session->times;
}
