// SPDX-License-Identifier: BSD-2-Clause
#include "process/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/nobody.h"
#include "base/spawn.h"
#include "base/str.h"
#include "process/proc.h"

enum { LONGEST_BUILD_ID = 64, REAP_MS = 1000 };

void hl_debuginfod_prepare(void)
{
	_cleanup_close_ int cache = -1, ours = -1;

	(void)mkdir("/var/cache/hotleaf", 0755);
	cache = open("/var/cache/hotleaf", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (cache < 0)
		return;
	if (mkdirat(cache, "debuginfod", 0700) == 0) {
		ours = openat(cache, "debuginfod", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (geteuid() == 0 && ours >= 0)
			(void)!fchown(ours, HL_NOBODY, HL_NOBODY);
	}
}

/* A file of our own that has no name any more. */
static int make_file(void)
{
	static const char *const places[] = { "/var/cache/hotleaf", "/var/tmp", "/tmp" };
	char name[64];
	int fd = -1;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && fd < 0; i++) {
		(void)snprintf(name, sizeof(name), "%s/.fetched-XXXXXX", places[i]);
		fd = mkostemp(name, O_CLOEXEC);
	}
	if (fd < 0)
		return -errno;
	(void)unlink(name);
	return fd;
}

/* 0 or -errno. */
static int spawn(char *build_id, int output, pid_t *ret)
{
	static const char *const names[] = { "DEBUGINFOD_URLS", "PATH",     "HOME", "http_proxy",
					     "https_proxy",     "no_proxy", NULL };
	char name[] = "hotleaf", command[] = "fetch";
	char *argv[] = { name, command, build_id, NULL };

	return hl_spawn_self(argv, names, output, ret);
}

/* Its exit status once it has ended within @ms; -1: it has not, -2: it was killed. */
static int wait_for(pid_t pid, uint32_t ms)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd < 0 || poll(&wait, 1, (int)ms) != 1)
		return -1;
	if (waitpid(pid, &status, WNOHANG) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static int explain(int status, struct hl_err *err)
{
	switch (status) {
	case HL_DEBUGINFOD_DONE:
		return 0;
	case HL_DEBUGINFOD_NO_PROGRAM:
		return hl_err_set(err, -ENOSYS, "'debuginfod-find' is not installed (package debuginfod)");
	case HL_DEBUGINFOD_UNKNOWN:
		return hl_err_set(err, -ENOENT, "no server knows it");
	case HL_DEBUGINFOD_TOO_LARGE:
		return hl_err_set(err, -EFBIG, "it has more than %d MB", HL_DEBUGINFOD_MB);
	case HL_DEBUGINFOD_HAS_RIGHTS:
		return hl_err_set(err, -EPERM, "the child that fetches cannot give up its rights");
	default:
		return hl_err_set(err, -EIO, "the servers cannot be reached, or failed");
	}
}

int hl_debuginfod_fetch(const uint8_t *build_id, size_t len, uint32_t timeout_ms, struct hl_err *err)
{
	_cleanup_close_ int file = -1;
	char hex[2 * LONGEST_BUILD_ID + 1] = "";
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct stat st;
	pid_t pid = -1;
	int r;

	if (!urls || !urls[strspn(urls, " ")])
		return hl_err_set(err, -EDESTADDRREQ, "DEBUGINFOD_URLS is not set");
	if (len < 2 || len > LONGEST_BUILD_ID)
		return hl_err_set(err, -ENOENT, "a build-id of %zu bytes", len);
	for (size_t i = 0; i < len; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	file = make_file();
	if (file < 0)
		return hl_err_errno(err, file, "cannot make a file for what is fetched");
	r = spawn(hex, file, &pid);
	if (r)
		return hl_err_errno(err, r, "cannot start the child that fetches");
	r = wait_for(pid, timeout_ms);
	if (r == -1) {
		/* Its pid namespace dies with it. */
		(void)kill(pid, SIGKILL);
		(void)wait_for(pid, REAP_MS);
		return hl_err_set(err, -ETIMEDOUT, "not fetched in time");
	}
	r = explain(r, err);
	if (r)
		return r;
	/* For reading only, from now on. */
	r = hl_proc_reopen(file, &st);
	return r < 0 ? hl_err_errno(err, r, "cannot read what was fetched") : r;
}
