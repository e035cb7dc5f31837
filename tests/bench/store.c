// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile store */
/*
 * store [STORE [HOURS [lasting]]]: what a day of samples takes. Windows that an agent wrote (to STORE; without it,
 * one runs for a minute at 99 Hz, first beside a steady load, then beside a compiler) are written again, as many
 * as HOURS (24) have, each time with other processes where processes came and went; the day is rewritten as the
 * agent does at night, and reports are made of it before and after. lasting: without processes that came and went,
 * where others worked on the host meanwhile. Needs root where an agent is to run.
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
#include "store/batch_rows.h"
#include "store/reading.h"
#include "store/store.h"

enum { MAX_WINDOWS = 360, MAX_DEPTH = 1024 };
#define S   UINT64_C(1000000000)
/* 2024-02-28T00:00:00Z: any day that is over. */
#define DAY (UINT64_C(1709078400) * S)

static struct window {
	struct hl_batch *batch;
	struct hl_reading *reading; /* whose header it has */
	bool *comes_and_goes;       /* by owner */
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

/* Owners of the window that is read: their roots are called by number. */
static struct {
	struct hl_batch *batch;
	struct hl_owner items[65536];
	int n;
} owners;

static const char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int number_owner(void *ctx, const struct hl_owner *owner, hl_root_push_fn push, void *push_ctx)
{
	struct hl_owner *kept = &owners.items[owners.n];
	char name[16];

	if (owners.n == 65536)
		die("too many processes");
	*kept = *owner;
	kept->process = copy(owner->process);
	kept->thread = copy(owner->thread);
	kept->service = copy(owner->service);
	kept->exe = copy(owner->exe);
	if (owner->cgroup)
		kept->cgroup = hl_batch_cgroup(owners.batch, owner->cgroup);
	(void)snprintf(name, sizeof(name), "%d", owners.n++);
	return push(push_ctx, name, strlen(name));
}

/* A stack of a finished profile, without the frame that stands for its owner. */
static size_t stack_of(const struct hl_profile *p, struct hl_profile *into, uint32_t node, uint32_t *frames,
		       const struct hl_owner **owner)
{
	uint32_t n, path[MAX_DEPTH], depth = 0;
	const struct hl_node *nodes = hl_profile_nodes(p, &n);
	size_t len = 0;

	for (uint32_t at = node; at && depth < MAX_DEPTH; at = nodes[at].parent)
		path[depth++] = nodes[at].frame;
	while (depth) {
		const struct hl_frame *f = hl_profile_get_frame(p, path[--depth]);

		if (f->kind == HL_FRAME_ROOT)
			*owner = &owners.items[atoi(f->name)];
		else if (hl_profile_frame(into, f, &frames[len++]))
			die("no memory");
	}
	return len;
}

static void take_window(const char *store, uint64_t start_ns)
{
	struct hl_store_query query = {
		.since_ns = start_ns, .until_ns = start_ns + 1, .root = number_owner, .pids = true
	};
	struct window *w = &windows[n_windows];
	const struct hl_profile *p;
	const struct hl_node *nodes;
	struct hl_err err;
	uint32_t n;

	w->reading = hl_reading_new(&query);
	w->batch = owners.batch = hl_batch_new();
	owners.n = 0;
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
		const struct hl_owner *owner = &owners.items[0];
		size_t len;

		if (!nodes[i].self)
			continue;
		len = stack_of(p, hl_batch_profile(w->batch), i, frames, &owner);
		if (hl_batch_add(w->batch, owner, frames, len, nodes[i].self, nodes[i].self_weight))
			die("no memory");
	}
	n_windows++;
}

static bool has_owner(const struct window *w, const struct hl_owner *owner)
{
	for (size_t i = 0; i < w->batch->n_owners; i++)
		if (w->batch->owners[i].pid == owner->pid &&
		    w->batch->owners[i].started_ns == owner->started_ns)
			return true;
	return false;
}

/* Which processes are in fewer than half of all windows. */
static void find_passing(void)
{
	for (int i = 0; i < n_windows; i++) {
		struct window *w = &windows[i];

		w->comes_and_goes = calloc(w->batch->n_owners + 1, sizeof(bool));
		for (size_t k = 0; k < w->batch->n_owners; k++) {
			int in = 0;

			for (int j = 0; j < n_windows; j++)
				in += has_owner(&windows[j], &w->batch->owners[k]);
			w->comes_and_goes[k] =
				w->batch->owners[k].kind == HL_OWNER_PROCESS && 2 * in < n_windows;
		}
	}
}

static struct hl_body_sum code;

static int take_body(void *ctx, const struct hl_frame *function, const struct hl_body *body)
{
	struct hl_batch *batch = ctx;
	uint32_t frame;

	if (hl_profile_frame(hl_batch_profile(batch), function, &frame) ||
	    hl_batch_add_body(batch, frame, body))
		die("no memory");
	return 0;
}

/* The code that the days have goes to the first window. */
static void take_code(const char *store)
{
	struct hl_store_query query = { .since_ns = hl_realtime_ns() - 7200 * S,
					.until_ns = hl_realtime_ns() };
	struct hl_reading *reading = hl_reading_new(&query);
	struct hl_err err = { "no memory" };

	if (!reading || hl_reading_add(reading, store, &err) ||
	    hl_reading_bodies(reading, take_body, windows[0].batch, &code, &err))
		die(err.text);
	hl_reading_free(reading);
}

/* All whole windows of ten seconds of the last two hours. */
static void take_windows(const char *store)
{
	uint64_t now = hl_realtime_ns() / (10 * S) * (10 * S);

	n_windows = 0;
	for (uint64_t at = now - 7200 * S; at < now && n_windows < MAX_WINDOWS; at += 10 * S)
		take_window(store, at);
	if (!n_windows)
		die("the store has no windows of ten seconds that start at multiples of ten in the last "
		    "two hours");
	take_code(store);
	find_passing();
}

/* ---- a day of them ------------------------------------------------------------------------------------- */

/* Another process, for one that is met again a while later. */
static void renew_passing(struct window *w)
{
	for (size_t i = 0; i < w->batch->n_owners; i++)
		if (w->comes_and_goes[i])
			w->batch->owners[i].started_ns += 60 * S;
}

/* Leaves them out altogether. */
static void drop_passing(struct window *w)
{
	struct hl_batch *b = w->batch;
	size_t kept = 0;

	for (size_t i = 0; i < b->n_rows; i++) {
		if (w->comes_and_goes[b->rows[i].owner]) {
			b->samples -= b->rows[i].count;
			b->weight -= b->rows[i].weight;
		} else {
			b->rows[kept++] = b->rows[i];
		}
	}
	b->n_rows = kept;
}

static uint64_t write_day(const char *dir, int hours)
{
	static const struct hl_store_limits limits = { .code_bytes = 1 << 30 };
	uint64_t samples = 0, start = hl_monotonic_ns();
	struct hl_store *store;
	struct hl_err err;
	int total = hours * 360;

	if (hl_store_open(dir, &limits, &store, &err))
		die(err.text);
	for (int i = 0; i < total; i++) {
		struct window *w = &windows[i % n_windows];
		struct hl_profile_meta meta = *hl_profile_meta(hl_reading_profile(w->reading));

		meta.start_ns = DAY + (uint64_t)i * 10 * S;
		meta.end_ns = meta.start_ns + 10 * S;
		meta.n_notes = 0;
		if (hl_store_write(store, &meta, w->batch, &err))
			die(err.text);
		samples += hl_batch_samples(w->batch);
		renew_passing(w);
	}
	hl_store_close(store);
	printf("written                %6.2f ms a window\n",
	       (double)(hl_monotonic_ns() - start) / 1e6 / total);
	printf("  of which code        %6.2f bytes a sample: %llu functions, %.2f MB\n",
	       (double)code.bytes / (double)samples, (unsigned long long)code.kept, (double)code.bytes / 1e6);
	return samples;
}

static double cpu_of(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static void report(const char *dir, const char *what, uint64_t since_s, uint64_t length_s, const char *more)
{
	uint64_t start = hl_monotonic_ns();
	struct rusage usage;

	run(&usage, "exec %s/hotleaf report --store %s --since @%llu --until @%llu %s >%s/out.html", build,
	    dir, (unsigned long long)(DAY / S + since_s), (unsigned long long)(DAY / S + since_s + length_s),
	    more, dir);
	/* Memory: at least that of this program, from which the command is started. */
	printf("  report of %-16s %6.2f s  %6.2f s of CPU time  %6.1f MB RSS\n", what,
	       (double)(hl_monotonic_ns() - start) / 1e9, cpu_of(&usage), (double)usage.ru_maxrss / 1e3);
}

#define PAGE "-f html -o -"

static void measure(const char *dir, int hours, uint64_t samples, const char *what)
{
	uint64_t middle = (uint64_t)(hours / 2) * 3600;
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/2024-02-28.db", dir);
	if (stat(path, &st))
		die("no day was written");
	printf("%-22s %6.2f bytes a sample, %.1f MB\n", what, (double)st.st_size / (double)samples,
	       (double)st.st_size / 1e6);
	report(dir, "all", 0, (uint64_t)hours * 3600, PAGE);
	report(dir, "one hour", middle, 3600, PAGE);
	report(dir, "an odd hour", middle + 1230, 3600, PAGE);
	/* The process that any host has. */
	report(dir, "one of an hour", middle, 3600, PAGE " --where process=hotleaf");
	report(dir, "one of all", 0, (uint64_t)hours * 3600, PAGE " --where process=hotleaf");
	/* With the time before it, of which there is as much, or nothing. */
	report(dir, "a mail of half", middle, (uint64_t)hours * 1800, "--mail");
	report(dir, "a mail of all", 0, (uint64_t)hours * 3600, "--mail");
}

static void rewrite(const char *dir, const char *keep)
{
	uint64_t start = hl_monotonic_ns();
	struct rusage usage;

	run(&usage, "exec %s/hotleaf store rewrite --store %s %s", build, dir, keep);
	printf("rewritten in           %6.2f s, %.2f s of CPU time, %.1f MB RSS\n",
	       (double)(hl_monotonic_ns() - start) / 1e9, cpu_of(&usage), (double)usage.ru_maxrss / 1e3);
}

static void bench(const char *dir, const char *source, const char *name, int hours, bool lasting)
{
	struct rusage usage;
	uint64_t samples;
	size_t rows = 0;
	char path[64];

	take_windows(source);
	for (int i = 0; i < n_windows && lasting; i++)
		drop_passing(&windows[i]);
	for (int i = 0; i < n_windows; i++)
		rows += windows[i].batch->n_rows;
	(void)snprintf(path, sizeof(path), "%s/day", dir);
	printf("\n%s: %d h of %d windows, %zu distinct samples in each\n", name, hours, n_windows,
	       rows / (size_t)n_windows);
	samples = write_day(path, hours);
	measure(path, hours, samples, "as written");
	rewrite(path, "--keep-windows 1d --keep-minutes 36500d");
	measure(path, hours, samples, "by minutes");
	rewrite(path, "--keep-windows 1d --keep-minutes 1d");
	measure(path, hours, samples, "by hours");
	run(&usage, "rm -r %s", path);
}

/* Lets an agent write to @store beside @load, a command for the shell. */
static void record(const char *store, const char *load)
{
	struct rusage usage;

	run(&usage,
	    "%s & timeout -s TERM 73 %s/hotleaf agent -F 99 -e cpu-clock --store %s; test $? = 124; kill $!; "
	    "wait",
	    load, build, store);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/hl-bench-store-XXXXXX", source[64], load[256];
	int hours = argc > 2 ? atoi(argv[2]) : 24;
	struct rusage usage;

	if (getenv("O"))
		build = getenv("O");
	if (!mkdtemp(dir) || hours < 1 || hours > 24)
		die("no temporary directory, or hours not from 1 to 24");
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		bench(dir, argv[1], argv[1], hours, argc > 3 && strcmp(argv[3], "lasting") == 0);
	} else {
		(void)snprintf(source, sizeof(source), "%s/steady", dir);
		(void)snprintf(load, sizeof(load),
			       "timeout 80 sh -c 'for i in 1 2; do %s/tests/workload/load 78 "
			       ">/dev/null & done; wait'",
			       build);
		record(source, load);
		bench(dir, source, "steady", hours, false);
		(void)snprintf(source, sizeof(source), "%s/compile", dir);
		(void)snprintf(load, sizeof(load),
			       "timeout 80 sh -c 'while make -B -j2 O=%s/built all; do :; done' "
			       ">/dev/null 2>&1",
			       dir);
		record(source, load);
		bench(dir, source, "compile", hours, false);
	}
	run(&usage, "rm -r %s", dir);
	return 0;
}
