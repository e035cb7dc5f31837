// SPDX-License-Identifier: BSD-2-Clause
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/batch.h"
#include "store/day_writer.h"

enum { MAX_GAPS = 32 };
/*
 * A process that was killed may have left a child that holds the lock until it sees that, or is another program; who
 * asks for the writer is in the way for a moment.
 */
enum { LOCK_TRIES = 20, LOCK_WAIT_US = 50000 };
/* So long a clock has to be far ahead before days are old by it. */
#define DOUBT_NS UINT64_C(3600000000000)
static const char lock_name[] = "lock";

struct hl_store {
	char *dir; /* without symbolic links */
	struct hl_store_limits limits;
	int lock_fd;
	uint64_t window_ns;     /* 0: nobody said */
	struct day_writer *day; /* NULL: none is open */
	uint32_t day_number;
	struct hl_gap gaps[MAX_GAPS];
	size_t n_gaps;
	struct hl_err notice, told;
	struct hl_err unremoved; /* why old days stay, as last noticed; "": they do not */
	/* A time that was believed, and when, and since when the clock is far ahead of it; by the monotonic clock. */
	uint64_t believed_ns, believed_at_ns, ahead_since_ns;
};

/* ---- the directory ------------------------------------------------------------------------------------- */

static int make_directory(const char *dir, struct hl_err *err)
{
	_cleanup_free_ char *path = strdup(dir);

	if (!path)
		return hl_err_set(err, -ENOMEM, "no memory for the store '%s'", dir);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755); /* what goes wrong shows below */
		*slash = '/';
	}
	if (mkdir(path, 0750) && errno != EEXIST)
		return hl_err_errno(err, -errno, "cannot make the store '%s'", dir);
	return 0;
}

/* The lock of the store in @dir: a descriptor or -errno. */
static int open_lock(const char *dir, int flags)
{
	_cleanup_str_ struct hl_str path = { 0 };
	int fd;

	hl_str_addf(&path, "%s/%s", dir, lock_name);
	if (hl_str_status(&path))
		return -ENOMEM;
	fd = open(path.data, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
	return fd < 0 ? -errno : fd;
}

/* As flock(2), with some patience. 0 or -errno. */
static int lock_alone(int fd)
{
	for (int i = 1; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES)
			return -errno;
		(void)usleep(LOCK_WAIT_US);
	}
	return 0;
}

static void fill_lock(const struct hl_store *store)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%d\n%" PRIu64 "\n", (int)getpid(),
		       store->window_ns / UINT64_C(1000000000));
	(void)!ftruncate(store->lock_fd, 0);
	(void)!pwrite(store->lock_fd, text, strlen(text), 0);
}

/* Who writes is told by the lock; its file says it to people, and how many seconds a window has. */
static int take_lock(struct hl_store *store, struct hl_err *err)
{
	_cleanup_close_ int fd = open_lock(store->dir, O_RDWR | O_CREAT);
	char text[24] = "";
	int code;

	if (fd < 0)
		return hl_err_errno(err, fd, "cannot open '%s/%s'", store->dir, lock_name);
	code = lock_alone(fd);
	if (code) {
		if (code != -EWOULDBLOCK)
			return hl_err_errno(err, code, "cannot lock '%s/%s'", store->dir, lock_name);
		(void)!read(fd, text, sizeof(text) - 1);
		text[strcspn(text, "\n")] = '\0';
		return hl_err_set(err, -EBUSY, "another hotleaf writes to the store '%s': process %s",
				  store->dir, text[0] ? text : "unknown");
	}
	hl_cleanup_close(&store->lock_fd);
	store->lock_fd = TAKE_FD(fd);
	fill_lock(store);
	return 0;
}

void hl_store_tell_window(struct hl_store *store, uint64_t window_ns)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat st;

	if (store->window_ns == window_ns)
		return;
	store->window_ns = window_ns;
	if (fstat(store->lock_fd, &st))
		return;
	/* The file's time is that of the one who took it. */
	times[1] = st.st_mtim;
	fill_lock(store);
	(void)futimens(store->lock_fd, times);
}

int hl_store_writer(const char *dir, struct hl_store_writer *ret)
{
	_cleanup_close_ int fd = open_lock(dir, O_RDONLY);
	char text[64] = "", *end;
	struct stat st;
	bool held;
	long pid;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	held = flock(fd, LOCK_SH | LOCK_NB) != 0;
	if ((held && errno != EWOULDBLOCK) || fstat(fd, &st))
		return -errno;
	(void)!read(fd, text, sizeof(text) - 1);
	pid = strtol(text, &end, 10);
	ret->window_s = strtoul(end, NULL, 10);
	if (!held)
		return 0;
	ret->pid = pid;
	ret->since_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	return 1;
}

/* The lock that is held is one that others meet: its file may be gone, with the directory or alone. */
static int keep_lock(struct hl_store *store, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	struct stat ours, there;
	int code;

	hl_str_addf(&path, "%s/%s", store->dir, lock_name);
	if (hl_str_status(&path))
		return hl_err_set(err, -ENOMEM, "no memory for the store '%s'", store->dir);
	if (!fstat(store->lock_fd, &ours) && !lstat(path.data, &there) && ours.st_ino == there.st_ino &&
	    ours.st_dev == there.st_dev)
		return 0;
	code = make_directory(store->dir, err);
	return code ? code : take_lock(store, err);
}

int hl_store_open(const char *dir, const struct hl_store_limits *limits, struct hl_store **ret,
		  struct hl_err *err)
{
	_cleanup_(hl_store_closep) struct hl_store *store = calloc(1, sizeof(*store));
	int code;

	if (!store)
		return hl_err_set(err, -ENOMEM, "no memory for the store '%s'", dir);
	store->lock_fd = -1;
	store->limits = *limits;
	code = make_directory(dir, err);
	if (code)
		return code;
	store->dir = realpath(dir, NULL);
	if (!store->dir)
		return hl_err_errno(err, -errno, "cannot open the store '%s'", dir);
	code = take_lock(store, err);
	if (code)
		return code;
	*ret = TAKE_PTR(store);
	return 0;
}

static void close_day(struct hl_store *store, bool whole)
{
	day_writer_close(store->day, whole);
	store->day = NULL;
}

void hl_store_close(struct hl_store *store)
{
	if (!store)
		return;
	(void)hl_store_flush(store, NULL);
	close_day(store, /* whole= */ true);
	hl_cleanup_close(&store->lock_fd);
	free(store->dir);
	free(store);
}

/* ---- gaps ---------------------------------------------------------------------------------------------- */

void hl_store_limit(struct hl_store *store, const struct hl_store_limits *limits)
{
	store->limits = *limits;
}

struct hl_store_limits hl_store_limits(const struct hl_store *store)
{
	return store->limits;
}

const char *hl_store_dir(const struct hl_store *store)
{
	return store->dir;
}

void hl_store_gap(struct hl_store *store, uint64_t start_ns, uint64_t end_ns, uint64_t samples,
		  const char *reason)
{
	struct hl_gap *last = store->n_gaps ? &store->gaps[store->n_gaps - 1] : NULL;
	bool same = last && strncmp(last->reason, reason, sizeof(last->reason) - 1) == 0;

	if (!last || (!same && store->n_gaps < MAX_GAPS)) {
		last = &store->gaps[store->n_gaps++];
		*last = (struct hl_gap){ .start_ns = start_ns, .end_ns = end_ns };
		(void)snprintf(last->reason, sizeof(last->reason), "%s", reason);
	}
	if (end_ns > last->end_ns)
		last->end_ns = end_ns;
	last->samples += samples;
}

const char *hl_store_notice(struct hl_store *store)
{
	store->told = store->notice;
	store->notice.text[0] = '\0';
	return store->told.text;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int path_of(const struct hl_store *store, uint32_t day, struct hl_str *path, struct hl_err *err)
{
	char name[HL_DAY_NAME_SIZE];

	hl_str_addf(path, "%s/%s", store->dir, hl_day_name(day, name));
	return hl_str_status(path) ? hl_err_set(err, -ENOMEM, "no memory for the store '%s'", store->dir) : 0;
}

static int open_day(struct hl_store *store, uint32_t day, struct hl_err *err)
{
	_cleanup_str_ struct hl_str path = { 0 };
	int code = path_of(store, day, &path, err);

	if (!code)
		code = keep_lock(store, err);
	if (code)
		return code;
	if (store->day && day > store->day_number)
		(void)day_writer_finish(store->day, NULL); /* what lacks costs a reader time, nothing else */
	if (store->day && day != store->day_number)
		close_day(store, /* whole= */ day > store->day_number);
	if (store->day)
		return 0;
	code = day_writer_open(path.data, &store->day, err);
	store->day_number = day;
	return code;
}

/* Gives a file that cannot be gone on with another name. 0: the way is free. */
static int set_aside(struct hl_store *store, uint32_t day, int why, struct hl_err *err)
{
	struct hl_err reason = *err;
	char old[HL_DAY_NAME_SIZE], name[64];
	int code;

	close_day(store, /* whole= */ false);
	code = hl_days_set_aside(store->dir, day, why == -ENOTSUP ? "newer" : "damaged", hl_realtime_ns(),
				 name, sizeof(name), err);
	if (code)
		return code;
	(void)hl_err_set(
		&store->notice, 0,
		"'%s/%s' cannot be gone on with: %s; it was set aside as '%s', and a new file is written",
		store->dir, hl_day_name(day, old), reason.text, name);
	return 0;
}

static int try_write(struct hl_store *store, uint32_t day,
		     int (*write)(struct hl_store *store, const void *what, struct hl_err *err),
		     const void *what, struct hl_err *err)
{
	int code = open_day(store, day, err);

	if (!code)
		code = write(store, what, err);
	if (code)
		close_day(store, /* whole= */ false);
	return code;
}

/* The end of the last day of the store before @now_ns; without one, @now_ns. */
static uint64_t last_end(const struct hl_store *store, uint64_t now_ns)
{
	_cleanup_free_ struct hl_day *days = NULL;
	uint64_t end = 0;
	size_t n = 0;

	(void)hl_days_list(store->dir, &days, &n, NULL);
	for (size_t i = 0; i < n; i++)
		if (!days[i].aside && days[i].day <= now_ns / HL_DAY_NS)
			end = (days[i].day + UINT64_C(1)) * HL_DAY_NS;
	return end ? end : now_ns;
}

/*
 * The time by which days are old: that of the window, but for a clock that has just jumped ahead by more than a
 * day, for all history would go if it was an error.
 */
static uint64_t time_of_age(struct hl_store *store, uint64_t now_ns)
{
	uint64_t at = hl_monotonic_ns(), expected;

	if (!store->believed_ns) {
		store->believed_ns = last_end(store, now_ns);
		store->believed_at_ns = at;
	}
	expected = store->believed_ns + (at - store->believed_at_ns);
	if (now_ns > expected + HL_DAY_NS) {
		if (!store->ahead_since_ns)
			store->ahead_since_ns = at;
		if (at - store->ahead_since_ns < DOUBT_NS)
			return expected;
	}
	store->ahead_since_ns = 0;
	store->believed_ns = now_ns;
	store->believed_at_ns = at;
	return now_ns;
}

bool hl_store_doubts_clock(const struct hl_store *store)
{
	return store->ahead_since_ns > 0;
}

/* Old days that cannot be removed are no reason to lose new windows; it is noticed once. */
static void notice_unremoved(struct hl_store *store, int code, const struct hl_err *why)
{
	if (!code) {
		store->unremoved.text[0] = '\0';
	} else if (strcmp(store->unremoved.text, why->text) != 0) {
		store->unremoved = *why;
		(void)hl_err_set(&store->notice, 0, "old days stay: %s", why->text);
	}
}

/* Runs @write, which opens the day; once more for a file that was replaced, and for one that was set aside. */
static int write_day(struct hl_store *store, uint32_t day,
		     int (*write)(struct hl_store *store, const void *what, struct hl_err *err),
		     const void *what, struct hl_err *err)
{
	int code = -ESTALE;

	for (int turn = 0; turn < 2 && code == -ESTALE; turn++)
		code = try_write(store, day, write, what, err);
	if (code == -EBADMSG || code == -ENOTSUP) {
		code = set_aside(store, day, code, err);
		if (!code)
			code = try_write(store, day, write, what, err);
	}
	return code;
}

static int put_gaps(struct hl_store *store, const void *what, struct hl_err *err)
{
	return day_writer_gaps(store->day, store->gaps, store->n_gaps, err);
}

int hl_store_flush(struct hl_store *store, struct hl_err *err)
{
	struct hl_err local;
	int code;

	if (!store->n_gaps)
		return 0;
	code = write_day(store, (uint32_t)(store->gaps[store->n_gaps - 1].end_ns / HL_DAY_NS), put_gaps,
			 /* what= */ NULL, err ? err : &local);
	if (!code)
		store->n_gaps = 0;
	return code;
}

struct stored {
	const struct hl_profile_meta *meta;
	const struct hl_batch *batch;
};

static int put_window(struct hl_store *store, const void *what, struct hl_err *err)
{
	const struct stored *s = what;

	return day_writer_write(store->day, s->meta, s->batch, store->limits.code_bytes, store->gaps,
				store->n_gaps, err);
}

int hl_store_write(struct hl_store *store, const struct hl_profile_meta *meta, const struct hl_batch *batch,
		   struct hl_err *err)
{
	const struct stored stored = { meta, batch };
	unsigned int removed;
	struct hl_err local;
	int code;

	if (!err)
		err = &local;
	code = hl_days_prune(store->dir, &store->limits, time_of_age(store, meta->start_ns), &removed, err);
	/* A store that is gone is made anew. */
	if (code != -ENOSPC) {
		notice_unremoved(store, code == -ENOENT ? 0 : code, err);
		code = write_day(store, (uint32_t)(meta->start_ns / HL_DAY_NS), put_window, &stored, err);
	}
	if (code)
		hl_store_gap(store, meta->start_ns, meta->end_ns, hl_batch_samples(batch),
			     code == -ENOSPC ? "no space left for the store" : err->text);
	else
		store->n_gaps = 0;
	return code;
}
