// SPDX-License-Identifier: BSD-2-Clause
#include "capture/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/hotleaf.skel.h"
#include "capture/event.h"
#include "capture/tables.h"

static unsigned int max_kernel_frames(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned int n = 127;

	if (f && fscanf(f, "%u", &n) != 1)
		n = 127;
	return n < HL_MAX_KERNEL_FRAMES ? n : HL_MAX_KERNEL_FRAMES;
}

static void set_kernel_ranges(struct hotleaf_bpf *skel)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct hl_kernel_ranges ranges;

	if (fd < 0 || hl_kernel_ranges_read(fd, &ranges))
		return;
	skel->rodata->idle_start = ranges.idle_start;
	skel->rodata->idle_end = ranges.idle_end;
	skel->rodata->n_irq_ranges = ranges.n_irq;
	for (unsigned int i = 0; i < ranges.n_irq; i++) {
		skel->rodata->irq_start[i] = ranges.irq_start[i];
		skel->rodata->irq_end[i] = ranges.irq_end[i];
	}
}

static void set_knobs(struct hl_capture *capture)
{
	struct hotleaf_bpf *skel = capture->skel;
	uint64_t seed = 0;

	(void)getrandom(&seed, sizeof(seed), 0);
	skel->rodata->stack_seed = seed;
	skel->rodata->max_user_frames = capture->options.max_depth;
	skel->rodata->max_kernel_frames = max_kernel_frames();
	skel->rodata->slow_ns = capture->options.slow_us * 1000;
	skel->rodata->precise = capture->options.event->precise > 0;
	skel->rodata->use_targets = capture->options.only_targets;
	skel->rodata->use_mappings = capture->walk == HL_CAPTURE_WALK_OWN;
	set_kernel_ranges(skel);
	if (!capture->options.only_targets) {
		(void)bpf_program__set_autoload(skel->progs.on_fork, false);
		(void)bpf_program__set_autoload(skel->progs.on_exit, false);
	}
}

static int load(struct hl_capture *capture, struct hl_err *err)
{
	int code;

	hl_refusal_listen();
	capture->skel = hotleaf_bpf__open();
	if (!capture->skel)
		return hl_err_errno(err, -errno, "cannot open the BPF programs");
	set_knobs(capture);
	code = hl_sides_make(capture, err);
	if (!code)
		code = hl_tables_make(capture, err);
	if (code)
		return code;
	code = hotleaf_bpf__load(capture->skel);
	if (code)
		return hl_refusal_explain(code, err);
	code = hl_sides_publish(capture, err);
	return code ? code : hl_tables_publish(capture, err);
}

static void unload(struct hl_capture *capture)
{
	hl_sides_done(capture);
	hl_tables_done(capture);
	capture->sides[0] = capture->sides[1] = (struct hl_side){ -1, -1, -1 };
	hotleaf_bpf__destroy(capture->skel);
	capture->skel = NULL;
}

static int on_file_event(void *ctx, void *data, size_t size)
{
	struct hl_capture *capture = ctx;

	if (size >= sizeof(struct hl_file_event) && capture->file_fn)
		capture->file_fn(capture->file_ctx, data);
	return 0;
}

/* Loads, proves the walk, and where that fails loads again with the kernel's own walk. */
static int load_proven(struct hl_capture *capture, struct hl_err *err)
{
	int code;

	if (!capture->options.kernel_walk) {
		capture->walk = HL_CAPTURE_WALK_OWN;
		code = load(capture, err);
		if (code)
			return code;
		if (hl_selftest_run(capture, capture->why, sizeof(capture->why)))
			return 0;
		unload(capture);
	} else {
		(void)snprintf(capture->why, sizeof(capture->why), "it was asked for");
	}
	capture->walk = HL_CAPTURE_WALK_KERNEL;
	return load(capture, err);
}

int hl_capture_new(const struct hl_capture_options *options, struct hl_capture **ret, struct hl_err *err)
{
	struct hl_capture *capture = calloc(1, sizeof(*capture));
	int code;

	if (!capture)
		return hl_err_set(err, -ENOMEM, "no memory for the capture");
	capture->options = *options;
	capture->stats_fd = -1;
	capture->sides[0] = capture->sides[1] = (struct hl_side){ -1, -1, -1 };
	code = load_proven(capture, err);
	if (!code) {
		capture->ring = ring_buffer__new(bpf_map__fd(capture->skel->maps.file_events), on_file_event,
						 capture, NULL);
		if (!capture->ring)
			code = hl_err_errno(err, -errno, "cannot open the ring buffer of file events");
	}
	if (code) {
		hl_capture_free(capture);
		return code;
	}
	*ret = capture;
	return 0;
}

void hl_capture_free(struct hl_capture *capture)
{
	if (!capture)
		return;
	hl_cpus_done(capture);
	ring_buffer__free(capture->ring);
	if (capture->stats_fd >= 0)
		(void)close(capture->stats_fd);
	unload(capture);
	free(capture->expired);
	free(capture);
}

enum hl_capture_walk hl_capture_walk(const struct hl_capture *capture, const char **ret_why)
{
	*ret_why = capture->why;
	return capture->walk;
}

/* From here on, children of targets are targets. */
static int follow_processes(struct hl_capture *capture, struct hl_err *err)
{
	if (capture->skel->links.on_fork)
		return 0;
	capture->skel->links.on_fork = bpf_program__attach(capture->skel->progs.on_fork);
	if (capture->skel->links.on_fork)
		capture->skel->links.on_exit = bpf_program__attach(capture->skel->progs.on_exit);
	if (!capture->skel->links.on_fork || !capture->skel->links.on_exit)
		return hl_err_errno(err, -errno, "cannot follow forks and exits");
	return 0;
}

int hl_capture_add_target(struct hl_capture *capture, pid_t tgid, struct hl_err *err)
{
	uint32_t key = (uint32_t)tgid;
	uint8_t one = 1;
	int code = follow_processes(capture, err);

	if (code)
		return code;
	code = bpf_map_update_elem(bpf_map__fd(capture->skel->maps.targets), &key, &one, BPF_ANY);
	return code ? hl_err_errno(err, code, "cannot add process %d to the filter", (int)tgid) : 0;
}

int hl_capture_count_time(void)
{
	return bpf_enable_stats(BPF_STATS_RUN_TIME);
}

int hl_capture_start(struct hl_capture *capture, struct hl_err *err)
{
	int code;

	/* A new epoch, and the next: what was only listed is not in use. */
	capture->skel->data->epoch += 2;
	capture->started_ns = hl_monotonic_ns();
	/* Not having them is no failure. */
	if (!capture->options.time_is_counted)
		capture->stats_fd = hl_capture_count_time();
	code = hl_cpus_update(capture, err);
	capture->started = code == 0;
	return code;
}

void hl_capture_stop(struct hl_capture *capture)
{
	hl_cpus_enable(capture, false);
	capture->started = false;
}

void hl_capture_resume(struct hl_capture *capture)
{
	hl_cpus_enable(capture, true);
	capture->started = true;
}

int hl_capture_files_fd(const struct hl_capture *capture)
{
	return ring_buffer__epoll_fd(capture->ring);
}

int hl_capture_read_files(struct hl_capture *capture, hl_capture_file_fn fn, void *ctx)
{
	int n;

	capture->file_fn = fn;
	capture->file_ctx = ctx;
	n = ring_buffer__consume(capture->ring);
	__atomic_add_fetch(&capture->n_reads, 1, __ATOMIC_RELEASE);
	return n < 0 ? n : 0;
}

/* Hands on what list_files writes, for all processes or as @options say. How many events, or -errno. */
static int list(struct hl_capture *capture, const struct bpf_iter_attach_opts *options, hl_capture_file_fn fn,
		void *ctx)
{
	struct hl_file_event events[16]; /* a read that is a multiple of one event never splits one */
	struct bpf_link *link;
	int fd, code = 0, listed = 0;
	ssize_t n;

	link = bpf_program__attach_iter(capture->skel->progs.list_files, options);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		code = fd;
	while (!code) {
		n = read(fd, events, sizeof(events));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < (ssize_t)sizeof(events[0])) {
			code = n < 0 ? -errno : 0;
			break;
		}
		for (size_t i = 0; i < (size_t)n / sizeof(events[0]); i++, listed++)
			fn(ctx, &events[i]);
	}
	hl_cleanup_close(&fd);
	bpf_link__destroy(link);
	return code ? code : listed;
}

int hl_capture_list_files(struct hl_capture *capture, hl_capture_file_fn fn, void *ctx)
{
	int n = capture->walk == HL_CAPTURE_WALK_OWN ? list(capture, NULL, fn, ctx) : 0;

	return n < 0 ? n : 0;
}

int hl_capture_list_file(struct hl_capture *capture, pid_t tid, uint64_t start, hl_capture_file_fn fn,
			 void *ctx)
{
	union bpf_iter_link_info one = { .task.tid = (uint32_t)tid };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &one, .link_info_len = sizeof(one));
	int n;

	capture->skel->bss->listed_start = start;
	n = list(capture, &options, fn, ctx);
	capture->skel->bss->listed_start = 0;
	return n < 0 ? n : n ? 0 : -ENOENT;
}

static void read_counters(struct hl_capture *capture, struct hl_counters *ret)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct hl_counters *per_cpu = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*per_cpu));
	uint32_t zero = 0;

	memset(ret, 0, sizeof(*ret));
	if (!per_cpu || cpus <= 0 ||
	    bpf_map_lookup_elem(bpf_map__fd(capture->skel->maps.counters), &zero, per_cpu))
		return;
	for (int cpu = 0; cpu < cpus; cpu++)
		for (int i = 0; i < HL_COUNTER_MAX; i++)
			ret->value[i] += per_cpu[cpu].value[i];
}

/* The kernel tells a map's memory only in its fdinfo. */
static uint64_t map_memory(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	_cleanup_fclose_ FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	return bytes;
}

static uint64_t all_map_memory(struct hl_capture *capture)
{
	uint64_t bytes = hl_tables_bytes(capture);
	struct bpf_map *map;

	bpf_object__for_each_map(map, capture->skel->obj) bytes += map_memory(bpf_map__fd(map));
	for (int i = 0; i < 2; i++)
		bytes += map_memory(capture->sides[i].counts) + map_memory(capture->sides[i].stacks) +
			 map_memory(capture->sides[i].processes);
	return bytes;
}

void hl_capture_stats(struct hl_capture *capture, struct hl_capture_stats *ret)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	*ret = (struct hl_capture_stats){ 0 };
	read_counters(capture, &ret->counters);
	if (capture->options.event->software_clock)
		ret->expected = (uint64_t)hl_cpus_expected(capture);
	if (!bpf_obj_get_info_by_fd(bpf_program__fd(capture->skel->progs.on_sample), &info, &size)) {
		ret->program_ns = info.run_time_ns;
		ret->program_ns_known = capture->options.time_is_counted || capture->stats_fd >= 0;
	}
	for (size_t i = 0; i < capture->n_events; i++)
		ret->cpus += capture->events[i].fd >= 0;
	ret->map_bytes = all_map_memory(capture);
	ret->table_bytes = hl_tables_bytes(capture);
	ret->tables_dropped = __atomic_load_n(&capture->tables->n_dropped, __ATOMIC_RELAXED);
	ret->tables_refused = __atomic_load_n(&capture->tables->n_refused, __ATOMIC_RELAXED);
}
