// SPDX-License-Identifier: BSD-2-Clause
/*
 * The children's side of reach.h. A server that touches no foreign file forks them when asked to; each has a
 * socket to the parent, answers one request after the other, and dies of an alarm when it is stuck where
 * signals reach it. Where they do not, it stays until its file system answers, and is in nobody's way.
 */
#include "process/reach_job.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/nobody.h"

/* So much later than the parent gives up. */
enum { LATER_SECONDS = 2 };

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* To look into other processes, and at files that only their owner may read. */
#define KEPT                                                                  \
	(UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH | \
	 UINT64_C(1) << CAP_CHECKPOINT_RESTORE)

_Noreturn static void work(int socket)
{
	struct hl_reach_request request;
	struct hl_reach_reply reply;

	(void)prctl(PR_SET_NAME, "hotleaf-reach", 0, 0, 0);
	for (;;) {
		_cleanup_close_ int dir_fd = -1, fd = -1;
		uint64_t before_ns = hl_process_cpu_ns();

		if (hl_reach_receive(socket, &request, sizeof(request), &dir_fd))
			_exit(0);
		(void)alarm(request.ms / 1000 + LATER_SECONDS);
		request.path[sizeof(request.path) - 1] = '\0';
		hl_reach_do(&request, dir_fd, &reply, &fd);
		(void)alarm(0);
		reply.cpu_ns = hl_process_cpu_ns() - before_ns;
		if (hl_reach_send(socket, &reply, sizeof(reply), fd))
			_exit(0);
	}
}

/*
 * All but @kept, which becomes the number of the first behind the standard streams. Those become /dev/null: who
 * reads what we write waits for the end of everyone who could.
 */
static int close_others(int kept)
{
	enum { FIRST = 3 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < FIRST; fd++)
		(void)dup2(null, fd);
	if (kept != FIRST && dup2(kept, FIRST) < 0)
		_exit(1);
	if (syscall(SYS_close_range, FIRST + 1, ~0U, 0))
		for (int fd = FIRST + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
			(void)close(fd);
	return FIRST;
}

void hl_reach_serve(int socket)
{
	sigset_t none;
	char byte;

	socket = close_others(socket);
	(void)setsid(); /* neither Ctrl-C nor the terminal reaches it */
	(void)prctl(PR_SET_NAME, "hotleaf-reach", 0, 0, 0);
	(void)hl_keep_capabilities(KEPT);
	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGCHLD, SIG_IGN); /* the kernel reaps */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (;;) {
		_cleanup_close_ int fd = -1;

		if (hl_reach_receive(socket, &byte, sizeof(byte), &fd))
			_exit(0);
		if (fd >= 0 && fork() == 0) {
			(void)close(socket);
			work(fd);
		}
	}
}
