// SPDX-License-Identifier: BSD-2-Clause
#include "command/cgroup_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/nobody.h"
#include "command/privileges.h"
#include "process/cgroup.h"
#include "process/cgroup_watch.h"

struct hl_cgroup_thread {
	pthread_t thread, asker;
	bool asks;
	struct hl_cgroups *cgroups;
	struct hl_cgroup_watch *watch;
	int stop_fd;
};

static void *run(void *ctx)
{
	struct hl_cgroup_thread *t = ctx;
	struct pollfd fds[2] = { { .fd = hl_cgroup_watch_fd(t->watch), .events = POLLIN },
				 { .fd = t->stop_fd, .events = POLLIN } };
	struct hl_err err = { "" };

	if (hl_privileges_drop(false, &err))
		hl_log(HL_LOG_WARNING, "capture", "%s", err.text);
	do {
		(void)poll(fds, 2, -1);
		hl_cgroup_watch_take(t->watch);
	} while (!(fds[1].revents & POLLIN));
	return NULL;
}

static void *ask(void *ctx)
{
	struct hl_cgroup_thread *t = ctx;
	struct pollfd fds[2] = { { .fd = hl_cgroups_ask_fd(t->cgroups), .events = POLLIN },
				 { .fd = t->stop_fd, .events = POLLIN } };
	int wait_ms = -1;

	/* Of this thread: a socket is open to whom its mode says. */
	(void)hl_drop_capabilities();
	while (poll(fds, 2, wait_ms) < 0 || !(fds[1].revents & POLLIN))
		wait_ms = hl_cgroups_ask(t->cgroups);
	return NULL;
}

/* Ends the threads that were started. */
static void stop(struct hl_cgroup_thread *t)
{
	uint64_t one = 1;

	(void)!write(t->stop_fd, &one, sizeof(one));
	(void)pthread_join(t->thread, NULL);
	if (t->asks)
		(void)pthread_join(t->asker, NULL);
}

int hl_cgroup_thread_new(struct hl_cgroups *cgroups, int proc_fd, struct hl_cgroup_thread **ret,
			 struct hl_err *err)
{
	struct hl_cgroup_thread *t = calloc(1, sizeof(*t));
	int code = ENOMEM;

	if (t) {
		t->cgroups = cgroups;
		t->stop_fd = eventfd(0, EFD_CLOEXEC);
		t->watch = t->stop_fd < 0 ? NULL : hl_cgroup_watch_new(cgroups, proc_fd);
		code = t->watch ? pthread_create(&t->thread, NULL, run, t) : ENOMEM;
	}
	if (!code && hl_cgroups_ask_fd(cgroups) >= 0) {
		code = pthread_create(&t->asker, NULL, ask, t);
		t->asks = !code;
		if (code)
			stop(t);
	}
	if (!code) {
		*ret = t;
		return 0;
	}
	if (t) {
		hl_cgroup_watch_free(t->watch);
		hl_cleanup_close(&t->stop_fd);
	}
	free(t);
	return hl_err_errno(err, -code, "cannot start the thread that looks at cgroups");
}

void hl_cgroup_thread_free(struct hl_cgroup_thread *t)
{
	if (!t)
		return;
	stop(t);
	hl_cgroup_watch_free(t->watch);
	hl_cleanup_close(&t->stop_fd);
	free(t);
}
