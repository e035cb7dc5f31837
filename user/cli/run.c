// SPDX-License-Identifier: BSD-2-Clause
/* From argv to an exit status. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/parse.h"

int hl_usage(struct hl_err *err, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return HL_EXIT_USAGE;
}

const struct hl_command *hl_command_find(const struct hl_command *const *commands, const char *name)
{
	for (; *commands; commands++)
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	return NULL;
}

int hl_command_unknown(const struct hl_command *const *commands, const char *name, struct hl_err *err)
{
	const char *near = NULL;
	unsigned int best = 100;

	for (; *commands; commands++)
		if (!(*commands)->hidden && hl_cli_is_near(name, (*commands)->name, &best))
			near = (*commands)->name;
	if (near)
		return hl_usage(err, "unknown command \"%.60s\"; did you mean \"%s\"?", name, near);
	return hl_usage(err, "unknown command \"%.60s\"; \"hotleaf help\" lists the commands", name);
}

/*
 * Whoever starts us without the standard descriptors must not get our files mixed with their output. What is
 * missing is filled so that using it fails: stdin for writing only, the others for reading only.
 */
static void fill_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			/* cppcheck-suppress leakReturnValNotUsed */
			(void)open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static int run_command(const struct hl_command *const *commands, const struct hl_command *command,
		       char **argv, struct hl_err *err)
{
	_cleanup_(hl_arena_done) struct hl_arena arena = { 0 };
	_cleanup_free_ void *config = calloc(1, command->config_size ? command->config_size : 1);
	const struct hl_option *row = hl_cli_settings_row(command);
	char **rest;
	int r;

	if (!config)
		return hl_err_set(err, -ENOMEM, "no memory for the options of \"hotleaf %s\"", command->name);
	if (row)
		*(struct hl_settings *)((char *)config + row->offset) =
			(struct hl_settings){ .commands = commands, .argv = argv };
	r = hl_cli_parse(command, argv, config, &arena, &rest, err);
	if (r == -EINVAL)
		return HL_EXIT_USAGE;
	if (r == HL_CLI_HELP) {
		hl_help_command(command, stdout);
		return 0;
	}
	return r < 0 ? r : command->run(config, rest, err);
}

static int dispatch(const struct hl_command *const *commands, char **argv, struct hl_err *err)
{
	const struct hl_command *command;
	const char *name = argv[0];

	if (!name) {
		hl_help_overview(commands, stderr);
		return HL_EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	else if (name[0] == '-')
		return hl_usage(err,
				"unknown option \"%.60s\"; a command comes first: hotleaf COMMAND [OPTION…]",
				name);
	command = hl_command_find(commands, name);
	return command ? run_command(commands, command, argv + 1, err)
		       : hl_command_unknown(commands, name, err);
}

int hl_cli_run(const struct hl_command *const *commands, int argc, char **argv)
{
	struct hl_err err = { "" };
	int r;

	fill_standard_fds();
	r = dispatch(commands, argv + (argc > 0), &err);
	if (r < 0 && !err.text[0])
		(void)hl_err_errno(&err, r, "failed");
	if (r < 0)
		r = HL_EXIT_FAILED;
	if (r != 0 && err.text[0]) /* a fallback that worked may have left a sentence */
		(void)fprintf(stderr, "%shotleaf: %s\n", hl_log_prefix(HL_LOG_ERROR), err.text);
	/* A report that did not reach its reader is no success, whatever the command thinks of its work. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && r == 0) {
		(void)fprintf(stderr, "%shotleaf: cannot write standard output: %s\n",
			      hl_log_prefix(HL_LOG_ERROR), strerror(errno));
		r = HL_EXIT_FAILED;
	}
	return r;
}
