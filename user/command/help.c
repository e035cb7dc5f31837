// SPDX-License-Identifier: BSD-2-Clause
#include "command/command.h"

static int run(void *config, char **rest, struct hl_err *err)
{
	const struct hl_command *command;

	if (!rest[0]) {
		hl_help_overview(hl_commands, stdout);
		return 0;
	}
	command = hl_command_find(hl_commands, rest[0]);
	if (!command)
		return hl_command_unknown(hl_commands, rest[0], err);
	hl_help_command(command, stdout);
	return 0;
}

const struct hl_command hl_command_help = {
	.name = "help",
	.summary = "describe a command, or list them all",
	.usage = "[COMMAND]",
	.rest = "COMMAND",
	.rest_max = 1,
	.run = run,
};
