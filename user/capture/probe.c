// SPDX-License-Identifier: BSD-2-Clause
/* Questions that /proc and /sys answer. */
#include "capture/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>

#include "base/io.h"
#include "base/str.h"
#include "capture/probe_internal.h"

void hl_finding_set(struct hl_finding *f, enum hl_probe_state state, const char *fmt, ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, fmt);
	(void)vsnprintf(f->value, sizeof(f->value), fmt, ap);
	va_end(ap);
}

void hl_finding_remedy(struct hl_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

/* The number in @path, or @fallback. */
static long read_number(int dirfd, const char *path, long fallback)
{
	_cleanup_free_ char *text = NULL;
	char *end;
	long n;

	if (hl_read_file_at(dirfd, path, 100, &text, NULL) < 0)
		return fallback;
	n = strtol(text, &end, 10);
	return end == text ? fallback : n;
}

/* The inode in brackets of a link such as self/ns/pid, 0 if it cannot be read. */
static unsigned long read_namespace(const struct hl_probe_roots *roots, const char *path)
{
	char link[64];
	ssize_t len = readlinkat(roots->proc, path, link, sizeof(link) - 1);
	const char *bracket;

	if (len < 0)
		return 0;
	link[len] = 0;
	bracket = strchr(link, '[');
	return bracket ? strtoul(bracket + 1, NULL, 10) : 0;
}

/* Inodes of the host's own namespaces (enum in the kernel's include/linux/proc_ns.h). */
enum { INITIAL_PID_NS = 0xeffffffc - (1LL << 32), INITIAL_USER_NS = 0xeffffffd - (1LL << 32) };

static bool is_initial(unsigned long inode, int initial)
{
	return inode == 0 || inode == (unsigned int)initial;
}

static uint64_t read_caps(const struct hl_probe_roots *roots)
{
	_cleanup_free_ char *text = NULL;
	const char *line;

	if (hl_read_file_at(roots->proc, "self/status", 1 << 16, &text, NULL) < 0)
		return 0;
	line = strstr(text, "\nCapEff:");
	return line ? strtoull(line + strlen("\nCapEff:"), NULL, 16) : 0;
}

bool hl_probe_has_cap(const struct hl_probe_roots *roots, unsigned int cap)
{
	uint64_t caps = read_caps(roots), accepted = UINT64_C(1) << cap;

	/* In a user namespace of its own a process has every capability, but over that namespace only. */
	if (!is_initial(read_namespace(roots, "self/ns/user"), INITIAL_USER_NS))
		return false;
	if (cap == CAP_BPF || cap == CAP_PERFMON || cap == CAP_CHECKPOINT_RESTORE || cap == CAP_SYSLOG)
		accepted |= UINT64_C(1) << CAP_SYS_ADMIN;
	if (cap == CAP_DAC_READ_SEARCH)
		accepted |= UINT64_C(1) << CAP_DAC_OVERRIDE;
	return caps & accepted;
}

static void probe_kernel(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_free_ char *release = NULL;

	if (hl_read_file_at(roots->proc, "sys/kernel/osrelease", 100, &release, NULL) < 0) {
		hl_finding_set(f, HL_PROBE_MISSING, "/proc is not mounted");
		hl_finding_remedy(f, "mount -t proc proc /proc");
		return;
	}
	hl_finding_set(f, HL_PROBE_OK, "%.*s", (int)strcspn(release, "\n"), release);
}

static void probe_privileges(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	bool bpf = hl_probe_has_cap(roots, CAP_BPF), perfmon = hl_probe_has_cap(roots, CAP_PERFMON);

	if (!is_initial(read_namespace(roots, "self/ns/user"), INITIAL_USER_NS)) {
		hl_finding_set(f, HL_PROBE_MISSING, "root of a user namespace only");
		hl_finding_remedy(f, "run hotleaf as the host's root, not in a rootless container");
	} else if (bpf && perfmon) {
		hl_finding_set(f, HL_PROBE_OK, "CAP_BPF, CAP_PERFMON");
	} else {
		hl_finding_set(f, HL_PROBE_MISSING, "no %s",
			       bpf       ? "CAP_PERFMON"
			       : perfmon ? "CAP_BPF"
					 : "CAP_BPF, "
					   "no CAP_PERFMON");
		hl_finding_remedy(f, "run as root, or with CAP_BPF and CAP_PERFMON");
	}
}

/* Debian's kernels know a level 3, at which CAP_PERFMON does not help. */
static void probe_paranoid(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	long level = read_number(roots->proc, "sys/kernel/perf_event_paranoid", -100);

	if (level == -100) {
		hl_finding_set(f, HL_PROBE_MISSING, "kernel without perf events");
		hl_finding_remedy(f, "use a kernel with CONFIG_PERF_EVENTS=y");
	} else if (level > 2 && !hl_probe_has_cap(roots, CAP_SYS_ADMIN)) {
		hl_finding_set(f, HL_PROBE_MISSING,
			       "kernel.perf_event_paranoid is %ld, which asks for CAP_SYS_ADMIN", level);
		hl_finding_remedy(f, "sysctl kernel.perf_event_paranoid=2, or run as root");
	} else {
		hl_finding_set(f, HL_PROBE_OK, "kernel.perf_event_paranoid is %ld", level);
	}
}

static void probe_files(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	bool ptrace = hl_probe_has_cap(roots, CAP_SYS_PTRACE),
	     dac = hl_probe_has_cap(roots, CAP_DAC_READ_SEARCH);
	bool restore = hl_probe_has_cap(roots, CAP_CHECKPOINT_RESTORE);
	char lacks[120];

	if (ptrace && dac && restore) {
		hl_finding_set(f, HL_PROBE_OK, "readable, in containers and deleted ones too");
		return;
	}
	(void)snprintf(lacks, sizeof(lacks), "%s%s%s", ptrace ? "" : ", CAP_SYS_PTRACE",
		       dac ? "" : ", CAP_DAC_READ_SEARCH", restore ? "" : ", CAP_CHECKPOINT_RESTORE");
	hl_finding_set(f, HL_PROBE_LIMITED, "%s of other users and containers have no names and no tables",
		       ptrace && dac ? "deleted files" : "files");
	hl_finding_remedy(f, "add %s", lacks + 2);
}

/* True if a symbol of the open kallsyms has an address; per-CPU symbols, at its head, lie at 0. */
static bool shows_addresses(FILE *kallsyms)
{
	char line[1024];

	while (fgets(line, sizeof(line), kallsyms))
		if (strspn(line, "0") < 8)
			return true;
	return false;
}

static void probe_kallsyms(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	_cleanup_close_ int fd = openat(roots->proc, "kallsyms", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *kallsyms = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (!kallsyms) {
		hl_finding_set(f, HL_PROBE_LIMITED, "kernel functions have no names: no /proc/kallsyms");
		hl_finding_remedy(f, "use a kernel with CONFIG_KALLSYMS=y");
		return;
	}
	(void)TAKE_FD(fd); /* the stream's now */
	if (shows_addresses(kallsyms)) {
		hl_finding_set(f, HL_PROBE_OK, "kernel functions have names");
		return;
	}
	hl_finding_set(f, HL_PROBE_LIMITED,
		       "kernel functions have no names: /proc/kallsyms hides its addresses");
	if (read_number(roots->proc, "sys/kernel/kptr_restrict", 1) >= 2)
		hl_finding_remedy(f, "sysctl kernel.kptr_restrict=1");
	else
		hl_finding_remedy(f, "run as root, or add CAP_SYSLOG");
}

static void probe_stack_depth(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	enum { USUAL = 127 };
	long depth = read_number(roots->proc, "sys/kernel/perf_event_max_stack", USUAL);

	if (depth >= USUAL) {
		hl_finding_set(f, HL_PROBE_OK, "%ld frames", depth);
		return;
	}
	hl_finding_set(f, HL_PROBE_LIMITED, "stacks are cut at %ld frames", depth);
	hl_finding_remedy(f, "sysctl kernel.perf_event_max_stack=%d", USUAL);
}

static void probe_jit(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	/* Only the host's network namespace has the file. */
	long jit = read_number(roots->proc, "sys/net/core/bpf_jit_enable", -1);

	if (jit == 0) {
		hl_finding_set(f, HL_PROBE_LIMITED,
			       "off: the sampling program is interpreted and costs more");
		hl_finding_remedy(f, "sysctl net.core.bpf_jit_enable=1");
	} else {
		hl_finding_set(f, HL_PROBE_OK, jit > 0 ? "on" : "cannot be seen from this network namespace");
	}
}

static void probe_cgroups(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	if (faccessat(roots->sys, "fs/cgroup/cgroup.controllers", F_OK, 0) == 0) {
		hl_finding_set(f, HL_PROBE_OK, "version 2");
	} else if (faccessat(roots->sys, "fs/cgroup/unified/cgroup.controllers", F_OK, 0) == 0) {
		hl_finding_set(f, HL_PROBE_OK, "hybrid, versions 1 and 2");
	} else if (faccessat(roots->sys, "fs/cgroup/memory", F_OK, 0) == 0) {
		hl_finding_set(f, HL_PROBE_OK, "version 1");
	} else {
		hl_finding_set(f, HL_PROBE_LIMITED, "not mounted: containers and services have no names");
		hl_finding_remedy(f, "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
	}
}

static void probe_pid_namespace(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	if (is_initial(read_namespace(roots, "self/ns/pid"), INITIAL_PID_NS)) {
		hl_finding_set(f, HL_PROBE_OK, "the host's");
		return;
	}
	hl_finding_set(f, HL_PROBE_LIMITED, "a container's own: processes outside it have no names");
	hl_finding_remedy(f, "start the container with --pid=host (Kubernetes: hostPID: true)");
}

/* The value of hidepid= among the options of the mount on /proc, "" if there is none. */
static void read_hidepid(const struct hl_probe_roots *roots, char *ret, size_t size)
{
	_cleanup_free_ char *mounts = NULL;
	char *rest, *line, *option;

	ret[0] = 0;
	if (hl_read_file_at(roots->proc, "self/mountinfo", 16 << 20, &mounts, NULL) < 0)
		return;
	for (line = strtok_r(mounts, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strstr(line, " /proc ") || !strstr(line, " - proc "))
			continue;
		option = strstr(strstr(line, " - proc "), "hidepid=");
		if (option)
			(void)snprintf(ret, size, "%.*s", (int)strcspn(option + 8, ", "), option + 8);
	}
}

static void probe_hidepid(const struct hl_probe_roots *roots, struct hl_finding *f)
{
	char level[16];

	read_hidepid(roots, level, sizeof(level));
	if (!level[0] || strcmp(level, "0") == 0 || strcmp(level, "off") == 0) {
		hl_finding_set(f, HL_PROBE_OK, "shows all processes");
	} else if (hl_probe_has_cap(roots, CAP_SYS_PTRACE)) {
		hl_finding_set(f, HL_PROBE_OK, "hidepid=%s, which CAP_SYS_PTRACE overrides", level);
	} else {
		hl_finding_set(f, HL_PROBE_LIMITED, "hidepid=%s: other users' processes have no names",
			       level);
		hl_finding_remedy(f, "add CAP_SYS_PTRACE, or mount -o remount,hidepid=0 /proc");
	}
}

const struct hl_probe hl_probes[] = {
	{ "kernel", probe_kernel },
	{ "type information", hl_probe_btf },
	{ "mapping tree", hl_probe_mappings },
	{ "lockdown", hl_probe_lockdown },
	{ "privileges", probe_privileges },
	{ "perf events", probe_paranoid },
	{ "sampling event", hl_probe_event },
	{ "sampling program", hl_probe_program },
	{ "capture", hl_probe_capture },
	{ "BPF compiler", probe_jit },
	{ "kernel stacks", probe_stack_depth },
	{ "kernel names", probe_kallsyms },
	{ "files", probe_files },
	{ "process list", probe_hidepid },
	{ "process ids", probe_pid_namespace },
	{ "control groups", probe_cgroups },
	{ NULL, NULL },
};
