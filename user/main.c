// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>

#include "command/command.h"

int main(int argc, char **argv)
{
	/* Whoever starts us may ignore it, and that is inherited: no child could be waited for. */
	(void)signal(SIGCHLD, SIG_DFL);
	return hl_cli_run(hl_commands, argc, argv);
}
