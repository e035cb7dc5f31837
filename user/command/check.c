// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "capture/probe.h"
#include "command/command.h"

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

static int run(void *config, char **rest, struct hl_err *err)
{
	_cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct hl_probe_roots roots = { .proc = proc, .sys = sys };
	unsigned int counts[3] = { 0 };

	for (const struct hl_probe *probe = hl_probes; probe->name; probe++) {
		struct hl_finding found = { 0 };

		probe->run(&roots, &found);
		print_finding(probe, &found);
		counts[found.state]++;
	}
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
