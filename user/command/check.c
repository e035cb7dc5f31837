// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "capture/probe.h"
#include "command/command.h"
#include "command/privileges.h"
#include "process/proc.h"
#include "symd/client.h"

static const char *const state_names[] = {
	[HL_PROBE_OK] = "ok",
	[HL_PROBE_LIMITED] = "limited",
	[HL_PROBE_MISSING] = "missing",
};

static void print_finding(const struct hl_probe *probe, const struct hl_finding *found)
{
	printf("%-8s %-17s %s\n", state_names[found->state], probe->name, found->value);
	if (found->remedy[0])
		printf("%-8s %-17s → %s\n", "", "", found->remedy);
}

/* Appends to a line of a finding. */
__attribute__((format(printf, 2, 3))) static void append(char line[400], const char *fmt, ...)
{
	size_t len = strlen(line);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line + len, 400 - len, fmt, ap);
	va_end(ap);
}

static void probe_symd(const struct hl_probe_roots *roots, struct hl_finding *ret)
{
	static const struct {
		uint32_t guard;
		const char *what;
	} rows[] = {
		{ HL_GUARD_FILTER, "a filter of system calls" },
		{ HL_GUARD_LIMITS, "limits of memory and processes" },
		{ HL_GUARD_NO_CAPS, "no capabilities" },
		{ HL_GUARD_NO_NEW_PRIVS, "no way to new privileges" },
		{ HL_GUARD_NOBODY, "user nobody" },
		{ HL_GUARD_NAMESPACES, "no network" },
		{ HL_GUARD_ROOT, "an empty root" },
	};
	struct hl_symd_stats stats;
	struct hl_err err = { "" };
	struct hl_symd *symd = hl_symd_new(&err);

	if (!symd) {
		ret->state = HL_PROBE_MISSING;
		append(ret->value, "%s", err.text);
		append(ret->remedy, "allow starting /proc/self/exe, socketpair and memfd_create");
		return;
	}
	hl_symd_stats(symd, &stats);
	hl_symd_free(symd);
	for (int stands = 1; stands >= 0; stands--) {
		const char *between = stands ? "files are parsed with " : "; without ";

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (!(stats.guards & rows[i].guard) == !stands) {
				append(ret->value, "%s%s", between, rows[i].what);
				between = ", ";
			}
	}
	if (stats.guards == HL_GUARD_ALL)
		return;
	ret->state = HL_PROBE_LIMITED;
	append(ret->remedy, "run as root, with unshare, chroot and seccomp allowed");
}

/* By openat2, which filters of system calls may not know, or forbid. */
static void probe_roots(const struct hl_probe_roots *roots, struct hl_finding *ret)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = hl_proc_open_in_root(root, "proc/self/status", &st);
	if (fd >= 0) {
		append(ret->value, "of processes can be opened: debug files, names of containers");
		return;
	}
	ret->state = HL_PROBE_LIMITED;
	append(ret->value,
	       "cannot be opened (%s): no debug files, no names of containers and of generated code",
	       strerror(-fd));
	append(ret->remedy, "allow openat2 in the filter of system calls (systemd: no RestrictSUIDSGID=)");
}

static void probe_kept(const struct hl_probe_roots *roots, struct hl_finding *ret)
{
	const struct hl_privilege *kept[HL_PRIVILEGES];
	unsigned int dropped, n = hl_privileges_kept(false, kept, &dropped);

	for (unsigned int i = 0; i < n; i++)
		append(ret->value, "%s%s (%s)", i ? ", " : "", kept[i]->name, kept[i]->why);
	append(ret->value, "%s; %u dropped", n ? "" : "none", dropped);
}

/* What this program does to itself, beside what capture asks of the kernel. */
static const struct hl_probe own_probes[] = {
	{ "files in roots", probe_roots },
	{ "sandbox", probe_symd },
	{ "kept privileges", probe_kept },
	{ NULL, NULL },
};

static void run_probes(const struct hl_probe *probe, const struct hl_probe_roots *roots,
		       unsigned int counts[3])
{
	for (; probe->name; probe++) {
		struct hl_finding found = { 0 };

		probe->run(roots, &found);
		print_finding(probe, &found);
		counts[found.state]++;
	}
}

static int run(void *config, char **rest, struct hl_err *err)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct hl_probe_roots roots = { .proc = proc, .sys = sys };
	unsigned int counts[3] = { 0 };

	run_probes(hl_probes, &roots, counts);
	run_probes(own_probes, &roots, counts);
	if (counts[HL_PROBE_MISSING]) {
		printf("\nhotleaf cannot record here: %u missing, %u limited\n", counts[HL_PROBE_MISSING],
		       counts[HL_PROBE_LIMITED]);
		return HL_EXIT_FAILED;
	}
	printf("\nhotleaf can record here: %u limited\n", counts[HL_PROBE_LIMITED]);
	return 0;
}

const struct hl_command hl_command_check = {
	.name = "check",
	.summary = "say what this kernel and these privileges allow",
	.description =
		"Asks the kernel for everything that hotleaf needs or can use, and prints a line for each: "
		"ok, "
		"limited (hotleaf works, but shows less or costs more) or missing (it cannot work), and "
		"after an arrow what to do about it. It changes nothing. The exit status is 0 when hotleaf "
		"can "
		"record here, else 1.",
	.run = run,
};
