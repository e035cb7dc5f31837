// SPDX-License-Identifier: BSD-2-Clause
#include "command/opener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "command/moved_code.h"
#include "command/privileges.h"
#include "command/table_thread.h"
#include "process/cgroup.h"
#include "process/exes.h"
#include "process/files.h"
#include "process/vdso.h"
#include "symd/client.h"

/* Beyond so many, files are searched for at the end only: a search reads the maps of all processes. */
enum { MAX_SEARCHED = 256 };
#define SEARCH_INTERVAL_NS UINT64_C(1000000000)

static void load_table(struct hl_session *session, uint32_t id, const uint8_t *bytes, size_t len)
{
	struct hl_err err = { "" };
	int code;

	if (!bytes) {
		hl_capture_settle_file(session->capture, id, HL_TABLE_NONE);
		return;
	}
	code = hl_capture_load_table(session->capture, id, bytes, &err);
	if (code == -ESTALE) /* nobody has run it for long; where someone does, it is another file by now */
		hl_debug("unwind", "%s", err.text);
	else if (code)
		hl_log_once(HL_LOG_WARNING, "unwind", "%s", err.text);
	session->table_bytes += len;
}

/* @file was opened: no more events. Its table comes later, so that the next file is opened in time. */
static void take_file(struct hl_session *session, const struct hl_open_file *file, uint32_t id)
{
	bool waits = hl_id_list_add(&session->waiting, id) == 0;

	hl_capture_settle_file(session->capture, id, waits ? HL_TABLE_PENDING : HL_TABLE_NONE);
}

/* @file is open already, and sampled again. */
static void want_table(struct hl_session *session, uint32_t id)
{
	for (size_t i = 0; i < session->waiting.n; i++)
		if (session->waiting.items[i] == id)
			return;
	(void)hl_id_list_add(&session->waiting, id);
}

/* A new container brings its own files, its executable at least: they are the first sign of it. */
static void look_at(struct hl_session *session, const struct hl_file_event *event)
{
	if (!session->cgroups)
		return;
	hl_cgroups_look_at(session->cgroups, (pid_t)event->tgid);
	hl_exes_on_file(session->exes, event);
}

static void open_file(struct hl_session *session, const struct hl_file_event *event)
{
	const struct hl_open_file *file = hl_files_get(session->files, event->id);
	bool was_open = file && file->state == HL_FILE_OPEN;
	bool was_lost = file && file->state == HL_FILE_FAILED;
	enum hl_file_state state;

	if (event->id == HL_FILE_NONE) {
		hl_moved_watch_take(session->moved, event);
		return;
	}
	state = hl_files_open(session->files, event);
	/* Either its table was dropped, or the event was under way when the file was settled: then all stays. */
	if (was_open) {
		if (hl_capture_table_state(session->capture, event->id) == HL_TABLE_DROPPED)
			want_table(session, event->id);
		return;
	}
	if (state == HL_FILE_REFUSED)
		hl_capture_settle_file(session->capture, event->id, HL_TABLE_NONE);
	if (state == HL_FILE_OPEN)
		take_file(session, hl_files_get(session->files, event->id), event->id);
	if (state == HL_FILE_FAILED && was_lost)
		session->lost_again = true;
	else if (state == HL_FILE_FAILED)
		(void)hl_id_list_add(&session->lost, event->id);
}

void hl_opener_on_file(void *ctx, const struct hl_file_event *event)
{
	struct hl_session *session = ctx;

	look_at(session, event);
	if (!event->end)
		return;
	(void)pthread_mutex_lock(&session->files_lock);
	open_file(session, event);
	(void)pthread_mutex_unlock(&session->files_lock);
}

/*
 * Where short processes come and go, each event of a library may come from one that is gone when it is read.
 * A file that is sampled again is looked for in all processes, once a second.
 */
static void search_lost(struct hl_session *session)
{
	uint64_t now = hl_monotonic_ns();
	size_t kept = 0;

	if (!session->lost_again || session->lost.n > MAX_SEARCHED ||
	    now - session->searched_ns < SEARCH_INTERVAL_NS)
		return;
	(void)pthread_mutex_lock(&session->files_lock);
	(void)hl_files_search(session->files);
	(void)pthread_mutex_unlock(&session->files_lock);
	for (size_t i = 0; i < session->lost.n; i++) {
		uint32_t id = session->lost.items[i];
		const struct hl_open_file *file = hl_files_get(session->files, id);

		if (file->state == HL_FILE_FAILED)
			session->lost.items[kept++] = id;
		else if (file->state == HL_FILE_OPEN && file->found)
			take_file(session, file, id);
	}
	session->lost.n = kept;
	session->lost_again = false;
	session->searched_ns = now;
}

/* Loads the table that was started, if it is done. */
static void load_started(struct hl_session *session)
{
	uint32_t id = hl_table_thread_busy(session->tables);
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t len;

	if (id && hl_table_thread_take(session->tables, &bytes, &len))
		load_table(session, id, bytes, len);
	if (id && !hl_table_thread_busy(session->tables)) {
		struct hl_symd_stats stats;

		hl_symd_stats(session->symd, &stats); /* between two tables it is nobody's */
		atomic_store(&session->tables_cpu_ns, stats.cpu_ns);
	}
}

/* Starts one table: of the smallest file, since a large one keeps many waiting. */
static void start_next(struct hl_session *session)
{
	struct hl_id_list *waiting = &session->waiting;
	const struct hl_open_file *file, *least;
	size_t at = 0;

	if (!waiting->n || hl_table_thread_busy(session->tables))
		return;
	least = hl_files_get(session->files, waiting->items[0]);
	for (size_t i = 1; i < waiting->n; i++) {
		file = hl_files_get(session->files, waiting->items[i]);
		if (file->key.size < least->key.size) {
			least = file;
			at = i;
		}
	}
	hl_table_thread_start(session->tables, waiting->items[at], least->fd);
	waiting->items[at] = waiting->items[--waiting->n];
}

static void on_expired(void *ctx, uint32_t id)
{
	struct hl_session *session = ctx;

	hl_moved_watch_forget(session->moved, id);
	if (hl_id_list_add(&session->expired, id))
		hl_log_once(HL_LOG_WARNING, "capture", "no memory to use the ids of files again");
}

/* Lets go of what is known of a file, before its id is another's. */
static void forget_file(struct hl_session *session, uint32_t id)
{
	hl_id_list_remove(&session->waiting, id);
	hl_id_list_remove(&session->lost, id);
	(void)pthread_mutex_lock(&session->files_lock);
	hl_files_forget(session->files, id);
	(void)pthread_mutex_unlock(&session->files_lock);
	if (session->exes)
		hl_exes_forget(session->exes, id);
}

/* What the thread that drains has asked for. */
static void expire_files(struct hl_session *session)
{
	unsigned int unused_s = atomic_exchange(&session->expire_s, 0);
	struct hl_err err = { "" };
	size_t kept = 0;

	if (unused_s && hl_capture_expire_files(session->capture, unused_s, on_expired, session, &err))
		hl_log_once(HL_LOG_WARNING, "capture", "%s", err.text);
	if (!atomic_exchange(&session->reuse, false))
		return;
	for (size_t i = 0; i < session->expired.n; i++) {
		uint32_t id = session->expired.items[i];

		/* Known until then, forgotten before another file can have the id. */
		if (!hl_capture_can_reuse_file(session->capture, id) ||
		    hl_table_thread_busy(session->tables) == id) {
			session->expired.items[kept++] = id;
			continue;
		}
		forget_file(session, id);
		(void)hl_capture_reuse_file(session->capture, id);
	}
	session->expired.n = kept;
}

static void limit_tables(struct hl_session *session)
{
	unsigned int mb = atomic_exchange(&session->limit_mb, 0);

	if (mb)
		hl_capture_limit_tables(session->capture, mb);
}

/* Sampling may have begun meanwhile: who waits opens files, too. */
static void await_started(struct hl_session *session)
{
	struct pollfd fds[2] = { { .fd = hl_capture_files_fd(session->capture), .events = POLLIN },
				 { .fd = hl_table_thread_fd(session->tables), .events = POLLIN } };

	while (hl_table_thread_busy(session->tables)) {
		(void)poll(fds, 2, 1000);
		(void)hl_capture_read_files(session->capture, hl_opener_on_file, session);
		load_started(session);
	}
}

static void on_listed_file(void *ctx, const struct hl_file_event *event)
{
	struct hl_session *session = ctx;

	if (session->table_bytes >= session->early_bytes)
		return;
	hl_opener_on_file(ctx, event);
	await_started(session);
	start_next(session);
}

/* Tables of what runs already; the vDSO's first. */
static void load_early(struct hl_session *session)
{
	_cleanup_close_ int vdso = hl_vdso_open();

	if (vdso >= 0) {
		hl_table_thread_start(session->tables, HL_FILE_VDSO, vdso);
		await_started(session);
	}
	if (hl_capture_list_files(session->capture, on_listed_file, session))
		hl_debug("unwind", "cannot list the files that are executed from now");
	await_started(session);
}

static void open_files(struct hl_session *session)
{
	struct pollfd fds[3] = { { .fd = hl_capture_files_fd(session->capture), .events = POLLIN },
				 { .fd = hl_table_thread_fd(session->tables), .events = POLLIN },
				 { .fd = session->stop_fd, .events = POLLIN } };
	bool more;

	do {
		(void)hl_capture_read_files(session->capture, hl_opener_on_file, session);
		search_lost(session);
		more = hl_moved_watch_next(session->moved);
		load_started(session);
		/* Behind all that may open a file, which would wait for the next event else. */
		start_next(session);
		expire_files(session);
		limit_tables(session);
		(void)poll(fds, 3, more ? 0 : 1000);
	} while (!(fds[2].revents & POLLIN));
	(void)hl_capture_read_files(session->capture, hl_opener_on_file, session);
}

void *hl_opener_run(void *ctx)
{
	struct hl_session *session = ctx;
	uint64_t one = 1;
	struct hl_err err = { "" };

	if (hl_privileges_drop(false, &err))
		hl_log(HL_LOG_WARNING, "capture", "%s", err.text);
	/* Of it, the other thread has what this one kept. */
	if (hl_table_thread_new(session->symd, session->cache, &session->tables, &err)) {
		hl_log(HL_LOG_ERROR, "capture", "%s", err.text);
		return NULL;
	}
	load_early(session);
	(void)!write(session->ready_fd, &one, sizeof(one));
	open_files(session);
	hl_table_thread_free(session->tables);
	return NULL;
}
