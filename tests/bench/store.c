// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store */
/*
 * store [STORE [HOURS]]: what a day of samples takes. Windows that an agent wrote (to STORE; without it, one runs
 * for a minute at 99 Hz beside a steady load) are written again and again, as many as HOURS (24) have, and
 * reports are made of them. Needs root where an agent is to run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/profile.h"
#include "store/batch.h"
#include "store/reading.h"
#include "store/store.h"

enum { MAX_WINDOWS = 360, MAX_DEPTH = 1024 };
#define S   UINT64_C(1000000000)
/* 2024-02-28T00:00:00Z: any day that is over. */
#define DAY (UINT64_C(1709078400) * S)

static struct window {
	struct hl_batch *batch;
	struct hl_reading *reading; /* whose header it has */
} windows[MAX_WINDOWS];
static int n_windows;
static const char *build = "build";

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "store: %s\n", what);
	exit(1);
}

/* Runs a command; its CPU time and memory in @usage. */
static void run(struct rusage *usage, const char *fmt, ...)
{
	char command[1024];
	va_list ap;
	pid_t pid;
	int status;

	va_start(ap, fmt);
	(void)vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	pid = fork();
	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		die(command);
}

/* ---- windows of an agent ------------------------------------------------------------------------------- */

/* A stack of a finished profile, without the frames that stand for its owner. */
static size_t stack_of(const struct hl_profile *p, struct hl_profile *into, uint32_t node, uint32_t *frames,
		       struct hl_owner *owner)
{
	uint32_t n, path[MAX_DEPTH], depth = 0;
	const struct hl_node *nodes = hl_profile_nodes(p, &n);
	size_t len = 0;

	for (uint32_t at = node; at && depth < MAX_DEPTH; at = nodes[at].parent)
		path[depth++] = nodes[at].frame;
	while (depth) {
		const struct hl_frame *f = hl_profile_get_frame(p, path[--depth]);

		if (f->kind == HL_FRAME_ROOT) {
			owner->process = owner->thread = f->name;
			owner->pid = (uint32_t)hl_hash(f->name, f->name_len, 0) & 0xffff;
			continue;
		}
		if (hl_profile_frame(into, f, &frames[len++]))
			die("no memory");
	}
	return len;
}

static void take_window(const char *store, uint64_t start_ns)
{
	struct hl_store_query query = { .since_ns = start_ns, .until_ns = start_ns + 1 };
	struct window *w = &windows[n_windows];
	const struct hl_profile *p;
	const struct hl_node *nodes;
	struct hl_err err;
	uint32_t n;

	w->reading = hl_reading_new(&query);
	w->batch = hl_batch_new();
	if (!w->reading || !w->batch || hl_reading_add(w->reading, store, &err) ||
	    hl_reading_finish(w->reading, &err)) {
		hl_reading_free(w->reading);
		hl_batch_free(w->batch);
		return;
	}
	p = hl_reading_profile(w->reading);
	nodes = hl_profile_nodes(p, &n);
	for (uint32_t i = 1; i < n; i++) {
		uint32_t frames[MAX_DEPTH];
		struct hl_owner owner = { .process = "", .thread = "" };
		size_t len;

		if (!nodes[i].self)
			continue;
		len = stack_of(p, hl_batch_profile(w->batch), i, frames, &owner);
		if (hl_batch_add(w->batch, &owner, frames, len, nodes[i].self, nodes[i].self_weight))
			die("no memory");
	}
	n_windows++;
}

/* All whole windows of ten seconds of the last hour. */
static void take_windows(const char *store)
{
	uint64_t now = hl_realtime_ns() / (10 * S) * (10 * S);

	for (uint64_t at = now - 3600 * S; at < now && n_windows < MAX_WINDOWS; at += 10 * S)
		take_window(store, at);
	if (!n_windows)
		die("the store has no windows of ten seconds that start at multiples of ten in the last "
		    "hour");
}

/* ---- a day of them ------------------------------------------------------------------------------------- */

static uint64_t write_day(const char *dir, int hours)
{
	static const struct hl_store_limits none;
	uint64_t samples = 0, start = hl_monotonic_ns();
	struct hl_store *store;
	struct hl_err err;
	int total = hours * 360;

	if (hl_store_open(dir, &none, &store, &err))
		die(err.text);
	for (int i = 0; i < total; i++) {
		const struct window *w = &windows[i % n_windows];
		struct hl_profile_meta meta = *hl_profile_meta(hl_reading_profile(w->reading));

		meta.start_ns = DAY + (uint64_t)i * 10 * S;
		meta.end_ns = meta.start_ns + 10 * S;
		meta.n_notes = 0;
		if (hl_store_write(store, &meta, w->batch, &err))
			die(err.text);
		samples += hl_batch_samples(w->batch);
	}
	hl_store_close(store);
	printf("written                %6.2f ms a window\n",
	       (double)(hl_monotonic_ns() - start) / 1e6 / total);
	return samples;
}

static void report(const char *dir, const char *what, uint64_t since_s, uint64_t length_s)
{
	uint64_t start = hl_monotonic_ns();
	struct rusage usage;

	run(&usage, "exec %s/hotleaf report --store %s --since @%llu --until @%llu -o %s/out.html", build,
	    dir, (unsigned long long)(DAY / S + since_s), (unsigned long long)(DAY / S + since_s + length_s),
	    dir);
	printf("report of %-12s %6.2f s  %6.1f MB RSS\n", what, (double)(hl_monotonic_ns() - start) / 1e9,
	       (double)usage.ru_maxrss / 1e3);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/hl-bench-store-XXXXXX", source[64], path[64];
	int hours = argc > 2 ? atoi(argv[2]) : 24, rows = 0;
	struct rusage usage;
	uint64_t samples;
	struct stat st;

	if (getenv("O"))
		build = getenv("O");
	if (!mkdtemp(dir) || hours < 1 || hours > 24)
		die("no temporary directory, or hours not from 1 to 24");
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)snprintf(source, sizeof(source), "%s/agent", dir);
	if (argc > 1)
		take_windows(argv[1]);
	else
		run(&usage,
		    "for i in $(seq $(nproc)); do %s/tests/workload/load 75 >/dev/null & done;"
		    "timeout -s TERM 73 %s/hotleaf agent -F 99 -e cpu-clock --store %s; test $? = 124",
		    build, build, source);
	if (argc <= 1)
		take_windows(source);
	for (int i = 0; i < n_windows; i++) {
		uint32_t n, live = 0;
		const struct hl_node *nodes = hl_profile_nodes(hl_reading_profile(windows[i].reading), &n);

		for (uint32_t k = 0; k < n; k++)
			live += nodes[k].self > 0;
		rows += (int)live;
	}
	(void)snprintf(path, sizeof(path), "%s/day", dir);
	samples = write_day(path, hours);
	(void)snprintf(path, sizeof(path), "%s/day/2024-02-28.db", dir);
	if (stat(path, &st))
		die("no day was written");
	printf("%d h of %d windows      %llu samples, %d distinct in a window\n", hours, n_windows,
	       (unsigned long long)samples, rows / n_windows);
	printf("stored                 %6.2f bytes a sample, %.1f MB\n", (double)st.st_size / (double)samples,
	       (double)st.st_size / 1e6);
	(void)snprintf(path, sizeof(path), "%s/day", dir);
	report(path, "all", 0, (uint64_t)hours * 3600);
	report(path, "one hour", (uint64_t)(hours / 2) * 3600, 3600);
	run(&usage, "rm -r %s", dir);
	return 0;
}
