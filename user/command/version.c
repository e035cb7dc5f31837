// SPDX-License-Identifier: BSD-2-Clause
#include "command/command.h"

static int run(void *config, char **rest, struct hl_err *err)
{
	printf("hotleaf %s\n", HL_VERSION);
	return 0;
}

const struct hl_command hl_command_version = {
	.name = "version",
	.summary = "print the version",
	.run = run,
};
