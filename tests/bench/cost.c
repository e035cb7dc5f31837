// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
/*
 * cost [SECONDS [HZ]]: what recording costs, on this host as it is and under load: hotleaf's programs beside
 * the usual bpf_get_stackid() ones at the same time on the same samples, then the whole of `hotleaf record`
 * beside `perf record -a -g`. One run, one table. Needs root.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "sample/window.h"
#include "tests/bench/baseline.skel.h"

enum { MAX_CPUS = 512 };

static int seconds = 10, hz = 99;
static const char *build = "build";

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "cost: %s\n", what);
	exit(1);
}

static void start_loads(pid_t *pids, int n)
{
	char path[256], length[16];

	(void)snprintf(path, sizeof(path), "%s/tests/workload/load", build);
	(void)snprintf(length, sizeof(length), "%d", 10 * seconds + 60);
	for (int i = 0; i < n; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			(void)!freopen("/dev/null", "w", stdout);
			(void)execl(path, path, length, (char *)NULL);
			_exit(127);
		}
	}
}

static void stop_loads(const pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
}

static struct baseline_bpf *start_baseline(const struct hl_event_choice *event)
{
	struct baseline_bpf *skel = baseline_bpf__open_and_load();
	struct hl_err err;
	int fd;

	if (!skel)
		die("the baseline program does not load");
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		fd = hl_event_open(event, (unsigned int)hz, cpu, &err);
		if (fd >= 0 && !bpf_program__attach_perf_event(skel->progs.baseline, fd))
			die("the baseline program does not attach");
	}
	return skel;
}

/* Files must be settled as in earnest, or their mappings are looked up anew for every frame. */
static void settle(void *ctx, const struct hl_file_event *event)
{
	hl_capture_settle_file(ctx, event->id, HL_TABLE_NONE);
}

static double per_run(struct baseline_bpf *skel)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.baseline), &info, &size) || !info.run_cnt)
		return 0;
	return (double)info.run_time_ns / (double)info.run_cnt;
}

/* Both programs at once: the same samples, the same caches. */
static void compare_programs(const char *when)
{
	struct hl_event_choice event;
	struct hl_capture_options options = { .event = &event,
					      .frequency = (unsigned int)hz,
					      .max_depth = 255 };
	struct hl_window window = { 0 };
	struct hl_capture_stats stats;
	struct hl_capture *capture;
	struct baseline_bpf *skel;
	struct hl_err err;

	if (hl_event_choose("cpu-clock", (unsigned int)hz, &event, &err) ||
	    hl_capture_new(&options, &capture, &err) || hl_capture_start(capture, &err))
		die(err.text);
	skel = start_baseline(&event);
	for (int i = 0; i < seconds; i++) {
		for (int k = 0; k < 20; k++) {
			(void)usleep(50 * 1000);
			(void)hl_capture_read_files(capture, settle, capture);
		}
		if (hl_capture_drain(capture, &window, &err))
			die(err.text);
	}
	hl_capture_stop(capture);
	hl_capture_stats(capture, &stats);
	printf("%-6s  hotleaf's program        %8.0f ns a sample  %6.3f %% of a CPU  maps %5.1f MB\n", when,
	       (double)stats.program_ns / (double)stats.counters.value[HL_COUNTER_SEEN],
	       (double)stats.program_ns / seconds / 1e7, (double)stats.map_bytes / 1e6);
	printf("%-6s  bpf_get_stackid() twice  %8.0f ns a sample\n", when, per_run(skel));
	baseline_bpf__destroy(skel);
	hl_capture_free(capture);
	hl_window_done(&window);
}

/* CPU time and memory of a whole command. */
static void measure(const char *when, const char *what, const char *fmt, ...)
{
	char command[512];
	struct rusage usage;
	uint64_t start = hl_monotonic_ns();
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
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		die(command);
	printf("%-6s  %-32s %6.2f s CPU  %6.2f s wall  %6.1f MB RSS\n", when, what,
	       (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
		       (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6,
	       (double)(hl_monotonic_ns() - start) / 1e9, (double)usage.ru_maxrss / 1e3);
}

static void compare_commands(const char *when)
{
	measure(when, "hotleaf record, page written",
		"exec %s/hotleaf record -e cpu-clock -F %d -d %d -o /tmp/hl-bench.html", build, hz, seconds);
	if (system("perf version >/dev/null 2>&1")) {
		printf("%-6s  no perf to compare with\n", when);
		return;
	}
	measure(when, "perf record -a -g",
		"exec perf record -q -e cpu-clock -a -g -F %d -o /tmp/hl-bench.data -- sleep %d 2>/dev/null",
		hz, seconds);
	measure(when, "perf script of that",
		"exec perf script -i /tmp/hl-bench.data >/tmp/hl-bench.script 2>/dev/null");
}

int main(int argc, char **argv)
{
	static pid_t loads[MAX_CPUS];
	int n = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (argc > 1)
		seconds = atoi(argv[1]);
	if (argc > 2)
		hz = atoi(argv[2]);
	if (getenv("O"))
		build = getenv("O");
	if (n > MAX_CPUS)
		n = MAX_CPUS;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%d s at %d Hz on %d CPUs, event cpu-clock\n", seconds, hz, n);
	compare_programs("idle");
	compare_commands("idle");
	start_loads(loads, n);
	compare_programs("busy");
	compare_commands("busy");
	stop_loads(loads, n);
	(void)system("rm -f /tmp/hl-bench.*");
	return 0;
}
