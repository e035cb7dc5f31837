// SPDX-License-Identifier: BSD-2-Clause
#include <string.h>

#include "base/str.h"
#include "cli/parse.h"
#include "command/command.h"
#include "sample/reason.h"

static void print_reason(const struct hl_reason *reason)
{
	printf("%s\n\n", reason->name);
	hl_help_text(reason->help, 4, stdout);
	putchar('\n');
	hl_help_text(reason->more, 4, stdout);
}

static void print_reasons(void)
{
	const struct hl_reason *reason;

	for (size_t i = 0; (reason = hl_reason_at(i)); i++) {
		printf("%s%s\n", i ? "\n" : "", reason->name);
		hl_help_text(reason->help, 4, stdout);
	}
}

static const char *near_reason(const char *words)
{
	const struct hl_reason *reason;
	const char *near = NULL;
	unsigned int best = 100;

	for (size_t i = 0; (reason = hl_reason_at(i)); i++)
		if (hl_cli_is_near(words, reason->name, &best))
			near = reason->name;
	return near;
}

static int unknown_reason(const char *words, struct hl_err *err)
{
	const char *near = near_reason(words);

	if (near)
		return hl_usage(err, "there is no reason \"%.60s\"; did you mean \"%s\"?", words, near);
	return hl_usage(err, "there is no reason \"%.60s\"; \"hotleaf help reasons\" lists them", words);
}

static int run(void *config, char **rest, struct hl_err *err)
{
	_cleanup_str_ struct hl_str words = { 0 };
	const struct hl_command *command;
	const struct hl_reason *reason;

	if (!rest[0]) {
		hl_help_overview(hl_commands, stdout);
		return 0;
	}
	if (strcmp(rest[0], "reasons") == 0 && !rest[1]) {
		print_reasons();
		return 0;
	}
	command = rest[1] ? NULL : hl_command_find(hl_commands, rest[0]);
	if (command) {
		hl_help_command(command, stdout);
		return 0;
	}
	/* Outputs spell reasons in several words, and not everybody quotes them. */
	for (size_t i = 0; rest[i]; i++)
		hl_str_addf(&words, "%s%s", i ? " " : "", rest[i]);
	if (hl_str_status(&words))
		return hl_str_status(&words);
	reason = hl_reason_find(words.data);
	if (reason) {
		print_reason(reason);
		return 0;
	}
	if (!rest[1] && !strchr(rest[0], ' ') && !near_reason(words.data))
		return hl_command_unknown(hl_commands, rest[0], err);
	return unknown_reason(words.data, err);
}

const struct hl_command hl_command_help = {
	.name = "help",
	.summary = "describe a command, or a reason for a loss",
	.description =
		"Describes a command, or what a loss, or a mark in a stack, means, and what to do: \"hotleaf "
		"help "
		"no call\". Without a word, lists the commands; \"hotleaf help reasons\" lists the rest.",
	.usage = "[COMMAND | REASON | reasons]",
	.rest = "COMMAND",
	.rest_max = 8,
	.run = run,
};
