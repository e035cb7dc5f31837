// SPDX-License-Identifier: BSD-2-Clause
#include "runtime.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

struct runtime_server {
	pthread_t thread;
	int listen_fd, stop_fd;
	struct sockaddr_un at;
	enum runtime_manner manner;
	const char *answer;
	size_t len;
	char *own; /* to be freed */
	pthread_mutex_t lock;
	/* Under the lock. */
	unsigned int n;
	char request[1024];
};

static void read_request(struct runtime_server *s, int fd)
{
	char request[sizeof(s->request)] = "";
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(request) - 1 && !strstr(request, "\r\n\r\n")) {
		n = read(fd, request + len, sizeof(request) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
		request[len] = '\0';
	}
	(void)pthread_mutex_lock(&s->lock);
	s->n++;
	memcpy(s->request, request, len + 1);
	(void)pthread_mutex_unlock(&s->lock);
}

/* The other side may have had enough of it. */
static void answer(const struct runtime_server *s, int fd)
{
	size_t step = s->manner == RUNTIME_IS_SLOW ? 1 : s->len;
	ssize_t n = 1;

	for (size_t at = 0; at < s->len && n > 0; at += (size_t)n)
		n = send(fd, s->answer + at, step < s->len - at ? step : s->len - at, MSG_NOSIGNAL);
}

static void serve(struct runtime_server *s, int fd)
{
	char rest[64];

	if (s->manner != RUNTIME_CLOSES)
		read_request(s, fd);
	if (s->manner != RUNTIME_CLOSES && s->manner != RUNTIME_NOT_READS)
		answer(s, fd);
	while ((s->manner == RUNTIME_HOLDS_ON || s->manner == RUNTIME_NOT_READS) &&
	       read(fd, rest, sizeof(rest)) > 0)
		;
	(void)close(fd);
}

static void *run(void *ctx)
{
	struct runtime_server *s = ctx;
	struct pollfd fds[2] = { { .fd = s->listen_fd, .events = POLLIN },
				 { .fd = s->stop_fd, .events = POLLIN } };

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		int fd = accept(s->listen_fd, NULL, NULL);

		if (fd >= 0)
			serve(s, fd);
	}
	return NULL;
}

struct runtime_server *runtime_start(const char *path, enum runtime_manner manner, const char *answer_text,
				     size_t len)
{
	struct runtime_server *s = calloc(1, sizeof(*s));

	CHECK(s && strlen(path) < sizeof(s->at.sun_path));
	s->manner = manner;
	s->answer = answer_text;
	s->len = len;
	s->at.sun_family = AF_UNIX;
	(void)snprintf(s->at.sun_path, sizeof(s->at.sun_path), "%s", path);
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	CHECK(s->listen_fd >= 0 && s->stop_fd >= 0);
	CHECK_INT(bind(s->listen_fd, (const struct sockaddr *)&s->at, sizeof(s->at)), 0);
	CHECK_INT(listen(s->listen_fd, 16), 0);
	CHECK_INT(pthread_mutex_init(&s->lock, NULL), 0);
	CHECK_INT(pthread_create(&s->thread, NULL, run, s), 0);
	return s;
}

struct runtime_server *runtime_start_http(const char *path, const char *status, const char *body)
{
	struct runtime_server *s;
	char *text;
	int len = asprintf(&text,
			   "HTTP/1.0 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
			   status, strlen(body), body);

	CHECK(len > 0);
	s = runtime_start(path, RUNTIME_ANSWERS, text, (size_t)len);
	s->own = text;
	return s;
}

unsigned int runtime_asked(struct runtime_server *s, const char **ret_request)
{
	static char request[sizeof(s->request)];
	unsigned int n;

	(void)pthread_mutex_lock(&s->lock);
	n = s->n;
	memcpy(request, s->request, sizeof(request));
	(void)pthread_mutex_unlock(&s->lock);
	if (ret_request)
		*ret_request = request;
	return n;
}

void runtime_stop(struct runtime_server *s)
{
	uint64_t one = 1;

	CHECK_INT(write(s->stop_fd, &one, sizeof(one)), sizeof(one));
	CHECK_INT(pthread_join(s->thread, NULL), 0);
	(void)unlink(s->at.sun_path);
	(void)close(s->listen_fd);
	(void)close(s->stop_fd);
	free(s->own);
	free(s);
}
