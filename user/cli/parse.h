/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CLI_PARSE_H
#define HL_CLI_PARSE_H

#include "base/mem.h"
#include "cli/cli.h"

/* hl_cli_parse() met --help or -h. */
#define HL_CLI_HELP 1

/*
 * Parses @argv (ending with NULL, the command's name not in it) into @config, zero-initialised and
 * config_size long, and the files of settings that it names. Lists and @ret_rest, the operands ending with
 * NULL, are taken from @arena; strings stay @argv's. Returns 0, HL_CLI_HELP, -EINVAL for wrong usage, -ENOMEM.
 */
int hl_cli_parse(const struct hl_command *command, char **argv, void *config, struct hl_arena *arena,
		 char ***ret_rest, struct hl_err *err);

/* The command's row of type HL_OPT_SETTINGS, or NULL: it reads no files. */
const struct hl_option *hl_cli_settings_row(const struct hl_command *command);

/* What was given of a command's options: a bit a row, and where, "'FILE' line 3", or NULL: it was typed. */
struct hl_given {
	uint64_t rows;
	const char *origins[64];
};

/* Reads the files that @settings names, for those options that are not in @given yet. As hl_cli_parse(). */
int hl_settings_read(struct hl_settings *settings, void *config, struct hl_arena *arena,
		     struct hl_given *given, struct hl_err *err);

/* The option of that long name, or NULL. */
const struct hl_option *hl_cli_find(const struct hl_command *command, const char *name, size_t len);
/* The name that @word is likely a slip for, or NULL. */
const char *hl_cli_near(const struct hl_command *command, const char *word);

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
