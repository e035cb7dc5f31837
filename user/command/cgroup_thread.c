// SPDX-License-Identifier: BSD-2-Clause
#include "command/cgroup_thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "command/privileges.h"
#include "process/cgroup_watch.h"

struct hl_cgroup_thread {
	pthread_t thread;
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

int hl_cgroup_thread_new(struct hl_cgroups *cgroups, int proc_fd, struct hl_cgroup_thread **ret,
			 struct hl_err *err)
{
	struct hl_cgroup_thread *t = calloc(1, sizeof(*t));
	int code = ENOMEM;

	if (t) {
		t->stop_fd = eventfd(0, EFD_CLOEXEC);
		t->watch = t->stop_fd < 0 ? NULL : hl_cgroup_watch_new(cgroups, proc_fd);
		code = t->watch ? pthread_create(&t->thread, NULL, run, t) : ENOMEM;
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
	uint64_t one = 1;

	if (!t)
		return;
	(void)!write(t->stop_fd, &one, sizeof(one));
	(void)pthread_join(t->thread, NULL);
	hl_cgroup_watch_free(t->watch);
	hl_cleanup_close(&t->stop_fd);
	free(t);
}
