// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processes: this one locks itself in and then copies what was fetched; the client program is its child
 * and the first of a pid namespace, so that whatever it starts ends with it, and it ends with this one. There
 * is no sandbox as symd's, for it needs the network and its configuration; but it is nobody, and what it
 * brings is as foreign as any file of a container.
 */
#include "process/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nobody.h"
#include "base/spawn.h"

#define LIMIT ((off_t)HL_DEBUGINFOD_MB << 20)

enum { CANNOT_EXECUTE = 127, MEMORY_MB = 2048, DESCRIPTORS = 256, CPU_SECONDS = 60 };

static void set_limits(void)
{
	(void)hl_limit_resource(RLIMIT_CORE, 0);
	(void)hl_limit_resource(RLIMIT_FSIZE, (uint64_t)LIMIT);
	(void)hl_limit_resource(RLIMIT_NOFILE, DESCRIPTORS);
	(void)hl_limit_resource(RLIMIT_CPU, CPU_SECONDS);
#ifndef __SANITIZE_ADDRESS__
	(void)hl_limit_resource(RLIMIT_AS, (uint64_t)MEMORY_MB << 20);
#endif
	/* So that writing beyond the limit fails, and is told. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

/* A /tmp of its own, which is gone with this process; where it cannot be kept, what is fetched goes there. */
static bool make_own_tmp(void)
{
	char options[64];

	(void)snprintf(options, sizeof(options), "mode=1777,size=%dm", HL_DEBUGINFOD_MB + 1);
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) == 0;
}

/* True if nothing is left that this process may do and nobody may not. */
static bool lock_in(bool has_cache)
{
	bool is_root = geteuid() == 0, is_nobody = true;

	if (is_root) {
		if ((!has_cache && !make_own_tmp()) || unshare(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS))
			return false;
		hl_empty_bounding_set();
		is_nobody = hl_become_nobody();
	}
	return hl_drop_capabilities() && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && is_nobody;
}

/* Others than root have the client program's own cache, below their home. */
static void set_environment(bool was_root, bool has_cache)
{
	char bytes[32];

	(void)snprintf(bytes, sizeof(bytes), "%lld", (long long)LIMIT);
	(void)setenv("DEBUGINFOD_MAXSIZE", bytes, 1);
	(void)setenv("LC_ALL", "C", 1);
	if (was_root) {
		(void)setenv("DEBUGINFOD_CACHE_PATH", has_cache ? HL_DEBUGINFOD_CACHE : "/tmp/debuginfod", 1);
		(void)unsetenv("HOME");
	}
}

_Noreturn static void run_client(const char *build_id, int output)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)close(HL_SPAWN_FD);
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		(void)execlp("debuginfod-find", "debuginfod-find", "debuginfo", build_id, (char *)NULL);
	_exit(errno == ENOENT ? CANNOT_EXECUTE : 1);
}

/* What the client program says, its exit status in @ret_status; false if it could not be run. */
static bool ask_client(const char *build_id, char *said, size_t size, int *ret_status)
{
	int ends[2];
	size_t len = 0;
	char rest[512] = "";
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		run_client(build_id, ends[1]);
	(void)close(ends[1]);
	while (pid > 0 && (n = read(ends[0], len + 1 < size ? said + len : rest,
				    len + 1 < size ? size - 1 - len : sizeof(rest))) > 0)
		len += len + 1 < size ? (size_t)n : 0;
	said[len] = '\0';
	(void)close(ends[0]);
	return pid > 0 && waitpid(pid, ret_status, 0) == pid;
}

/* The file whose path is the last line of @said, to the parent's file. */
static int copy_out(char *said)
{
	_cleanup_close_ int fd = -1;
	size_t len = strlen(said);
	const char *path;
	struct stat st;
	ssize_t n;

	if (len && said[len - 1] == '\n')
		said[len - 1] = '\0';
	path = strrchr(said, '\n') ? strrchr(said, '\n') + 1 : said;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (path[0] != '/' || fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return HL_DEBUGINFOD_FAILED;
	if (st.st_size > LIMIT)
		return HL_DEBUGINFOD_TOO_LARGE;
	for (off_t left = st.st_size; left > 0; left -= n) {
		n = sendfile(HL_SPAWN_FD, fd, NULL, (size_t)left);
		if (n <= 0)
			return HL_DEBUGINFOD_FAILED;
	}
	return HL_DEBUGINFOD_DONE;
}

/* debuginfod-find says "Server query failed: " and what strerror(3) has for the code of its library. */
static int explain(const char *said)
{
	if (strstr(said, strerror(ENOENT)))
		return HL_DEBUGINFOD_UNKNOWN;
	return strstr(said, strerror(EFBIG)) ? HL_DEBUGINFOD_TOO_LARGE : HL_DEBUGINFOD_FAILED;
}

/* Nobody has to come there, too: an agent's cache around it may be closed. */
static bool is_cache_usable(void)
{
	struct stat own, around;

	return stat(HL_DEBUGINFOD_CACHE, &own) == 0 && S_ISDIR(own.st_mode) && own.st_uid == HL_NOBODY &&
	       stat(HL_DEBUGINFOD_CACHE "/..", &around) == 0 && (around.st_mode & S_IXOTH);
}

void hl_debuginfod_child_run(const char *build_id)
{
	bool was_root = geteuid() == 0, has_cache;
	char said[PATH_MAX + 512];
	struct stat st;
	int status;

	if (fstat(HL_SPAWN_FD, &st) || !S_ISREG(st.st_mode))
		_exit(HL_DEBUGINFOD_FAILED);
	has_cache = is_cache_usable();
	set_limits();
	if (!lock_in(has_cache))
		_exit(HL_DEBUGINFOD_HAS_RIGHTS);
	set_environment(was_root, has_cache);
	if (!ask_client(build_id, said, sizeof(said), &status) || !WIFEXITED(status))
		_exit(HL_DEBUGINFOD_FAILED);
	if (WEXITSTATUS(status) == CANNOT_EXECUTE)
		_exit(HL_DEBUGINFOD_NO_PROGRAM);
	_exit(WEXITSTATUS(status) ? explain(said) : copy_out(said));
}
