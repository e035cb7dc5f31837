// SPDX-License-Identifier: BSD-2-Clause
#include "capture/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

struct known_event {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
	const char *unit;
};

static const struct known_event known_events[] = {
	{ "cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles" },
	{ "instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
	{ "cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "cache misses" },
	{ "branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branch misses" },
	{ "cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "nanoseconds" },
	{ "task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "nanoseconds" },
};

#define EVENT_NAMES "cycles, instructions, cache-misses, branch-misses, cpu-clock, task-clock, rHEX"
#define N_KNOWN     (sizeof(known_events) / sizeof(known_events[0]))

static bool is_word(const char *word, const char *text, size_t len)
{
	return word && strlen(word) == len && memcmp(word, text, len) == 0;
}

/* "r" and 1 to 16 hexadecimal digits: the code of a model's own event. */
static bool parse_raw(const char *text, size_t len, uint64_t *ret)
{
	if (len < 2 || len > 17 || text[0] != 'r' || strspn(text + 1, "0123456789abcdefABCDEF") < len - 1)
		return false;
	*ret = strtoull(text + 1, NULL, 16);
	return true;
}

static int find_event(const char *name, size_t len, struct hl_event_choice *choice, struct hl_err *err)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		const struct known_event *k = &known_events[i];

		if (!is_word(k->name, name, len) && !is_word(k->alias, name, len))
			continue;
		choice->type = k->type;
		choice->config = k->config;
		choice->unit = k->unit;
		choice->software_clock = k->type == PERF_TYPE_SOFTWARE;
		(void)snprintf(choice->name, sizeof(choice->name), "%s", k->name);
		return 0;
	}
	if (parse_raw(name, len, &choice->config)) {
		choice->type = PERF_TYPE_RAW;
		choice->unit = "events";
		(void)snprintf(choice->name, sizeof(choice->name), "%.*s", (int)len, name);
		return 0;
	}
	return hl_err_set(err, -EINVAL, "unknown event \"%.60s\"; there are: " EVENT_NAMES, name);
}

/* Sets precise_ip and the part of the name that says so. */
static void set_precise(struct hl_event_choice *choice, unsigned int precise)
{
	choice->precise = precise;
	choice->name[strcspn(choice->name, ":")] = 0;
	if (precise > 0) {
		size_t len = strlen(choice->name);

		(void)snprintf(choice->name + len, sizeof(choice->name) - len, ":%.*s", (int)precise, "ppp");
	}
}

int hl_event_parse(const char *name, struct hl_event_choice *ret, struct hl_err *err)
{
	struct hl_event_choice choice = { 0 };
	size_t len = strcspn(name, ":"), n_p;
	const char *modifier = name[len] ? name + len + 1 : NULL;
	int r = find_event(name, len, &choice, err);

	if (r < 0)
		return r;
	if (modifier) {
		n_p = strspn(modifier, "p");
		choice.any_precise = strcmp(modifier, "P") == 0;
		if (!choice.any_precise && (n_p < 1 || n_p > 3 || modifier[n_p]))
			return hl_err_set(err, -EINVAL,
					  "unknown modifier \":%.40s\" of event \"%s\"; there are "
					  ":p, :pp, :ppp and :P",
					  modifier, choice.name);
		if (choice.software_clock)
			return hl_err_set(err, -EINVAL,
					  "event \"%s\" is a timer and cannot be precise; leave "
					  "\":%.40s\" out",
					  choice.name, modifier);
		set_precise(&choice, (unsigned int)n_p);
	}
	*ret = choice;
	return 0;
}

static int open_event(const struct hl_event_choice *choice, unsigned int hz, int cpu)
{
	struct perf_event_attr attr = {
		.type = choice->type,
		.size = sizeof(attr),
		.config = choice->config,
		.sample_freq = hz,
		.freq = 1,
		.disabled = 1,
		.precise_ip = choice->precise,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		/*
		 * A program that calls bpf_get_stack() attaches to a precise event only when the kernel takes
		 * the callchain before it leaves the hardware's buffer (EPROTO otherwise; since 5.9).
		 */
		.sample_type = PERF_SAMPLE_IP | (choice->precise ? PERF_SAMPLE_CALLCHAIN : 0),
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static long sysctl_kernel(const char *name, long fallback)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[80], line[32];

	(void)snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	return f && fgets(line, sizeof(line), f) ? strtol(line, NULL, 10) : fallback;
}

static int explain_denied(const struct hl_event_choice *choice, int code, struct hl_err *err)
{
	long paranoid = sysctl_kernel("perf_event_paranoid", -2);

	if (code == -EPERM)
		return hl_err_set(err, code,
				  "event \"%s\" was refused by a security policy; in a container, allow "
				  "perf_event_open and bpf in its seccomp profile",
				  choice->name);
	if (paranoid > 2)
		return hl_err_set(err, code,
				  "event \"%s\" needs root (CAP_SYS_ADMIN), since "
				  "kernel.perf_event_paranoid is %ld; or set it to 2 and give CAP_PERFMON",
				  choice->name, paranoid);
	return hl_err_set(err, code, "event \"%s\" on the whole host needs root, or CAP_PERFMON and CAP_BPF",
			  choice->name);
}

static int explain_invalid(const struct hl_event_choice *choice, unsigned int hz, struct hl_err *err)
{
	long most = sysctl_kernel("perf_event_max_sample_rate", 0);

	if (most > 0 && hz > (unsigned long)most)
		return hl_err_set(err, -EINVAL,
				  "frequency %u Hz is above kernel.perf_event_max_sample_rate, which is "
				  "%ld; ask for less",
				  hz, most);
	return hl_err_set(err, -EOPNOTSUPP,
			  "event \"%s\" is not supported here in this form; try one without "
			  "modifier, or cpu-clock",
			  choice->name);
}

/* Says what the failure of opening means. Returns @code, or a better one. */
static int explain(const struct hl_event_choice *choice, unsigned int hz, int cpu, int code,
		   struct hl_err *err)
{
	switch (code) {
	case -EACCES:
	case -EPERM:
		return explain_denied(choice, code, err);
	case -EINVAL:
		return explain_invalid(choice, hz, err);
	case -ENOENT:
	case -EOPNOTSUPP:
		return hl_err_set(err, code,
				  "event \"%s\" does not exist on this machine (a virtual machine often has "
				  "no hardware counters); try cpu-clock",
				  choice->name);
	case -ENODEV:
		return hl_err_set(err, code, "event \"%s\" cannot be opened on CPU %d, which is not online",
				  choice->name, cpu);
	case -EMFILE:
	case -ENFILE:
		return hl_err_set(err, code,
				  "no file descriptor is left for event \"%s\" on CPU %d; raise ulimit -n",
				  choice->name, cpu);
	case -EBUSY:
		return hl_err_set(err, code,
				  "the counter for event \"%s\" on CPU %d is taken by another program",
				  choice->name, cpu);
	default:
		return hl_err_errno(err, code, "cannot open event \"%s\" on CPU %d", choice->name, cpu);
	}
}

int hl_event_open(const struct hl_event_choice *choice, unsigned int hz, int cpu, struct hl_err *err)
{
	int fd = open_event(choice, hz, cpu);

	/* For the kernel a CPU that can never come is a wrong argument. */
	if (fd == -EINVAL && cpu >= sysconf(_SC_NPROCESSORS_CONF))
		fd = -ENODEV;
	return fd < 0 ? explain(choice, hz, cpu, fd, err) : fd;
}

/* Opens @choice on each CPU in turn. 0 if it works on all that are online. */
static int try_everywhere(const struct hl_event_choice *choice, unsigned int hz, struct hl_err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int r = -ENODEV;

	for (int cpu = 0; cpu < cpus; cpu++) {
		_cleanup_close_ int fd = open_event(choice, hz, cpu);

		if (fd < 0 && fd != -ENODEV)
			return explain(choice, hz, cpu, fd, err);
		if (fd >= 0)
			r = 0;
	}
	return r < 0 ? explain(choice, hz, 0, r, err) : 0;
}

static int choose_precise(struct hl_event_choice *choice, unsigned int hz, struct hl_err *err)
{
	int r = -EINVAL;

	for (int precise = 3; precise >= 0 && r < 0; precise--) {
		set_precise(choice, (unsigned int)precise);
		r = try_everywhere(choice, hz, err);
	}
	choice->any_precise = false;
	return r;
}

int hl_event_choose(const char *name, unsigned int hz, struct hl_event_choice *ret, struct hl_err *err)
{
	struct hl_event_choice choice = { 0 };
	int r = hl_event_parse(name ? name : "cycles:P", &choice, err);

	if (r < 0)
		return r;
	r = choice.any_precise ? choose_precise(&choice, hz, err) : try_everywhere(&choice, hz, err);
	if (r < 0 && !name) {
		r = hl_event_parse("cpu-clock", &choice, err);
		if (r == 0)
			r = try_everywhere(&choice, hz, err);
	}
	if (r < 0)
		return r;
	*ret = choice;
	return 0;
}
