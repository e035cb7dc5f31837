// SPDX-License-Identifier: BSD-2-Clause
#include "capture/internal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/hotleaf.skel.h"
#include "capture/event.h"

#define ONLINE_LIST "/sys/devices/system/cpu/online"

int hl_cpus_parse(const char *list, bool *set, size_t n)
{
	const char *at = list;
	char *after;

	memset(set, 0, n * sizeof(*set));
	do {
		unsigned long first, last;

		if (*at < '0' || *at > '9')
			return -EINVAL;
		first = last = strtoul(at, &after, 10);
		at = after;
		if (*at == '-') {
			if (at[1] < '0' || at[1] > '9')
				return -EINVAL;
			last = strtoul(at + 1, &after, 10);
			at = after;
		}
		if (last < first || last >= n)
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			set[cpu] = true;
	} while (*at++ == ',');
	return at[-1] == '\0' || at[-1] == '\n' ? 0 : -EINVAL;
}

static int read_online(bool *set, size_t n, struct hl_err *err)
{
	_cleanup_fclose_ FILE *f = fopen(ONLINE_LIST, "re");
	char line[4096];

	if (!f)
		return hl_err_errno(err, -errno, "cannot read '%s'", ONLINE_LIST);
	if (!fgets(line, sizeof(line), f) || hl_cpus_parse(line, set, n))
		return hl_err_set(err, -EINVAL, "'%s' holds no list of CPUs", ONLINE_LIST);
	return 0;
}

/* Without this the first samples of a CPU find no memory for their stacks. No harm if it fails. */
static void warm_cpu(struct hl_capture *capture, int cpu)
{
	for (uint64_t side = 0; side < 2; side++) {
		uint64_t args[2] = { HL_SELFTEST_WARM, side };
		LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
			    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (unsigned int)cpu);

		(void)bpf_prog_test_run_opts(bpf_program__fd(capture->skel->progs.self_test), &opts);
	}
}

static int open_cpu(struct hl_capture *capture, int cpu, struct hl_err *err)
{
	struct hl_cpu_event *event = &capture->events[cpu];
	int fd = hl_event_open(capture->options.event, capture->options.frequency, cpu, err);

	if (fd < 0)
		return fd;
	warm_cpu(capture, cpu);
	/* The link owns the descriptor from here on, and enables the event. */
	event->link = bpf_program__attach_perf_event(capture->skel->progs.on_sample, fd);
	if (!event->link) {
		int code = -errno;

		(void)close(fd);
		return hl_err_errno(err, code, "cannot attach the sampling program to the event of CPU %d",
				    cpu);
	}
	event->fd = fd;
	return 0;
}

static uint64_t enabled_ns(int fd)
{
	struct hl_event_count count;

	return read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count.enabled_ns : 0;
}

static void close_cpu(struct hl_capture *capture, struct hl_cpu_event *event)
{
	capture->gone_enabled_ns += enabled_ns(event->fd);
	(void)bpf_link__destroy(event->link);
	*event = (struct hl_cpu_event){ .fd = -1 };
}

/*
 * An event does not survive its CPU's absence. A CPU that went and came back between two looks is online in
 * both, but the clock of its event has stopped.
 */
static bool is_dead(struct hl_cpu_event *event)
{
	uint64_t before = event->enabled_ns;

	event->enabled_ns = enabled_ns(event->fd);
	return event->enabled_ns == before;
}

int hl_cpus_update(struct hl_capture *capture, struct hl_err *err)
{
	_cleanup_free_ bool *online = NULL;
	int code;

	if (!capture->events) {
		int n = libbpf_num_possible_cpus();

		if (n <= 0)
			return hl_err_errno(err, n, "cannot tell the number of CPUs");
		capture->events = calloc((size_t)n, sizeof(*capture->events));
		if (!capture->events)
			return hl_err_set(err, -ENOMEM, "no memory for %d CPUs", n);
		capture->n_events = (size_t)n;
		for (int i = 0; i < n; i++)
			capture->events[i].fd = -1;
	}
	online = calloc(capture->n_events, sizeof(*online));
	if (!online)
		return hl_err_set(err, -ENOMEM, "no memory for %zu CPUs", capture->n_events);
	code = read_online(online, capture->n_events, err);
	for (size_t i = 0; i < capture->n_events && code == 0; i++) {
		if (capture->events[i].link && (!online[i] || is_dead(&capture->events[i])))
			close_cpu(capture, &capture->events[i]);
		if (online[i] && !capture->events[i].link)
			code = open_cpu(capture, (int)i, err);
		if (code == -ENODEV) /* it went while we looked; the next drain sees it if it comes back */
			code = 0;
	}
	return code;
}

void hl_cpus_enable(struct hl_capture *capture, bool enable)
{
	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].fd >= 0)
			(void)ioctl(capture->events[i].fd,
				    enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void hl_cpus_done(struct hl_capture *capture)
{
	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].link)
			close_cpu(capture, &capture->events[i]);
	free(capture->events);
	capture->events = NULL;
	capture->n_events = 0;
}

uint64_t hl_cpus_enabled_ns(const struct hl_capture *capture)
{
	uint64_t total = capture->gone_enabled_ns;

	for (size_t i = 0; i < capture->n_events; i++)
		if (capture->events[i].fd >= 0)
			total += enabled_ns(capture->events[i].fd);
	return total;
}

double hl_cpus_expected(const struct hl_capture *capture)
{
	uint64_t since = hl_cpus_enabled_ns(capture) - capture->slower_ns;

	return capture->slower_expected + (double)since * capture->options.frequency / 1e9;
}

/*
 * Each event is replaced: PERF_EVENT_IOC_PERIOD would do, but a software clock goes on to give its first period to
 * its samples.
 */
int hl_capture_set_frequency(struct hl_capture *capture, unsigned int hz, struct hl_err *err)
{
	double expected = hl_cpus_expected(capture);
	int code = 0;

	capture->slower_ns = hl_cpus_enabled_ns(capture);
	capture->slower_expected = expected;
	capture->options.frequency = hz;
	for (size_t i = 0; i < capture->n_events && !code; i++) {
		struct hl_cpu_event before = capture->events[i];

		if (!before.link)
			continue;
		capture->events[i] = (struct hl_cpu_event){ .fd = -1 };
		code = open_cpu(capture, (int)i, err);
		if (!code)
			close_cpu(capture, &before);
		else
			capture->events[i] = before;
		if (code == -ENODEV) /* it is going; the next drain sees to it */
			code = 0;
	}
	return code;
}
