// SPDX-License-Identifier: BSD-2-Clause
#include "command/moved_code.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "process/files.h"
#include "process/moved.h"
#include "process/reach.h"
#include "process/remapped.h"

/* Of events that wait: what finds no room is sent again. */
enum { QUEUE = 64 };

struct hl_moved_watch {
	int proc_fd;
	struct hl_reach *reach;
	struct hl_capture *capture;
	const struct hl_files *files;
	hl_capture_file_fn open;
	void *ctx;
	pthread_mutex_t lock; /* of what other threads ask for: */
	struct hl_moved_code *found;
	uint64_t refused;
	struct hl_file_event queue[QUEUE];
	size_t n;
};

struct hl_moved_watch *hl_moved_watch_new(int proc_fd, struct hl_reach *reach, struct hl_capture *capture,
					  const struct hl_files *files, hl_capture_file_fn open, void *ctx)
{
	struct hl_moved_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->proc_fd = proc_fd;
	watch->reach = reach;
	watch->capture = capture;
	watch->files = files;
	watch->open = open;
	watch->ctx = ctx;
	watch->found = hl_moved_code_new();
	if (!watch->found) {
		free(watch);
		return NULL;
	}
	(void)pthread_mutex_init(&watch->lock, NULL); /* cannot fail */
	return watch;
}

void hl_moved_watch_free(struct hl_moved_watch *watch)
{
	if (!watch)
		return;
	hl_moved_code_free(watch->found);
	(void)pthread_mutex_destroy(&watch->lock);
	free(watch);
}

const struct hl_moved_code *hl_moved_watch_found(const struct hl_moved_watch *watch)
{
	return watch->found;
}

uint64_t hl_moved_watch_refused(const struct hl_moved_watch *watch)
{
	return watch->refused;
}

struct hl_moved_code *hl_moved_watch_copy(struct hl_moved_watch *watch, uint64_t *ret_refused)
{
	struct hl_moved_code *copy;

	(void)pthread_mutex_lock(&watch->lock);
	copy = hl_moved_code_copy(watch->found);
	*ret_refused = watch->refused;
	(void)pthread_mutex_unlock(&watch->lock);
	return copy;
}

void hl_moved_watch_forget(struct hl_moved_watch *watch, uint32_t file)
{
	(void)pthread_mutex_lock(&watch->lock);
	hl_moved_code_forget(watch->found, file);
	(void)pthread_mutex_unlock(&watch->lock);
}

void hl_moved_watch_clear(struct hl_moved_watch *watch)
{
	(void)pthread_mutex_lock(&watch->lock);
	hl_moved_code_clear(watch->found);
	(void)pthread_mutex_unlock(&watch->lock);
}

void hl_moved_watch_take(struct hl_moved_watch *watch, const struct hl_file_event *event)
{
	for (size_t i = 0; i < watch->n; i++)
		if (watch->queue[i].tgid == event->tgid && watch->queue[i].start == event->start)
			return;
	if (watch->n < QUEUE)
		watch->queue[watch->n++] = *event;
}

static bool is_gone(void *ctx, const struct hl_process_key *key)
{
	const struct hl_moved_watch *watch = ctx;
	_cleanup_close_ int dir_fd = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", key->tgid);
	dir_fd = openat(watch->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 || !hl_proc_started(dir_fd, key->start_time);
}

/* Tells the capture; where there is no room, once those that have ended were forgotten. */
static int tell(struct hl_moved_watch *watch, const struct hl_moved_key *key, const struct hl_moved *moved)
{
	int code = hl_capture_add_moved(watch->capture, key, moved);

	if (code == -ENOSPC && hl_capture_sweep_moved(watch->capture, is_gone, watch))
		code = hl_capture_add_moved(watch->capture, key, moved);
	return code;
}

/* The file beside what was moved, as the program tells of it. */
struct beside {
	struct hl_moved_watch *watch;
	uint32_t file; /* its id, if it is open */
};

static void take_beside(void *ctx, const struct hl_file_event *event)
{
	struct beside *beside = ctx;
	const struct hl_moved_watch *watch = beside->watch;
	const struct hl_open_file *file;

	watch->open(watch->ctx, event);
	file = hl_files_get(watch->files, event->id);
	if (file && file->state == HL_FILE_OPEN)
		beside->file = event->id;
}

static void add(struct hl_moved_watch *watch, const struct hl_file_event *event,
		const struct hl_remapped *remapped)
{
	struct hl_moved_key key = { .process = event->process, .start = remapped->start };
	struct hl_moved moved = { .end = remapped->end, .offset = remapped->from.offset };
	struct beside beside = { .watch = watch };
	int code = hl_capture_list_file(watch->capture, (pid_t)event->tgid, remapped->from.beside_start,
					take_beside, &beside);

	if (code || beside.file == HL_FILE_NONE) {
		hl_debug("process", "the file of moved code of process %u cannot be opened", event->tgid);
		return;
	}
	moved.file = beside.file;
	code = tell(watch, &key, &moved);
	(void)pthread_mutex_lock(&watch->lock);
	if (!code)
		code = hl_moved_code_add(watch->found, &key, &moved);
	watch->refused += code != 0;
	(void)pthread_mutex_unlock(&watch->lock);
}

static uint32_t now_in_events(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint32_t)(((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) >> 20);
}

bool hl_moved_watch_next(struct hl_moved_watch *watch)
{
	struct hl_remapped remapped[HL_REMAPPED_MAX];
	struct hl_file_event event;
	struct hl_moved_key process = { 0 };
	struct hl_moved looked = { 0 };
	size_t n, dropped;

	if (!watch->n)
		return false;
	event = watch->queue[0];
	memmove(watch->queue, watch->queue + 1, --watch->n * sizeof(*watch->queue));
	n = hl_reach_remapped(watch->reach, watch->proc_fd, &event, remapped, &dropped);
	(void)pthread_mutex_lock(&watch->lock);
	watch->refused += dropped;
	(void)pthread_mutex_unlock(&watch->lock);
	for (size_t i = 0; i < n; i++)
		add(watch, &event, &remapped[i]);
	process.process = event.process;
	looked.next_event = hl_moved_code_look(watch->found, &event.process, now_in_events(), n > 0);
	(void)tell(watch, &process, &looked);
	return watch->n > 0;
}
