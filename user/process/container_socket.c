// SPDX-License-Identifier: BSD-2-Clause
/*
 * The request is one of HTTP/1.0: the server closes when it has answered, and has no reason for chunks; some send them
 * all the same. The path has no version of the API: of versions, new runtimes refuse the oldest ones, and old runtimes
 * the newest, so that no one of them suits all.
 */
#include "process/container_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "process/http_answer.h"

enum { ID_LEN = 64, ANSWER_LIMIT = 1 << 20 };

struct runtime {
	const char *path;
	uint64_t rest_ns; /* until then it is left alone; CLOCK_MONOTONIC */
};

struct hl_container_sockets {
	uint64_t failures;
	char why[200]; /* of the first */
	size_t n;
	struct runtime items[];
};

int hl_container_socket_check(const char *path, struct hl_err *err)
{
	struct sockaddr_un address;

	if (path[0] != '/')
		return hl_err_set(err, -EINVAL, "\"%s\" is no path of a socket: give one that begins with /",
				  path);
	if (strlen(path) >= sizeof(address.sun_path))
		return hl_err_set(err, -EINVAL, "the path of the socket '%s' is longer than %zu bytes", path,
				  sizeof(address.sun_path) - 1);
	return 0;
}

struct hl_container_sockets *hl_container_sockets_new(const char *const *paths, size_t n)
{
	struct hl_container_sockets *sockets = calloc(1, sizeof(*sockets) + n * sizeof(sockets->items[0]));

	for (; sockets && sockets->n < n; sockets->n++)
		sockets->items[sockets->n].path = paths[sockets->n];
	return sockets;
}

void hl_container_sockets_free(struct hl_container_sockets *sockets)
{
	free(sockets);
}

bool hl_container_sockets_may_know(const struct hl_cgroup_place *place)
{
	static const char *const runtimes[] = { "docker", "podman", "kubernetes" };

	/* It becomes a part of the request. */
	if (!place->runtime || place->delegated || place->id.len != ID_LEN)
		return false;
	for (size_t i = 0; i < ID_LEN; i++)
		if (!memchr("0123456789abcdef", place->id.at[i], 16))
			return false;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (strcmp(place->runtime, runtimes[i]) == 0)
			return true;
	return false;
}

/* ---- one question -------------------------------------------------------------------------------------- */

/* A connected descriptor. Nothing is waited for: -EAGAIN if too many others wait there. */
static int connect_to(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return TAKE_FD(fd);
}

/* Adds what there is to @text, once there is something; 1: that was all. */
static int receive(int fd, uint64_t until_ns, struct hl_str *text)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	uint64_t now = hl_monotonic_ns();
	char room[16 << 10];
	ssize_t n;

	if (now >= until_ns || poll(&wait, 1, (int)((until_ns - now) / 1000000) + 1) == 0)
		return -ETIMEDOUT;
	n = recv(fd, room, sizeof(room), MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	hl_str_add(text, room, (size_t)n);
	return hl_str_status(text) ? -ENOMEM : n == 0;
}

static int get(const char *path, struct hl_span id, struct hl_str *text, struct hl_http_answer *ret)
{
	uint64_t until_ns = hl_monotonic_ns() + HL_ASK_MS * UINT64_C(1000000);
	_cleanup_close_ int fd = connect_to(path);
	char request[ID_LEN + 96];
	ssize_t sent;
	size_t len;
	int code;

	if (fd < 0)
		return fd;
	len = (size_t)snprintf(request, sizeof(request),
			       "GET /containers/%.*s/json HTTP/1.0\r\nHost: localhost\r\n\r\n", (int)id.len,
			       id.at);
	sent = send(fd, request, len, MSG_NOSIGNAL);
	if (sent != (ssize_t)len)
		return sent < 0 ? -errno : -EIO;
	for (;;) {
		code = receive(fd, until_ns, text);
		if (code < 0)
			return code;
		code = hl_http_answer_parse(text->data, text->len, code == 1, ret);
		if (code != -EAGAIN)
			return code;
		if (text->len > ANSWER_LIMIT)
			return -EFBIG;
	}
}

/* Whether a runtime says that there is no such container, rather than any server that there is no such page. */
static bool says_unknown(const struct hl_http_answer *answer)
{
	static const char words[] = "no such container";

	for (size_t i = 0; i + strlen(words) <= answer->len; i++)
		if (strncasecmp(answer->body + i, words, strlen(words)) == 0)
			return true;
	return false;
}

/* -ENOENT: it says that there is no such container; -ENOMEM; other codes come with a sentence. */
static int ask(struct runtime *runtime, int root_fd, const struct hl_cgroup_place *place,
	       struct hl_container **ret, struct hl_err *err)
{
	_cleanup_str_ struct hl_str text = { 0 };
	struct hl_http_answer answer = { 0 };
	int code = get(runtime->path, place->id, &text, &answer);

	if (code == -ENOMEM)
		return code;
	/* Whoever starts a container decides how much there is to say of it. */
	if (code == -EFBIG)
		return hl_err_set(err, code, "'%s' has more than %d bytes to say", runtime->path,
				  ANSWER_LIMIT);
	if (!code && answer.status == 200) {
		code = hl_container_read_answer(root_fd, place, answer.body, answer.len, ret, err);
		return !code || code == -ENOMEM ? code : hl_err_prefix(err, code, "'%s'", runtime->path);
	}
	if (!code && answer.status == 404 && says_unknown(&answer))
		return -ENOENT;
	runtime->rest_ns = hl_monotonic_ns() + HL_ASK_REST_S * UINT64_C(1000000000);
	if (!code)
		return hl_err_set(err, -EPROTO, "'%s' answers with status %u", runtime->path, answer.status);
	if (code == -EBADMSG)
		return hl_err_set(err, code, "'%s' does not answer as HTTP servers do", runtime->path);
	(void)hl_err_errno(err, code, "cannot ask '%s'", runtime->path);
	return -EIO;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void count_failure(struct hl_container_sockets *sockets, const char *text)
{
	if (!sockets->failures++)
		(void)snprintf(sockets->why, sizeof(sockets->why), "%.199s", text);
	hl_debug("process", "container: %s", text);
}

int hl_container_sockets_ask(struct hl_container_sockets *sockets, int root_fd,
			     const struct hl_cgroup_place *place, struct hl_container **ret)
{
	bool left_alone = false;

	for (size_t i = 0; i < sockets->n; i++) {
		struct runtime *runtime = &sockets->items[i];
		struct hl_err err = { "" };
		int code = -ENOENT;

		if (hl_monotonic_ns() >= runtime->rest_ns)
			code = ask(runtime, root_fd, place, ret, &err);
		if (code == 0 || code == -ENOMEM)
			return code;
		if (code != -ENOENT)
			count_failure(sockets, err.text);
		left_alone |= hl_monotonic_ns() < runtime->rest_ns;
	}
	return left_alone ? -EAGAIN : -ENOENT;
}

uint64_t hl_container_sockets_due_ns(const struct hl_container_sockets *sockets)
{
	uint64_t now = hl_monotonic_ns(), due = 0;

	for (size_t i = 0; i < sockets->n; i++) {
		uint64_t rest = sockets->items[i].rest_ns;

		if (rest > now && (!due || rest < due))
			due = rest;
	}
	return due;
}

uint64_t hl_container_sockets_failures(const struct hl_container_sockets *sockets, const char **ret_why)
{
	*ret_why = sockets->why;
	return sockets->failures;
}
