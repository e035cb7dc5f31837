// SPDX-License-Identifier: BSD-2-Clause
#include "command/command.h"

int main(int argc, char **argv)
{
	return hl_cli_run(hl_commands, argc, argv);
}
