// SPDX-License-Identifier: BSD-2-Clause
#include "web/http.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/nobody.h"
#include "base/str.h"

enum { MOST_CONNECTIONS = 16, REQUEST_BYTES = 4096, IGNORED_BYTES = 1 << 16 };
#define EXCHANGE_NS UINT64_C(5000000000)

enum stage { READING, WRITING, ENDING };

struct connection {
	int fd; /* -1: none */
	enum stage stage;
	uint64_t until_ns; /* when it is closed, whatever the client does */
	char request[REQUEST_BYTES];
	size_t n, ignored; /* bytes of it; that came behind it */
	char *answer;
	size_t len, written;
};

struct hl_http {
	pthread_t thread;
	int listen_fd, stop_fd;
	const char *path, *type;
	pthread_mutex_t lock;
	/* Under the lock. */
	char *page;
	size_t page_len;
	/* The thread's. */
	struct connection connections[MOST_CONNECTIONS];
};

static void end_connection(struct connection *c)
{
	hl_cleanup_close(&c->fd);
	free(c->answer);
	*c = (struct connection){ .fd = -1 };
}

/* ---- one exchange -------------------------------------------------------------------------------------- */

/* Whether the first line asks for @path, with or without a query. */
static bool asks_for(const char *target, const char *path)
{
	size_t len = strcspn(target, " ?\r\n");

	return len == strlen(path) && memcmp(target, path, len) == 0;
}

static void add_answer(struct hl_str *s, const char *status, const char *type, const char *body, size_t len,
		       bool head)
{
	hl_str_addf(s,
		    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
		    "X-Content-Type-Options: nosniff\r\n\r\n",
		    status, type, len);
	if (!head)
		hl_str_add(s, body, len);
}

static void add_refusal(struct hl_str *s, const char *status, bool head)
{
	char body[64];

	(void)snprintf(body, sizeof(body), "%s\n", status);
	add_answer(s, status, "text/plain", body, strlen(body), head);
}

/* The request is whole, or too long. */
static void answer(struct hl_http *http, struct connection *c)
{
	_cleanup_str_ struct hl_str s = { 0 };
	bool head = hl_starts_with(c->request, "HEAD ");
	const char *target = strchr(c->request, ' ');

	if (c->n == REQUEST_BYTES - 1) {
		add_refusal(&s, "431 Request Header Fields Too Large", false);
	} else if (!target || !strstr(target, " HTTP/1.")) {
		add_refusal(&s, "400 Bad Request", false);
	} else if (!head && !hl_starts_with(c->request, "GET ")) {
		add_refusal(&s, "405 Method Not Allowed", false);
	} else if (asks_for(target + 1, http->path)) {
		(void)pthread_mutex_lock(&http->lock);
		add_answer(&s, "200 OK", http->type, http->page ? http->page : "", http->page_len, head);
		(void)pthread_mutex_unlock(&http->lock);
	} else {
		add_refusal(&s, "404 Not Found", head);
	}
	if (hl_str_status(&s)) {
		end_connection(c);
		return;
	}
	c->len = s.len;
	c->answer = TAKE_PTR(s.data);
	c->stage = WRITING;
}

static void read_request(struct hl_http *http, struct connection *c)
{
	ssize_t n = read(c->fd, c->request + c->n, REQUEST_BYTES - 1 - c->n);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_connection(c);
		return;
	}
	c->n += (size_t)n;
	c->request[c->n] = '\0';
	/* A byte 0 would hide the rest. */
	if (strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n") || strlen(c->request) < c->n ||
	    c->n == REQUEST_BYTES - 1)
		answer(http, c);
}

static void write_answer(struct connection *c)
{
	ssize_t n = send(c->fd, c->answer + c->written, c->len - c->written, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		end_connection(c);
		return;
	}
	c->written += (size_t)n;
	if (c->written < c->len)
		return;
	/* Closing with bytes unread would take the answer back: the client closes first, or time does. */
	(void)shutdown(c->fd, SHUT_WR);
	c->stage = ENDING;
}

static void read_rest(struct connection *c)
{
	char ignored[4096];
	ssize_t n = read(c->fd, ignored, sizeof(ignored));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->ignored += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->ignored > IGNORED_BYTES)
		end_connection(c);
}

static void go_on(struct hl_http *http, struct connection *c)
{
	if (c->stage == READING)
		read_request(http, c);
	else if (c->stage == WRITING)
		write_answer(c);
	else
		read_rest(c);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void accept_one(struct hl_http *http)
{
	/* cppcheck-suppress nullPointer ; accept(2) allows it */
	int fd = accept4(http->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *place = &http->connections[0];

	if (fd < 0)
		return;
	for (int i = 0; i < MOST_CONNECTIONS; i++) {
		struct connection *c = &http->connections[i];

		if (place->fd >= 0 && (c->fd < 0 || c->until_ns < place->until_ns))
			place = c;
	}
	end_connection(place);
	place->fd = fd;
	place->until_ns = hl_monotonic_ns() + EXCHANGE_NS;
}

static void end_late(struct hl_http *http)
{
	uint64_t now = hl_monotonic_ns();

	for (int i = 0; i < MOST_CONNECTIONS; i++)
		if (http->connections[i].fd >= 0 && now >= http->connections[i].until_ns)
			end_connection(&http->connections[i]);
}

static void *run(void *ctx)
{
	struct hl_http *http = ctx;
	struct pollfd fds[MOST_CONNECTIONS + 2];
	bool any;

	(void)hl_drop_capabilities(); /* of this thread */
	do {
		any = false;
		for (int i = 0; i < MOST_CONNECTIONS; i++) {
			const struct connection *c = &http->connections[i];

			any |= c->fd >= 0;
			fds[i] = (struct pollfd){ .fd = c->fd,
						  .events = c->stage == WRITING ? POLLOUT : POLLIN };
		}
		fds[MOST_CONNECTIONS] = (struct pollfd){ .fd = http->listen_fd, .events = POLLIN };
		fds[MOST_CONNECTIONS + 1] = (struct pollfd){ .fd = http->stop_fd, .events = POLLIN };
		if (poll(fds, MOST_CONNECTIONS + 2, any ? 500 : -1) < 0)
			continue;
		for (int i = 0; i < MOST_CONNECTIONS; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				go_on(http, &http->connections[i]);
		end_late(http);
		if (fds[MOST_CONNECTIONS].revents)
			accept_one(http);
	} while (!fds[MOST_CONNECTIONS + 1].revents);
	return NULL;
}

int hl_http_start(int fd, const char *path, const char *type, struct hl_http **ret, struct hl_err *err)
{
	struct hl_http *http = calloc(1, sizeof(*http));
	int code = 0;

	if (!http) {
		(void)close(fd);
		return hl_err_set(err, -ENOMEM, "no memory for the server");
	}
	http->listen_fd = fd;
	http->path = path;
	http->type = type;
	(void)pthread_mutex_init(&http->lock, NULL); /* cannot fail */
	for (int i = 0; i < MOST_CONNECTIONS; i++)
		http->connections[i].fd = -1;
	http->stop_fd = eventfd(0, EFD_CLOEXEC);
	code = http->stop_fd < 0 ? errno : pthread_create(&http->thread, NULL, run, http);
	if (code) {
		hl_cleanup_close(&http->stop_fd);
		hl_cleanup_close(&http->listen_fd);
		free(http);
		return hl_err_errno(err, -code, "cannot start the thread of the server");
	}
	*ret = http;
	return 0;
}

void hl_http_publish(struct hl_http *http, const char *text, size_t len)
{
	char *page = malloc(len + 1);

	if (!page)
		return;
	memcpy(page, text, len);
	(void)pthread_mutex_lock(&http->lock);
	free(http->page);
	http->page = page;
	http->page_len = len;
	(void)pthread_mutex_unlock(&http->lock);
}

void hl_http_stop(struct hl_http *http)
{
	uint64_t one = 1;

	if (!http)
		return;
	(void)!write(http->stop_fd, &one, sizeof(one));
	(void)pthread_join(http->thread, NULL);
	for (int i = 0; i < MOST_CONNECTIONS; i++)
		if (http->connections[i].fd >= 0)
			end_connection(&http->connections[i]);
	hl_cleanup_close(&http->stop_fd);
	hl_cleanup_close(&http->listen_fd);
	free(http->page);
	free(http);
}
