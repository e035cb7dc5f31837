// SPDX-License-Identifier: BSD-2-Clause
/*
 * storm SECONDS MODE: processes or threads that live about five milliseconds each, four at a time.
 *   fork    children that work
 *   exec    children that replace themselves by this program, called as "storm work"
 *   vfork   the same by vfork
 *   double  grandchildren that work, their parents gone
 *   thread  threads
 */
#include "work.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 4 };

static char self[4096]; /* path of this program: a process is called by what it executes */

OWN_FRAME static void short_life(void)
{
	double end = now() + 0.005;

	while (now() < end)
		SPIN(10000);
}

static void *thread_life(void *unused)
{
	short_life();
	AFTER_CALL();
	return unused;
}

OWN_FRAME static void start_child(const char *mode)
{
	/* Children of vfork share this memory until they are replaced. */
	pid_t pid = strcmp(mode, "vfork") == 0 ? vfork() : fork();

	if (pid)
		return;
	if (strcmp(mode, "exec") == 0 || strcmp(mode, "vfork") == 0) {
		(void)execl(self, "storm", "work", (char *)NULL);
		_exit(1);
	}
	if (strcmp(mode, "double") == 0 && fork() != 0)
		_exit(0);
	short_life();
	_exit(0);
}

static void run_threads(double end)
{
	pthread_t threads[AT_ONCE];

	while (now() < end) {
		for (int i = 0; i < AT_ONCE; i++)
			if (pthread_create(&threads[i], NULL, thread_life, NULL))
				exit(1);
		for (int i = 0; i < AT_ONCE; i++)
			(void)pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "fork";
	double end = end_of(argc, argv);
	int children = 0;

	if (argc > 1 && strcmp(argv[1], "work") == 0) {
		short_life();
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return 1;
	if (strcmp(mode, "thread") == 0) {
		run_threads(end);
		return 0;
	}
	while (now() < end) {
		for (; children < AT_ONCE; children++)
			start_child(mode);
		if (wait(NULL) > 0)
			children--;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
