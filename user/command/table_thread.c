// SPDX-License-Identifier: BSD-2-Clause
#include "command/table_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "symd/client_cached.h"

enum job_state { JOB_NONE, JOB_GIVEN, JOB_DONE, JOB_STOP };

struct hl_table_thread {
	struct hl_symd *symd;
	struct hl_cache *cache;
	pthread_t thread;
	int done_fd;
	uint32_t id; /* the caller's: of the job, 0 without one */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	enum job_state state;
	int fd;
	uint8_t *bytes;
	size_t len;
};

/* The next file, or -1 at the end. */
static int wait_for_file(struct hl_table_thread *t)
{
	int fd;

	(void)pthread_mutex_lock(&t->lock);
	while (t->state != JOB_GIVEN && t->state != JOB_STOP)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	fd = t->state == JOB_STOP ? -1 : t->fd;
	(void)pthread_mutex_unlock(&t->lock);
	return fd;
}

static void set_done(struct hl_table_thread *t, uint8_t *bytes, size_t len)
{
	uint64_t one = 1;

	(void)pthread_mutex_lock(&t->lock);
	t->bytes = bytes;
	t->len = len;
	t->state = JOB_DONE;
	(void)pthread_cond_signal(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
	(void)!write(t->done_fd, &one, sizeof(one));
}

static void *run(void *ctx)
{
	struct hl_table_thread *t = ctx;
	int fd;

	while ((fd = wait_for_file(t)) >= 0) {
		struct hl_err err = { "" };
		uint8_t *bytes = NULL;
		size_t len = 0;

		/* A file without a table is walked by frame pointer: no reason to fail. */
		if (hl_symd_unwind_cached(t->symd, t->cache, t->id, fd, &bytes, &len, &err))
			hl_debug("unwind", "%s", err.text);
		set_done(t, bytes, len);
	}
	return NULL;
}

int hl_table_thread_new(struct hl_symd *symd, struct hl_cache *cache, struct hl_table_thread **ret,
			struct hl_err *err)
{
	struct hl_table_thread *t = calloc(1, sizeof(*t));
	int code;

	if (!t)
		return hl_err_set(err, -ENOMEM, "no memory for unwind tables");
	t->symd = symd;
	t->cache = cache;
	t->fd = -1;
	(void)pthread_mutex_init(&t->lock, NULL); /* cannot fail, nor can the next */
	(void)pthread_cond_init(&t->changed, NULL);
	t->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = t->done_fd < 0 ? errno : pthread_create(&t->thread, NULL, run, t);
	if (code) {
		hl_cleanup_close(&t->done_fd);
		free(t);
		return hl_err_errno(err, -code, "cannot start the thread that compiles unwind tables");
	}
	*ret = t;
	return 0;
}

void hl_table_thread_free(struct hl_table_thread *t)
{
	if (!t)
		return;
	(void)pthread_mutex_lock(&t->lock);
	while (t->state == JOB_GIVEN)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	t->state = JOB_STOP;
	(void)pthread_cond_signal(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
	(void)pthread_join(t->thread, NULL);
	hl_cleanup_close(&t->done_fd);
	free(t->bytes);
	free(t);
}

int hl_table_thread_fd(const struct hl_table_thread *t)
{
	return t->done_fd;
}

uint32_t hl_table_thread_busy(const struct hl_table_thread *t)
{
	return t->id;
}

void hl_table_thread_start(struct hl_table_thread *t, uint32_t id, int fd)
{
	(void)pthread_mutex_lock(&t->lock);
	t->id = id;
	t->fd = fd;
	t->state = JOB_GIVEN;
	(void)pthread_cond_signal(&t->changed);
	(void)pthread_mutex_unlock(&t->lock);
}

bool hl_table_thread_take(struct hl_table_thread *t, uint8_t **ret_bytes, size_t *ret_len)
{
	uint64_t n;
	bool done;

	(void)pthread_mutex_lock(&t->lock);
	done = t->state == JOB_DONE;
	if (done) {
		/* If it is written to only after this, who waits for it wakes once for nothing. */
		(void)!read(t->done_fd, &n, sizeof(n));
		*ret_bytes = TAKE_PTR(t->bytes);
		*ret_len = t->len;
		t->state = JOB_NONE;
		t->id = 0;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return done;
}
