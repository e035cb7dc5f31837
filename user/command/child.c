// SPDX-License-Identifier: BSD-2-Clause
#include "command/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/program.h"

/* The status of a shell for a command that cannot be executed. */
enum { CANNOT_EXECUTE = 127 };

_Noreturn static void run_child(int go, int sad, char **argv)
{
	sigset_t none;
	int error;
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(CANNOT_EXECUTE);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execvp(argv[0], argv);
	error = errno;
	(void)!write(sad, &error, sizeof(error));
	_exit(CANNOT_EXECUTE);
}

int hl_child_prepare(struct hl_child *child, char **argv, struct hl_err *err)
{
	int go[2] = { -1, -1 }, sad[2] = { -1, -1 };
	size_t map_len = 0;
	void *map = hl_program_map(argv[0], &map_len); /* the child has it, until it runs that program */
	pid_t pid = -1;

	if (!pipe2(go, O_CLOEXEC) && !pipe2(sad, O_CLOEXEC))
		pid = fork();
	if (pid == 0) {
		(void)close(go[1]);
		run_child(go[0], sad[1], argv);
	}
	if (map)
		(void)munmap(map, map_len);
	if (pid < 0) {
		int code = hl_err_errno(err, -errno, "cannot start '%s'", argv[0]);

		for (int i = 0; i < 2; i++) {
			hl_cleanup_close(&go[i]);
			hl_cleanup_close(&sad[i]);
		}
		return code;
	}
	(void)close(go[0]);
	(void)close(sad[1]);
	*child = (struct hl_child){ .pid = pid, .go = go[1], .sad = sad[0] };
	return 0;
}

int hl_child_go(struct hl_child *child, const char *name, struct hl_err *err)
{
	int error;
	ssize_t n;

	(void)!write(child->go, "", 1);
	(void)close(child->go);
	child->go = -1;
	/* Closed by a successful execve, else the error. */
	n = read(child->sad, &error, sizeof(error));
	if (n != sizeof(error))
		return 0;
	(void)waitpid(child->pid, NULL, 0);
	child->pid = 0;
	return hl_err_errno(err, -error, "cannot run '%s'", name);
}

bool hl_child_ended(struct hl_child *child)
{
	if (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) == child->pid)
		child->pid = 0;
	return child->pid == 0;
}

void hl_child_done(struct hl_child *child)
{
	if (child->pid > 0) {
		(void)kill(child->pid, child->go >= 0 ? SIGKILL : SIGTERM);
		if (child->go >= 0)
			(void)waitpid(child->pid, NULL, 0);
	}
	hl_cleanup_close(&child->go);
	hl_cleanup_close(&child->sad);
}
