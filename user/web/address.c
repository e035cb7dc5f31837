// SPDX-License-Identifier: BSD-2-Clause
#include "web/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

enum { WAITING = 16 };

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static bool parse_port(const char *text, in_port_t *ret)
{
	unsigned long port = strtoul(text, NULL, 10);

	if (!text[0] || strspn(text, "0123456789") != strlen(text) || port > 65535)
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

static bool parse_v6(const char *text, struct sockaddr_in6 *ret)
{
	const char *end = strchr(text, ']');
	char host[INET6_ADDRSTRLEN];

	if (!end || (size_t)(end - text) > sizeof(host) || end[1] != ':')
		return false;
	(void)snprintf(host, sizeof(host), "%.*s", (int)(end - text - 1), text + 1);
	*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	return inet_pton(AF_INET6, host, &ret->sin6_addr) == 1 && parse_port(end + 2, &ret->sin6_port);
}

static bool parse_v4(const char *text, struct sockaddr_in *ret)
{
	const char *colon = strchr(text, ':'), *port = colon ? colon + 1 : text;
	char host[INET_ADDRSTRLEN] = "127.0.0.1";

	if (colon && (size_t)(colon - text) >= sizeof(host))
		return false;
	if (colon && colon > text)
		(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	*ret = (struct sockaddr_in){ .sin_family = AF_INET };
	return inet_pton(AF_INET, host, &ret->sin_addr) == 1 && parse_port(port, &ret->sin_port);
}

static bool is_loopback(const union any_address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_UNIX || IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* Removes a socket at which nobody listens. */
static void remove_stale(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (lstat(address->sun_path, &st) || !S_ISSOCK(st.st_mode) || fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) && errno == ECONNREFUSED)
		(void)unlink(address->sun_path);
}

static int listen_at(const char *text, const union any_address *a, socklen_t len, struct hl_err *err)
{
	_cleanup_close_ int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return hl_err_errno(err, -errno, "cannot make a socket for '%s'", text);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a->any.sa_family == AF_UNIX)
		remove_stale(&a->local);
	if (bind(fd, &a->any, len) || listen(fd, WAITING))
		return hl_err_errno(err, -errno, "cannot listen at '%s'", text);
	if (a->any.sa_family == AF_UNIX)
		(void)chmod(a->local.sun_path, 0660);
	return TAKE_FD(fd);
}

static int parse(const char *address, bool anywhere, union any_address *ret, socklen_t *ret_len,
		 struct hl_err *err)
{
	const char *path = hl_starts_with(address, "unix:") ? address + 5 : address;

	*ret = (union any_address){ .local = { .sun_family = AF_UNIX } };
	*ret_len = sizeof(ret->local);
	if (path[0] == '/') {
		if (strlen(path) >= sizeof(ret->local.sun_path))
			return hl_err_set(err, -EINVAL, "the path of the socket '%s' is too long", path);
		memcpy(ret->local.sun_path, path, strlen(path) + 1);
	} else if (address[0] == '[' ? parse_v6(address, &ret->v6) : parse_v4(address, &ret->v4)) {
		*ret_len = ret->any.sa_family == AF_INET ? sizeof(ret->v4) : sizeof(ret->v6);
	} else {
		return hl_err_set(
			err, -EINVAL,
			"\"%s\" is no address: give 127.0.0.1:PORT, [::1]:PORT or the path of a socket",
			address);
	}
	if (!anywhere && !is_loopback(ret))
		return hl_err_set(err, -EINVAL,
				  "'%s' is no loopback address: others could read there what runs here; "
				  "--metrics-anywhere allows it",
				  address);
	return 0;
}

int hl_listen_check(const char *address, bool anywhere, struct hl_err *err)
{
	union any_address a;
	socklen_t len;

	return parse(address, anywhere, &a, &len, err);
}

int hl_listen(const char *address, bool anywhere, struct hl_err *err)
{
	union any_address a;
	socklen_t len;
	int code = parse(address, anywhere, &a, &len, err);

	return code ? code : listen_at(address, &a, len, err);
}
