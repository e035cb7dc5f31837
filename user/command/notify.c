// SPDX-License-Identifier: BSD-2-Clause
#include "command/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

bool hl_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	size_t len = path ? strlen(path) : 0;
	socklen_t size;

	if ((len && path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, len);
	/* Of the abstract kind; its name does not end with a NUL. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 &&
	       sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, size) >= 0;
}
