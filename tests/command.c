// SPDX-License-Identifier: BSD-2-Clause
#include "command.h"

#include <stdio.h>
#include <unistd.h>

#include "command/command.h"

#include "harness.h"
#include "stores.h"

char said[1 << 20];

int command_run(const char *const *words)
{
	char *argv[32] = { "hotleaf" };
	int argc = 1, status, saved = dup(STDOUT_FILENO);
	char path[96];
	FILE *f;

	while (*words) {
		CHECK(argc < 31);
		argv[argc++] = (char *)*words++;
	}
	(void)snprintf(path, sizeof(path), "%s/said", stores_dir());
	CHECK(fflush(stdout) == 0 && freopen(path, "w", stdout));
	status = hl_cli_run(hl_commands, argc, argv);
	CHECK(fflush(stdout) == 0 && dup2(saved, STDOUT_FILENO) >= 0 && close(saved) == 0);
	f = fopen(path, "r");
	CHECK(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
	(void)fclose(f);
	return status;
}

void check_said(const char *text)
{
	if (!strstr(said, text))
		FAIL("\"%s\" is not in: %.6000s", text, said);
}
