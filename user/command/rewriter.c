// SPDX-License-Identifier: BSD-2-Clause
#include "command/rewriter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/spawn.h"
#include "store/rewrite.h"
#include "store/store.h"

/* Days become due at midnight, or when the agent starts; an hour more or less does not matter. */
#define EVERY_NS UINT64_C(3600000000000)

static int start(struct hl_rewriter *r, const char *dir, const struct hl_store_limits *limits)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char windows[32], minutes[32];
	char *argv[] = { "hotleaf",        "store", "rewrite",        "--background", "--store", (char *)dir,
			 "--keep-windows", windows, "--keep-minutes", minutes,        NULL };

	(void)snprintf(windows, sizeof(windows), "%" PRIu64, limits->windows_ns / 1000000000);
	(void)snprintf(minutes, sizeof(minutes), "%" PRIu64, limits->minutes_ns / 1000000000);
	return null < 0 ? -errno : hl_spawn_self(argv, /* names= */ NULL, null, &r->child);
}

static void reap(struct hl_rewriter *r)
{
	int status;

	if (waitpid(r->child, &status, WNOHANG) == 0)
		return;
	r->child = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		hl_log_once(HL_LOG_WARNING, "store",
			    "an old day could not be rewritten: \"hotleaf store rewrite\" says why");
}

void hl_rewriter_look(struct hl_rewriter *r, const struct hl_store *store)
{
	const struct hl_store_limits limits = hl_store_limits(store);
	uint64_t now_ns = hl_monotonic_ns();
	int code;

	if (r->child)
		reap(r);
	if (r->child || hl_store_doubts_clock(store) || (r->looked_ns && now_ns - r->looked_ns < EVERY_NS))
		return;
	r->looked_ns = now_ns;
	if (!hl_store_rewrite_due(hl_store_dir(store), &limits, hl_realtime_ns()))
		return;
	code = start(r, hl_store_dir(store), &limits);
	if (code)
		hl_log(HL_LOG_WARNING, "store", "cannot start the rewriting of old days: error %d", -code);
}

void hl_rewriter_stop(struct hl_rewriter *r)
{
	if (!r->child)
		return;
	(void)kill(r->child, SIGKILL);
	(void)waitpid(r->child, NULL, 0);
	r->child = 0;
}
