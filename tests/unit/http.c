// SPDX-License-Identifier: BSD-2-Clause
/* needs: base web */
#include "web/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"
#include "web/address.h"

static struct hl_err err;
static struct sockaddr_in at;

static struct hl_http *start(void)
{
	int fd = hl_listen("127.0.0.1:0", false, &err);
	socklen_t len = sizeof(at);
	struct hl_http *http;

	CHECK(fd >= 0 && getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	CHECK_INT(hl_http_start(fd, "/metrics", "text/plain; version=0.0.4", &http, &err), 0);
	hl_http_publish(http, "one 1\n", 6);
	return http;
}

static int connect_to(void)
{
	const struct timeval patience = { 20, 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
	return fd;
}

/* What comes until the other side closes. */
static const char *rest_of(int fd)
{
	static char text[1 << 20];
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = 0;
	(void)close(fd);
	return text;
}

static const char *ask(const char *request, size_t len)
{
	int fd = connect_to();

	CHECK(send(fd, request, len, MSG_NOSIGNAL) == (ssize_t)len);
	return rest_of(fd);
}

static void check_answer(const char *request, const char *status)
{
	const char *got = ask(request, strlen(request));

	if (strncmp(got, "HTTP/1.1 ", 9) != 0 || strncmp(got + 9, status, strlen(status)) != 0)
		FAIL("to \"%s\" it answers \"%s\"", request, got);
}

static void check_page(const char *body)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
	const char *got = ask(request, strlen(request)), *end = strstr(got, "\r\n\r\n");

	CHECK(strncmp(got, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n", 57) == 0);
	CHECK(end != NULL);
	CHECK_STR(end + 4, body);
}

HL_TEST(the_page_is_served)
{
	struct hl_http *http = start();
	const char *got;

	check_page("one 1\n");
	hl_http_publish(http, "two 2\nthree 3\n", 14);
	check_page("two 2\nthree 3\n");
	check_answer("GET /metrics?x=1 HTTP/1.0\n\n", "200 OK\r\n");
	got = ask("HEAD /metrics HTTP/1.1\r\n\r\n", 26);
	CHECK(strstr(got, "Content-Length: 14\r\n") && !strstr(got, "two"));
	/* What belongs to a request, and comes late, takes no answer back. */
	check_answer(
		"GET /metrics HTTP/1.1\r\nContent-Length: 40\r\n\r\n0123456789012345678901234567890123456789",
		"200 OK");
	hl_http_stop(http);
}

HL_TEST(other_requests_are_refused)
{
	struct hl_http *http = start();
	static char large[8192];

	check_answer("GET / HTTP/1.1\r\n\r\n", "404 ");
	check_answer("GET /metricsx HTTP/1.1\r\n\r\n", "404 ");
	check_answer("GET /../etc/passwd HTTP/1.1\r\n\r\n", "404 ");
	check_answer("POST /metrics HTTP/1.1\r\n\r\n", "405 ");
	check_answer("GET /metrics\r\n\r\n", "400 ");
	check_answer("\r\n\r\n", "400 ");
	CHECK(strstr(ask("GET \0/metrics HTTP/1.1\r\n\r\n", 27), "HTTP/1.1 400 "));
	memset(large, 'a', sizeof(large));
	memcpy(large, "GET /", 5);
	CHECK(strstr(ask(large, sizeof(large)), "HTTP/1.1 431 "));
	check_page("one 1\n");
	hl_http_stop(http);
}

/* Those who say nothing, or read nothing, keep nobody out, and do not stay. */
HL_TEST(slow_clients_hold_nothing)
{
	struct hl_http *http = start();
	static char page[8 << 20];
	int idle[40], lazy;
	char byte;

	for (int i = 0; i < 40; i++) {
		idle[i] = connect_to();
		CHECK(send(idle[i], "GET /", (size_t)(i % 6), MSG_NOSIGNAL) >= 0);
	}
	check_page("one 1\n");
	memset(page, 'x', sizeof(page));
	hl_http_publish(http, page, sizeof(page));
	lazy = connect_to();
	CHECK(send(lazy, "GET /metrics HTTP/1.1\r\n\r\n", 25, MSG_NOSIGNAL) == 25);
	hl_http_publish(http, "one 1\n", 6);
	check_page("one 1\n");
	for (int i = 0; i < 40; i++) {
		CHECK(read(idle[i], &byte, 1) <= 0); /* the end, or a reset: not our patience's end */
		CHECK(errno != EAGAIN);
		(void)close(idle[i]);
	}
	(void)sleep(6);
	CHECK(strlen(rest_of(lazy)) < sizeof(page));
	check_page("one 1\n");
	hl_http_stop(http);
}

HL_TEST(addresses)
{
	static const char *const bad[] = {
		"",      "x",       "127.0.0.1",       "127.0.0.1:x",   "127.0.0.1:70000",
		"[::1]", "[::1:90", "localhost:80:90", "unix:relative", "1.2.3.4.5:80"
	};
	static const char *const far[] = { "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "128.0.0.1:0" };
	int fd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (hl_listen(bad[i], true, &err) != -EINVAL)
			FAIL("\"%s\": %s", bad[i], err.text);
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		CHECK_INT(hl_listen(far[i], false, &err), -EINVAL);
		CHECK(strstr(err.text, "is no loopback address"));
	}
	fd = hl_listen("0.0.0.0:0", true, &err);
	CHECK(fd >= 0 && close(fd) == 0);
	fd = hl_listen(":0", false, &err);
	CHECK(fd >= 0 && close(fd) == 0);
}

HL_TEST(sockets_in_the_file_system)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	char address[200];
	struct stat st;
	int fd, again;

	(void)snprintf(local.sun_path, sizeof(local.sun_path), "/tmp/hl-http-%d", (int)getpid());
	(void)snprintf(address, sizeof(address), "unix:%s", local.sun_path);
	fd = hl_listen(address, false, &err);
	CHECK(fd >= 0);
	CHECK(stat(local.sun_path, &st) == 0 && (st.st_mode & 0777) == 0660);
	/* One that is in use stays; one that was left behind goes. */
	CHECK_INT(hl_listen(address, false, &err), -EADDRINUSE);
	CHECK(close(fd) == 0);
	again = hl_listen(local.sun_path, false, &err);
	CHECK(again >= 0);
	(void)close(again);
	/* What is no socket is not ours. */
	CHECK(unlink(local.sun_path) == 0);
	CHECK(symlink("/etc/passwd", local.sun_path) == 0);
	CHECK(hl_listen(address, false, &err) < 0);
	CHECK(lstat(local.sun_path, &st) == 0 && S_ISLNK(st.st_mode));
	(void)unlink(local.sun_path);
}
