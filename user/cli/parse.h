/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CLI_PARSE_H
#define HL_CLI_PARSE_H

#include "base/mem.h"
#include "cli/cli.h"

/* hl_cli_parse() met --help or -h. */
#define HL_CLI_HELP 1

/*
 * Parses @argv (ending with NULL, the command's name not in it) into @config, zero-initialised and
 * config_size long. Lists and @ret_rest, the operands ending with NULL, are taken from @arena; strings stay
 * @argv's. Returns 0, HL_CLI_HELP, -EINVAL for wrong usage, -ENOMEM.
 */
int hl_cli_parse(const struct hl_command *command, char **argv, void *config, struct hl_arena *arena,
		 char ***ret_rest, struct hl_err *err);

/*
 * Parses @text as the value of @option into its field of @config. @shown is how the user wrote the option.
 * Returns 0, -EINVAL or -ENOMEM.
 */
int hl_cli_value(const struct hl_option *option, const char *shown, const char *text, void *config,
		 struct hl_arena *arena, struct hl_err *err);

/* The bounds of a number or a time in words: "a whole number from 1 to 10000". */
void hl_cli_describe(const struct hl_option *option, char *buf, size_t size);

/* How far apart two words are: insertions, deletions, exchanges, swaps of neighbours. */
unsigned int hl_cli_distance(const char *a, const char *b);

/* True if @word is likely a slip for @name: few edits, or its beginning. */
bool hl_cli_is_near(const char *word, const char *name, unsigned int *best);

#endif
