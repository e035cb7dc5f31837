// SPDX-License-Identifier: BSD-2-Clause
#include "command/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	HEAD = 256,      /* bytes that the kernel looks at: BINPRM_BUF_SIZE */
	MOST_SCRIPTS = 4 /* that are each the interpreter of the one before */
};

/* A regular file that may be executed, or -1. It may be anything: opening it must not wait. */
static int open_program(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -1;
	return TAKE_FD(fd);
}

/* As execvp(3) searches. */
static int search_program(const char *name)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];
	int fd = -1;

	if (strchr(name, '/'))
		return open_program(name);
	if (!dirs)
		dirs = "/bin:/usr/bin";
	while (dirs && fd < 0) {
		const char *end = strchrnul(dirs, ':');
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - dirs), dirs,
				 end == dirs ? "" : "/", name);

		if (n > 0 && (size_t)n < sizeof(path))
			fd = open_program(path);
		dirs = *end ? end + 1 : NULL;
	}
	return fd;
}

/* Cuts the interpreter's path out of a script's first line. */
static bool interpreter_of(int fd, char head[static HEAD + 1], const char **ret)
{
	ssize_t n = pread(fd, head, HEAD, 0);
	char *path;

	if (n < 3 || memcmp(head, "#!", 2) != 0)
		return false;
	head[n] = '\0';
	path = head + 2 + strspn(head + 2, " \t");
	path[strcspn(path, " \t\n")] = '\0';
	*ret = path;
	return *path;
}

void *hl_program_map(const char *name, size_t *ret_len)
{
	_cleanup_close_ int fd = *name ? search_program(name) : -1;
	size_t len = (size_t)sysconf(_SC_PAGESIZE);
	char head[HEAD + 1];
	const char *next;
	void *map;

	for (int i = 0; i < MOST_SCRIPTS && fd >= 0 && interpreter_of(fd, head, &next); i++) {
		(void)close(fd);
		fd = open_program(next);
	}
	map = fd >= 0 ? mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (map == MAP_FAILED)
		return NULL;
	*ret_len = len;
	return map;
}
