// SPDX-License-Identifier: BSD-2-Clause
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VARIABLES = 32 };

static bool is_listed(const char *entry, const char *const *names)
{
	size_t len = strcspn(entry, "=");

	for (; names && *names; names++)
		if (strlen(*names) == len && strncmp(entry, *names, len) == 0)
			return true;
	return false;
}

/* What of the environment the child is given, in @ret, which ends with NULL. */
static void choose_environment(const char *const *names, char *ret[MOST_VARIABLES])
{
	static const char *const always[] = { "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", NULL };
	size_t n = 0;

	for (char **entry = environ; entry && *entry && n + 1 < MOST_VARIABLES; entry++)
		if (is_listed(*entry, always) || is_listed(*entry, names))
			ret[n++] = *entry;
	ret[n] = NULL;
}

static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int given)
{
	sigset_t none, all;
	int r = 0;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	for (int fd = 0; fd <= 2 && !r; fd++) {
#ifdef __SANITIZE_ADDRESS__
		if (fd == 2)
			break;
#endif
		r = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
	}
	if (!r)
		r = posix_spawn_file_actions_adddup2(actions, given, HL_SPAWN_FD);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(actions, HL_SPAWN_FD + 1);
	if (!r)
		r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETSIGDEF);
	if (!r)
		r = posix_spawnattr_setsigmask(attributes, &none);
	return r ? r : posix_spawnattr_setsigdefault(attributes, &all);
}

int hl_spawn_self(char *const argv[], const char *const *names, int fd, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *env[MOST_VARIABLES];
	int r;

	choose_environment(names, env);
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (!r) {
		r = set_up(&actions, &attributes, fd);
		if (!r)
			r = posix_spawn(ret, "/proc/self/exe", &actions, &attributes, argv, env);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}
