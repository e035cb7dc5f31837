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
#include "base/log.h"
#include "base/mem.h"
#include "command/id_list.h"
#include "command/moved_code.h"
#include "command/privileges.h"
#include "process/cgroup.h"
#include "process/codefiles.h"
#include "process/exes.h"
#include "process/files.h"
#include "process/maps.h"
#include "process/moved.h"
#include "process/vdso.h"
#include "symd/client.h"
#include "symd/client_cached.h"

/*
 * Tables of what runs already are made before sampling starts, as many as this, and as half of the memory for
 * tables holds: the rest has to wait until it is sampled. The start waits for them no longer than this.
 */
enum { EARLY_BYTES = 16 << 20, EARLY_MS = 3000 };

/* Beyond so many, files are searched for at the end only: a search reads the maps of all processes. */
enum { MAX_SEARCHED = 256 };
#define SEARCH_INTERVAL_NS UINT64_C(1000000000)

struct hl_session {
	struct hl_capture *capture;
	struct hl_files *files;
	pthread_mutex_t
		files_lock; /* held by who changes them, and by who reads them while the opener runs */
	struct hl_code_files *code_files;
	struct hl_cgroups *cgroups; /* NULL, as `exes`: nobody asks */
	struct hl_exes *exes;
	struct hl_maps *maps; /* only where the kernel walks: addresses are raw then */
	/* The other thread's. */
	struct hl_symd *symd;      /* compiles unwind tables */
	struct hl_cache *cache;    /* of tables, borrowed; NULL: none */
	struct hl_id_list waiting; /* open files whose table is to be loaded */
	struct hl_id_list lost;    /* files that could not be opened yet */
	struct hl_id_list expired; /* files that nobody runs any more, and whose ids are not free yet */
	bool lost_again;           /* one of them was sampled again */
	atomic_uint expire_s;      /* asked for; 0: nothing is */
	atomic_bool reuse;         /* asked for */
	struct hl_moved_watch *moved;
	uint64_t searched_ns;
	pthread_t opener;
	bool opener_runs;
	int proc_fd, stop_fd, ready_fd;
	size_t table_bytes; /* of all tables so far; the opener's */
	size_t early_bytes; /* up to which tables are made before the start */
	struct hl_session_times times;
	uint64_t started_ns, started_cpu_ns;
};

static uint64_t process_cpu_ns(const struct hl_session *session)
{
	struct hl_symd_stats symd;

	hl_symd_stats(session->symd, &symd);
	return hl_process_cpu_ns() + symd.cpu_ns;
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

/* A file without a table is walked by frame pointer: no reason to fail. */
static void load_table(struct hl_session *session, uint32_t id, int fd)
{
	struct hl_err err = { "" };
	uint8_t *bytes;
	size_t len;

	if (hl_symd_unwind_cached(session->symd, session->cache, id, fd, &bytes, &len, &err)) {
		hl_debug("unwind", "%s", err.text);
		hl_capture_settle_file(session->capture, id, HL_TABLE_NONE);
		return;
	}
	if (hl_capture_load_table(session->capture, id, bytes, &err))
		hl_log_once(HL_LOG_WARNING, "unwind", "%s", err.text);
	session->table_bytes += len;
	free(bytes);
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
	if (!event->end)
		hl_exes_look_at(session->exes, event->id, (pid_t)event->tgid);
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

static void on_file(void *ctx, const struct hl_file_event *event)
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

/* Loads one table: of the smallest file, since a large one keeps many waiting. */
static void load_next(struct hl_session *session)
{
	struct hl_id_list *waiting = &session->waiting;
	const struct hl_open_file *file, *least;
	size_t at = 0;

	if (!waiting->n)
		return;
	least = hl_files_get(session->files, waiting->items[0]);
	for (size_t i = 1; i < waiting->n; i++) {
		file = hl_files_get(session->files, waiting->items[i]);
		if (file->key.size < least->key.size) {
			least = file;
			at = i;
		}
	}
	load_table(session, waiting->items[at], least->fd);
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
		if (!hl_capture_can_reuse_file(session->capture, id)) {
			session->expired.items[kept++] = id;
			continue;
		}
		forget_file(session, id);
		(void)hl_capture_reuse_file(session->capture, id);
	}
	session->expired.n = kept;
}

static void on_listed_file(void *ctx, const struct hl_file_event *event)
{
	struct hl_session *session = ctx;

	if (session->table_bytes >= session->early_bytes)
		return;
	on_file(ctx, event);
	load_next(session);
}

static void *run_opener(void *ctx)
{
	struct hl_session *session = ctx;
	uint64_t one = 1;
	bool more;
	struct hl_err err = { "" };
	struct pollfd fds[2] = { { .fd = hl_capture_files_fd(session->capture), .events = POLLIN },
				 { .fd = session->stop_fd, .events = POLLIN } };
	_cleanup_close_ int vdso = hl_vdso_open();

	if (hl_privileges_drop(false, &err))
		hl_log(HL_LOG_WARNING, "capture", "%s", err.text);
	if (vdso >= 0)
		load_table(session, HL_FILE_VDSO, vdso);
	if (hl_capture_list_files(session->capture, on_listed_file, session))
		hl_debug("unwind", "cannot list the files that are executed from now");
	(void)!write(session->ready_fd, &one, sizeof(one));
	do {
		(void)hl_capture_read_files(session->capture, on_file, session);
		search_lost(session);
		load_next(session);
		expire_files(session);
		more = hl_moved_watch_next(session->moved) || session->waiting.n;
		(void)poll(fds, 2, more ? 0 : 1000);
	} while (!(fds[1].revents & POLLIN));
	(void)hl_capture_read_files(session->capture, on_file, session);
	return NULL;
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
		code = hl_capture_new(options, &session->capture, err);
	}
	if (!code) {
		session->stop_fd = eventfd(0, EFD_CLOEXEC);
		session->ready_fd = eventfd(0, EFD_CLOEXEC);
		session->files = hl_files_new(session->proc_fd);
		session->code_files = hl_code_files_new(session->proc_fd);
		session->moved = hl_moved_watch_new(session->proc_fd, session->capture, session->files,
						    on_file, session);
		if (hl_capture_walk(session->capture, &why) == HL_CAPTURE_WALK_KERNEL)
			session->maps = hl_maps_new(session->proc_fd, session->files);
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
	hl_cgroups_free(session->cgroups);
	hl_exes_free(session->exes);
	hl_moved_watch_free(session->moved);
	hl_maps_free(session->maps);
	hl_files_free(session->files);
	hl_symd_free(session->symd);
	free(session->waiting.items);
	free(session->lost.items);
	free(session->expired.items);
	hl_cleanup_close(&session->stop_fd);
	hl_cleanup_close(&session->ready_fd);
	hl_cleanup_close(&session->proc_fd);
	free(session);
}

int hl_session_watch_identities(struct hl_session *session, struct hl_err *err)
{
	session->cgroups = hl_cgroups_new(session->proc_fd);
	session->exes = hl_exes_new(session->proc_fd);
	return session->cgroups && session->exes ? 0 : hl_err_set(err, -ENOMEM, "no memory for cgroups");
}

int hl_session_start(struct hl_session *session, struct hl_err *err)
{
	int code = pthread_create(&session->opener, NULL, run_opener, session);
	struct pollfd ready = { .fd = session->ready_fd, .events = POLLIN };

	if (code)
		return hl_err_errno(err, -code, "cannot start the thread that opens files");
	session->opener_runs = true;
	(void)poll(&ready, 1, EARLY_MS);
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

int hl_session_stop(struct hl_session *session, struct hl_window *window, struct hl_err *err)
{
	int code;

	hl_capture_stop(session->capture);
	session->times.end_ns = hl_realtime_ns();
	session->times.end_monotonic_ns = hl_monotonic_ns();
	session->times.elapsed_ns = session->times.end_monotonic_ns - session->started_ns;
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

	if (id >= HL_FILE_FIRST && (!known || known->state != HL_FILE_OPEN))
		(void)hl_files_copy(session->files, id,
				    into); /* else it stays without names, and is counted */
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

int hl_session_forget_code(struct hl_session *session)
{
	struct hl_code_files *files = hl_code_files_new(session->proc_fd);

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
