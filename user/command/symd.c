// SPDX-License-Identifier: BSD-2-Clause
/* What symd's client starts: this program as the child that parses. Not for people, hence hidden. */
#include <errno.h>
#include <fcntl.h>

#include "command/command.h"
#include "symd/child.h"

struct symd {
	uint32_t memory_mb;
};

static const struct hl_option options[] = {
	{ "memory", 0, HL_UINT(struct symd, memory_mb), .max = 1 << 20, .metavar = "MB",
	  .help = "address space, 0: no limit" },
};

static int run(void *config, char **rest, struct hl_err *err)
{
	const struct symd *c = config;

	if (!hl_symd_child_is_wanted())
		return hl_usage(err, "\"hotleaf symd\" is started by hotleaf itself, with a socket");
	hl_symd_child_run(c->memory_mb);
}

const struct hl_command hl_command_symd = {
	.name = "symd",
	.summary = "parse files, locked in, for the hotleaf that started this",
	.usage = "[OPTION…]",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct symd),
	.hidden = true,
	.run = run,
};
