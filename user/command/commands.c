// SPDX-License-Identifier: BSD-2-Clause
#include "command/command.h"

const struct hl_command *const hl_commands[] = {
	&hl_command_record,
	&hl_command_agent,
	&hl_command_report,
	&hl_command_status,
	&hl_command_store,
	&hl_command_annotate,
	&hl_command_diff,
	&hl_command_check,
	&hl_command_help,
	&hl_command_version,
	&hl_command_symd,
	&hl_command_fetch,
	NULL,
};
