// SPDX-License-Identifier: BSD-2-Clause
#include "process/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "process/reach_job.h"

/*
 * So many children may be stuck; a few more while they serve places that have answered before, so that dead
 * mounts do not cost the names of all others. SLOW places are remembered, the oldest goes.
 */
enum { MAX_IDLE = 4, MAX_STUCK = 16, SPARE = 4, SLOW = 64, ANSWERED = 256 };
/* To compare the code of a large program, which may have to be read from a disk, takes a while. */
enum { REMAPPED_MS = 5000 };
#define SLOW_NS UINT64_C(60000000000)

struct slow {
	uint64_t place, until_ns;
};

struct hl_reach {
	pid_t server;
	int socket;           /* to it */
	pthread_mutex_t lock; /* of all below */
	int idle[MAX_IDLE];
	size_t n_idle;
	int stuck[MAX_STUCK + SPARE]; /* sockets: they tell when a child has ended */
	size_t n_stuck, n_busy;
	struct slow slow[SLOW];
	size_t next_slow;
	uint64_t answered[ANSWERED]; /* places, by their lowest bits */
	uint64_t copies;             /* bytes */
	struct hl_reach_stats stats;
};

static int start_server(struct hl_reach *reach, struct hl_err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return hl_err_errno(err, -errno, "cannot make a socket");
	reach->server = fork();
	if (reach->server == 0)
		hl_reach_serve(ends[1]);
	(void)close(ends[1]);
	if (reach->server < 0) {
		int code = hl_err_errno(err, -errno, "cannot start a child to open files");

		(void)close(ends[0]);
		return code;
	}
	reach->socket = ends[0];
	return 0;
}

/* It ends at once, being never stuck itself. */
static void end_server(struct hl_reach *reach)
{
	hl_cleanup_close(&reach->socket);
	if (reach->server > 0)
		(void)waitpid(reach->server, NULL, 0);
	reach->server = 0;
}

int hl_reach_new(struct hl_reach **ret, struct hl_err *err)
{
	struct hl_reach *reach = calloc(1, sizeof(*reach));
	int code;

	if (!reach)
		return hl_err_set(err, -ENOMEM, "no memory for what opens files");
	(void)pthread_mutex_init(&reach->lock, NULL); /* cannot fail */
	reach->socket = -1;
	code = start_server(reach, err);
	if (code)
		hl_reach_free(reach);
	else
		*ret = reach;
	return code;
}

void hl_reach_free(struct hl_reach *reach)
{
	if (!reach)
		return;
	for (size_t i = 0; i < reach->n_idle; i++)
		(void)close(reach->idle[i]);
	for (size_t i = 0; i < reach->n_stuck; i++)
		(void)close(reach->stuck[i]);
	end_server(reach);
	(void)pthread_mutex_destroy(&reach->lock);
	free(reach);
}

void hl_reach_stats(struct hl_reach *reach, struct hl_reach_stats *ret)
{
	*ret = (struct hl_reach_stats){ 0 };
	if (!reach)
		return;
	(void)pthread_mutex_lock(&reach->lock);
	*ret = reach->stats;
	(void)pthread_mutex_unlock(&reach->lock);
}

bool hl_reach_is_unanswered(int code)
{
	return code == -ETIMEDOUT || code == -EHOSTDOWN;
}

/* ---- the children; with the lock held -------------------------------------------------------------------- */

/* Those that have answered after all, or ended. */
static void forget_stuck(struct hl_reach *reach)
{
	size_t kept = 0;

	for (size_t i = 0; i < reach->n_stuck; i++) {
		struct pollfd fd = { .fd = reach->stuck[i], .events = POLLIN };

		if (poll(&fd, 1, 0) > 0)
			(void)close(fd.fd);
		else
			reach->stuck[kept++] = fd.fd;
	}
	reach->n_stuck = kept;
}

static bool is_slow(const struct hl_reach *reach, uint64_t place)
{
	uint64_t now = hl_monotonic_ns();

	for (size_t i = 0; place && i < SLOW; i++)
		if (reach->slow[i].place == place && now < reach->slow[i].until_ns)
			return true;
	return false;
}

/*
 * Has the server make a child that listens at @end. One that was killed is replaced: its fork is of a program with
 * threads by now, but what it and its children call is safe there, as the C library sees to malloc().
 */
static int ask_server(struct hl_reach *reach, int end)
{
	char byte = 0;
	int code = reach->socket < 0 ? -EPIPE : hl_reach_send(reach->socket, &byte, sizeof(byte), end);

	if (code != -EPIPE && code != -ECONNRESET)
		return code;
	end_server(reach);
	code = start_server(reach, NULL);
	if (code)
		return code;
	reach->stats.killed++;
	return hl_reach_send(reach->socket, &byte, sizeof(byte), end);
}

/* A socket to a child that has nothing to do; negative: there is none for @place. */
static int take_child(struct hl_reach *reach, uint64_t place)
{
	bool has_answered = place && reach->answered[place % ANSWERED] == place;
	size_t limit = has_answered ? MAX_STUCK + SPARE : MAX_STUCK;
	int ends[2], code;

	forget_stuck(reach);
	/* Whoever is at work may be stuck soon. */
	if (is_slow(reach, place) || reach->n_stuck + reach->n_busy >= limit)
		return -EHOSTDOWN;
	if (reach->n_idle)
		return reach->idle[--reach->n_idle];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	code = ask_server(reach, ends[1]);
	(void)close(ends[1]);
	if (!code)
		return ends[0];
	(void)close(ends[0]);
	return code;
}

static void give_back(struct hl_reach *reach, int child, int code)
{
	if (code == -ETIMEDOUT)
		reach->stuck[reach->n_stuck++] = child;
	else if (code || reach->n_idle == MAX_IDLE)
		(void)close(child);
	else
		reach->idle[reach->n_idle++] = child;
}

static void note_place(struct hl_reach *reach, uint64_t place, int code)
{
	if (place && code == -ETIMEDOUT) {
		reach->slow[reach->next_slow] = (struct slow){ place, hl_monotonic_ns() + SLOW_NS };
		reach->next_slow = (reach->next_slow + 1) % SLOW;
		reach->answered[place % ANSWERED] = 0;
	} else if (place && !code) {
		reach->answered[place % ANSWERED] = place;
	}
}

static void count(struct hl_reach *reach, const struct hl_reach_request *request, int code,
		  const struct hl_reach_reply *reply)
{
	struct hl_reach_stats *stats = &reach->stats;

	if (code == -ETIMEDOUT && !stats->unanswered++)
		(void)snprintf(stats->first, sizeof(stats->first), "%.79s", request->path);
	stats->untried += code == -EHOSTDOWN;
	if (code)
		return;
	stats->cpu_ns += reply->cpu_ns;
	stats->copied += reply->copied > 0;
	stats->uncopied += reply->status == -EFBIG;
	reach->copies += reply->copied;
}

/* ---- requests --------------------------------------------------------------------------------------------- */

static int exchange(int child, const struct hl_reach_request *request, int dir_fd,
		    struct hl_reach_reply *reply, int *ret_fd)
{
	uint64_t end = hl_monotonic_ns() + request->ms * UINT64_C(1000000), now;
	struct pollfd wait = { .fd = child, .events = POLLIN };
	int code = hl_reach_send(child, request, sizeof(*request), dir_fd);

	if (code)
		return code;
	while (poll(&wait, 1, 0) <= 0) {
		now = hl_monotonic_ns();
		if (now >= end)
			return -ETIMEDOUT;
		(void)poll(&wait, 1, (int)((end - now) / 1000000) + 1);
	}
	return hl_reach_receive(child, reply, sizeof(*reply), ret_fd);
}

/* One try, with one child. */
static int try_call(struct hl_reach *reach, struct hl_reach_request *request, int dir_fd, uint64_t place,
		    struct hl_reach_reply *reply, int *ret_fd)
{
	int child, code;

	(void)pthread_mutex_lock(&reach->lock);
	if (reach->copies + HL_REACH_COPY_MAX > HL_REACH_COPIES_MAX)
		request->copy_max = reach->copies < HL_REACH_COPIES_MAX
					    ? (uint32_t)(HL_REACH_COPIES_MAX - reach->copies)
					    : 0;
	child = take_child(reach, place);
	reach->n_busy += child >= 0;
	(void)pthread_mutex_unlock(&reach->lock);
	code = child < 0 ? child : exchange(child, request, dir_fd, reply, ret_fd);
	(void)pthread_mutex_lock(&reach->lock);
	if (child >= 0) {
		reach->n_busy--;
		give_back(reach, child, code);
		note_place(reach, place, code);
	}
	count(reach, request, code, reply);
	(void)pthread_mutex_unlock(&reach->lock);
	return code;
}

/* What it came to: the reply's status, or why there is none. */
static int call(struct hl_reach *reach, struct hl_reach_request *request, int dir_fd, uint64_t place,
		struct hl_reach_reply *reply, int *ret_fd)
{
	int code = -EPIPE;

	*ret_fd = -1;
	request->copy_max = HL_REACH_COPY_MAX;
	if (!reach) {
		hl_reach_do(request, dir_fd, reply, ret_fd);
		return reply->status;
	}
	/* All that wait for work may have been killed. */
	for (int i = 0; i <= MAX_IDLE + 1 && code == -EPIPE; i++)
		code = try_call(reach, request, dir_fd, place, reply, ret_fd);
	if (hl_reach_is_unanswered(code))
		hl_debug("process", "'%s': %s", request->path,
			 code == -ETIMEDOUT ? "no answer" : "not tried, as it did not answer lately");
	return code ? code : reply->status;
}

static int set_path(struct hl_reach_request *request, uint32_t op, const char *path)
{
	size_t len = strlen(path);

	if (len >= sizeof(request->path))
		return -ENAMETOOLONG;
	request->op = op;
	request->ms = HL_REACH_MS;
	memset(&request->event, 0, sizeof(request->event));
	memcpy(request->path, path, len);
	memset(request->path + len, 0, sizeof(request->path) - len);
	return 0;
}

int hl_reach_open_link(struct hl_reach *reach, int proc_fd, const char *link, uint64_t place,
		       struct stat *ret_stat, char **ret_link)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;
	int fd, code = set_path(&request, HL_REACH_OPEN_LINK, link);

	if (!code)
		code = call(reach, &request, proc_fd, place, &reply, &fd);
	if (code)
		return code;
	*ret_stat = reply.st;
	if (ret_link)
		*ret_link = reply.link[0] ? strndup(reply.link, sizeof(reply.link)) : NULL;
	return fd;
}

int hl_reach_stat_link(struct hl_reach *reach, int proc_fd, const char *link, uint64_t place,
		       struct stat *ret_stat)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;
	int fd, code = set_path(&request, HL_REACH_STAT_LINK, link);

	if (!code)
		code = call(reach, &request, proc_fd, place, &reply, &fd);
	if (code)
		return code;
	*ret_stat = reply.st;
	return 0;
}

/*
 * Of a path below a root it is the first two folders that are mount points, or lead to one: "usr/lib" and
 * "tmp" fail apart from each other.
 */
static uint64_t place_of_path(int root, const char *path)
{
	uint64_t key[4] = { 0 };
	const char *end = path + strspn(path, "/"), *slash;
	struct statx st;

	if (statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st))
		return 0;
	key[0] = st.stx_ino;
	key[1] = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	key[2] = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	for (int i = 0; i < 2 && (slash = strchr(end, '/')); i++)
		end = slash + strspn(slash, "/");
	key[3] = hl_hash(path, (size_t)(end - path), 0);
	return hl_hash(key, sizeof(key), 0) | 1;
}

int hl_reach_open_in_root(struct hl_reach *reach, int root, const char *path, struct stat *ret_stat)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;
	int fd, code = set_path(&request, HL_REACH_OPEN_IN_ROOT, path);

	if (!code)
		code = call(reach, &request, root, place_of_path(root, path), &reply, &fd);
	if (code)
		return code;
	*ret_stat = reply.st;
	return fd;
}

int hl_reach_maps(struct hl_reach *reach, int proc_fd, const char *maps,
		  bool (*each)(void *ctx, const struct hl_proc_mapping *mapping), void *ctx)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;
	int fd, code;

	if (!reach)
		return hl_proc_maps(proc_fd, maps, each, ctx);
	code = set_path(&request, HL_REACH_READ, maps);
	if (!code)
		code = call(reach, &request, proc_fd, place_of_path(proc_fd, maps), &reply, &fd);
	return code ? code : hl_proc_maps_of(fd, each, ctx);
}

size_t hl_reach_remapped(struct hl_reach *reach, int proc_fd, const struct hl_file_event *event,
			 struct hl_remapped *ret, size_t *ret_dropped)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;
	int fd;

	*ret_dropped = 0;
	(void)set_path(&request, HL_REACH_REMAPPED, "the memory of a process");
	request.ms = REMAPPED_MS;
	request.event = *event;
	if (call(reach, &request, proc_fd, 1, &reply, &fd) || reply.n > HL_REMAPPED_MAX)
		return 0;
	memcpy(ret, reply.remapped, reply.n * sizeof(*ret));
	*ret_dropped = reply.dropped;
	return reply.n;
}

static int read_bytes(struct hl_reach *reach, struct hl_reach_request *request, int dir_fd, uint64_t place,
		      void *ret, size_t n)
{
	_cleanup_close_ int fd = -1;
	struct hl_reach_reply reply;
	int code = call(reach, request, dir_fd, place, &reply, &fd);

	if (code)
		return code;
	return pread(fd, ret, n, 0) == (ssize_t)n ? 0 : -EIO;
}

int hl_reach_range(struct hl_reach *reach, int fd, uint64_t at, void *ret, size_t n)
{
	struct iovec part = { ret, n };
	struct hl_reach_request request;
	struct statx st;

	/* What is in memory, as code that runs is, needs no child; a file system that cannot tell says so. */
	if (preadv2(fd, &part, 1, (off_t)at, RWF_NOWAIT) == (ssize_t)n)
		return 0;
	(void)set_path(&request, HL_REACH_RANGE, "the code in a file");
	request.event.start = at;
	request.event.end = at + n;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
		return -errno;
	return read_bytes(reach, &request, fd, (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor, ret, n);
}

int hl_reach_memory(struct hl_reach *reach, int proc_fd, const struct hl_process_key *process, uint64_t at,
		    void *ret, size_t n)
{
	struct hl_reach_request request;

	(void)set_path(&request, HL_REACH_MEMORY, "the code of a process");
	request.event.process = *process;
	request.event.start = at;
	request.event.end = at + n;
	return read_bytes(reach, &request, proc_fd, hl_hash(process, sizeof(*process), 0) | 1, ret, n);
}
