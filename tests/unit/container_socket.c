// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample process tests/runtime */
#include "process/container_socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "harness.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "runtime.h"

#define ID    "4f4e7bd2cbd1b0b6dbd3ba5ae5b4d2e1bb1d4bbd1f6b8f6b9c0e4b65f0a1c2d3"
#define OTHER "0000000000000000000000000000000000000000000000000000000000000000"

/* As dockerd and podman answer, as far as it matters. */
#define ANSWER                                                                                               \
	"{\"Id\":\"" ID "\",\"Name\":\"/web\",\"Image\":\"sha256:00\",\"Config\":{\"Env\":[\"PASSWORD=x\"]," \
	"\"Image\":\"nginx:1.25\",\"Labels\":{\"team\":\"red\",\"com.docker.compose.project\":\"shop\","     \
	"\"com.docker.compose.service\":\"front\"}}}\n"
#define OK "HTTP/1.1 200 OK\r\n"

static char path[64], second[64];

static void name_sockets(void)
{
	(void)snprintf(path, sizeof(path), "/tmp/hl-socket-%d", (int)getpid());
	(void)snprintf(second, sizeof(second), "/tmp/hl-socket-%d-2", (int)getpid());
}

static struct hl_container_sockets *new_sockets(void)
{
	const char *paths[] = { path, second };
	struct hl_container_sockets *sockets = hl_container_sockets_new(paths, 2);

	CHECK(sockets);
	CHECK_INT(hl_container_sockets_due_ns(sockets), 0);
	return sockets;
}

static int ask(struct hl_container_sockets *sockets, struct hl_container **ret)
{
	struct hl_cgroup_place place;
	int code;

	hl_cgroup_parse("/docker/" ID, &place);
	CHECK(hl_container_sockets_may_know(&place));
	*ret = NULL;
	code = hl_container_sockets_ask(sockets, /* root_fd= */ -1, &place, ret);
	CHECK((code == 0) == (*ret != NULL));
	return code;
}

static uint64_t failures(const struct hl_container_sockets *sockets, const char *words)
{
	const char *why;
	uint64_t n = hl_container_sockets_failures(sockets, &why);

	if (!why || !strstr(why, words))
		FAIL("no \"%s\" in: %s", words, why ? why : "nothing");
	return n;
}

static void check_web(struct hl_container *c)
{
	CHECK_STR(c->runtime, "docker");
	CHECK_STR(c->id, ID);
	CHECK_STR(c->name, "web");
	CHECK_STR(c->image, "nginx:1.25");
	CHECK_STR(c->service, "shop/front");
	CHECK_STR(hl_container_label(c, "team"), "red");
	CHECK_INT(c->n_labels, 3);
	CHECK(c->described);
	hl_container_free(c);
}

static void answered(struct runtime_server *server)
{
	const char *paths[] = { path }, *request;
	struct hl_container_sockets *sockets = hl_container_sockets_new(paths, 1);
	struct hl_container *c;

	CHECK_INT(ask(sockets, &c), 0);
	check_web(c);
	CHECK_INT(failures(sockets, ""), 0);
	CHECK_INT(hl_container_sockets_due_ns(sockets), 0);
	CHECK_INT(runtime_asked(server, &request), 1);
	CHECK_STR(request, "GET /containers/" ID "/json HTTP/1.0\r\nHost: localhost\r\n\r\n");
	hl_container_sockets_free(sockets);
	runtime_stop(server);
}

HL_TEST(right_answers)
{
	static const char to_the_end[] = OK "\r\n" ANSWER;
	char told[1024], chunks[1024];

	name_sockets();
	answered(runtime_start_http(path, "200 OK", ANSWER));
	answered(runtime_start(path, RUNTIME_ANSWERS, to_the_end, strlen(to_the_end)));
	answered(runtime_start(path, RUNTIME_IS_SLOW, to_the_end, strlen(to_the_end)));
	/* The end of the connection need not be waited for. */
	(void)snprintf(told, sizeof(told), OK "Content-Length: %zu\r\n\r\n%s", strlen(ANSWER), ANSWER);
	answered(runtime_start(path, RUNTIME_HOLDS_ON, told, strlen(told)));
	(void)snprintf(chunks, sizeof(chunks),
		       OK "Transfer-Encoding: chunked\r\n\r\n10\r\n%.16s\r\n%zx\r\n%s\r\n0\r\n\r\n", ANSWER,
		       strlen(ANSWER) - 16, ANSWER + 16);
	answered(runtime_start(path, RUNTIME_HOLDS_ON, chunks, strlen(chunks)));
}

/* What has been asked once, to no avail: @want, with @words about a failure if there was one. */
static void refused(struct runtime_server *server, int want, const char *words)
{
	const char *paths[] = { path };
	struct hl_container_sockets *sockets = hl_container_sockets_new(paths, 1);
	uint64_t began_ns = hl_monotonic_ns();
	struct hl_container *c;

	CHECK_INT(ask(sockets, &c), want);
	CHECK_INT(failures(sockets, words), *words != '\0');
	/* It is left alone for a minute; or else it is not, and is asked again. */
	if (want == -EAGAIN)
		CHECK(hl_container_sockets_due_ns(sockets) >=
		      began_ns + HL_ASK_REST_S * UINT64_C(1000000000));
	else
		CHECK_INT(hl_container_sockets_due_ns(sockets), 0);
	CHECK_INT(ask(sockets, &c), want);
	CHECK_INT(failures(sockets, words), *words == '\0' ? 0 : want == -EAGAIN ? 1 : 2);
	hl_container_sockets_free(sockets);
	runtime_stop(server);
}

HL_TEST(a_container_that_is_not_there)
{
	name_sockets();
	refused(runtime_start_http(path, "404 Not Found", "{\"message\":\"No such container: " ID "\"}"),
		-ENOENT, "");
	refused(runtime_start_http(path, "404 Not Found",
				   "{\"cause\":\"no such container\",\"message\":\"no container with name or "
				   "ID \\\"" ID "\\\" found: no such container\",\"response\":404}"),
		-ENOENT, "");
	/* A server that is no runtime. */
	refused(runtime_start_http(path, "404 Not Found", "{\"message\":\"page not found\"}"), -EAGAIN,
		"status 404");
}

HL_TEST(servers_that_fail)
{
	static const char cut[] = OK "Content-Length: 1000\r\n\r\n" ANSWER;

	name_sockets();
	refused(runtime_start_http(path, "500 Internal Server Error", ANSWER), -EAGAIN, "status 500");
	refused(runtime_start(path, RUNTIME_ANSWERS, ANSWER, strlen(ANSWER)), -EAGAIN, "as HTTP servers do");
	refused(runtime_start(path, RUNTIME_ANSWERS, cut, strlen(cut)), -EAGAIN, "as HTTP servers do");
	refused(runtime_start(path, RUNTIME_ANSWERS, "", 0), -EAGAIN, "as HTTP servers do");
	refused(runtime_start(path, RUNTIME_CLOSES, "", 0), -EAGAIN, path);
}

HL_TEST(servers_that_hang)
{
	name_sockets();
	refused(runtime_start(path, RUNTIME_NOT_READS, "", 0), -EAGAIN, "Connection timed out");
	refused(runtime_start(path, RUNTIME_HOLDS_ON, OK, strlen(OK)), -EAGAIN, "Connection timed out");
}

/* Who starts containers has a say in these: they do not keep others from being asked about. */
HL_TEST(answers_that_cannot_be_used)
{
	static char huge[3 << 20], deep[5000];

	name_sockets();
	refused(runtime_start_http(path, "200 OK", "{\"Id\":\"" ID "\""), -ENOENT, "is no JSON");
	refused(runtime_start_http(path, "200 OK", ""), -ENOENT, "is no JSON");
	refused(runtime_start_http(path, "200 OK", "[]"), -ENOENT, "another container");
	refused(runtime_start_http(path, "200 OK", "{\"Id\":\"" OTHER "\",\"Name\":\"/web\"}"), -ENOENT,
		"another container");
	memset(deep, '[', sizeof(deep) - 1);
	refused(runtime_start_http(path, "200 OK", deep), -ENOENT, "is no JSON");
	memset(huge, 'x', sizeof(huge));
	memcpy(huge, OK "\r\n", strlen(OK "\r\n"));
	refused(runtime_start(path, RUNTIME_ANSWERS, huge, sizeof(huge)), -ENOENT, "more than 1048576 bytes");
}

HL_TEST(nobody_there)
{
	struct hl_container_sockets *sockets;
	struct hl_container *c;
	FILE *f;

	name_sockets();
	sockets = new_sockets();
	CHECK_INT(ask(sockets, &c), -EAGAIN);
	CHECK_INT(failures(sockets, "No such file or directory"), 2);
	hl_container_sockets_free(sockets);
	f = fopen(path, "w");
	CHECK(f && fclose(f) == 0);
	sockets = new_sockets();
	CHECK_INT(ask(sockets, &c), -EAGAIN);
	CHECK_INT(failures(sockets, "Connection refused"), 2);
	hl_container_sockets_free(sockets);
	CHECK_INT(unlink(path), 0);
}

/* So many others wait there already that connecting would, too. */
HL_TEST(a_server_that_is_overrun)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), code = 0;
	const char *paths[] = { path };
	struct hl_container_sockets *sockets;
	struct hl_container *c;

	name_sockets();
	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	CHECK(listener >= 0 && bind(listener, (const struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK_INT(listen(listener, 0), 0);
	for (int i = 0; i < 100 && !code; i++)
		code = connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			       (const struct sockaddr *)&at, sizeof(at));
	CHECK(code);
	sockets = hl_container_sockets_new(paths, 1);
	CHECK_INT(ask(sockets, &c), -EAGAIN);
	CHECK_INT(failures(sockets, "temporarily unavailable"), 1);
	hl_container_sockets_free(sockets);
	CHECK_INT(unlink(path), 0);
}

HL_TEST(several_sockets)
{
	struct hl_container_sockets *sockets;
	struct runtime_server *a, *b;
	struct hl_container *c;

	name_sockets();
	/* One that is not there, and one that is. */
	sockets = new_sockets();
	b = runtime_start_http(second, "200 OK", ANSWER);
	CHECK_INT(ask(sockets, &c), 0);
	check_web(c);
	CHECK_INT(failures(sockets, path), 1);
	CHECK_INT(ask(sockets, &c), 0);
	check_web(c);
	CHECK_INT(failures(sockets, path), 1);
	CHECK_INT(runtime_asked(b, NULL), 2);
	hl_container_sockets_free(sockets);
	/* Both are, and the first does not know it, or cannot be used. */
	for (int i = 0; i < 2; i++) {
		sockets = new_sockets();
		a = runtime_start_http(path, i ? "200 OK" : "404 Not Found",
				       i ? "{}" : "No such container: " ID);
		CHECK_INT(ask(sockets, &c), 0);
		check_web(c);
		CHECK_INT(failures(sockets, ""), i);
		CHECK_INT(runtime_asked(a, NULL), 1);
		runtime_stop(a);
		hl_container_sockets_free(sockets);
	}
	runtime_stop(b);
}

static bool may_know(const char *cgroup)
{
	struct hl_cgroup_place place;

	hl_cgroup_parse(cgroup, &place);
	return hl_container_sockets_may_know(&place);
}

HL_TEST(whom_a_socket_may_know)
{
	CHECK(may_know("/docker/" ID));
	CHECK(may_know("/machine.slice/libpod-" ID ".scope/container"));
	CHECK(may_know("/kubepods/besteffort/pod2f5fa8f1-3b5f-4a5e-9d8a-0c1d2e3f4a5b/" ID));
	CHECK(!may_know("/system.slice/a.service"));
	CHECK(!may_know("/default/c1"));
	CHECK(!may_know("/default/" ID));
	CHECK(!may_know("/system.slice/crio-" ID ".scope"));
	CHECK(!may_know("/lxc.payload.a"));
	/* A user can give a cgroup of its own any name. */
	CHECK(!may_know("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope"));
}

HL_TEST(paths_of_sockets)
{
	char longest[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	struct hl_err err = { "" };

	memset(longest, '/', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK_INT(hl_container_socket_check("/run/docker.sock", &err), 0);
	CHECK_INT(hl_container_socket_check(longest + 1, &err), 0);
	CHECK_STR(err.text, "");
	CHECK_INT(hl_container_socket_check(longest, &err), -EINVAL);
	CHECK(strstr(err.text, "longer than 107 bytes"));
	CHECK_INT(hl_container_socket_check("unix:///run/docker.sock", &err), -EINVAL);
	CHECK(strstr(err.text, "begins with /"));
	CHECK_INT(hl_container_socket_check("", &err), -EINVAL);
}
