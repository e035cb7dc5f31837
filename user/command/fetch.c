// SPDX-License-Identifier: BSD-2-Clause
/* The child that fetches a debug file, see process/debuginfod.h. Not for people, hence hidden. */
#include <string.h>

#include "command/command.h"
#include "process/debuginfod.h"

static int run(void *config, char **rest, struct hl_err *err)
{
	if (!rest[0] || rest[1] || rest[0][strspn(rest[0], "0123456789abcdef")])
		return hl_usage(err, "\"hotleaf fetch\" is started by hotleaf itself, with a build-id");
	hl_debuginfod_child_run(rest[0]);
}

const struct hl_command hl_command_fetch = {
	.name = "fetch",
	.summary = "fetch a debug file, without rights, for the hotleaf that started this",
	.usage = "BUILD-ID",
	.rest = "BUILD-ID",
	.hidden = true,
	.run = run,
};
