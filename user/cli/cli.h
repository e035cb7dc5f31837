/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct hl_arena;

/* Exit statuses that every command has; a command may add its own from 3 on. */
enum { HL_EXIT_DONE = 0, HL_EXIT_FAILED = 1, HL_EXIT_USAGE = 2 };

/* What a list option collects; items live as long as the command runs. */
struct hl_words {
	const char **items;
	size_t n;
};
struct hl_numbers {
	uint32_t *items;
	size_t n;
};

enum hl_option_type {
	HL_OPT_HEADING,  /* no option: `name` is a headline in the help */
	HL_OPT_FLAG,     /* bool */
	HL_OPT_UINT,     /* uint32_t, min to max */
	HL_OPT_SECONDS,  /* uint64_t nanoseconds, min to max; 10, 0.5, 90s, 5m, 1h, 1d */
	HL_OPT_BYTES,    /* uint64_t, min to max; 1000000, 500M, 1.5G, by powers of 1024 */
	HL_OPT_PERCENT,  /* uint64_t in thousandths of one percent, min to max; 2, 0.5, 50% */
	HL_OPT_STRING,   /* const char *, not empty */
	HL_OPT_CHOICE,   /* int, index into choices */
	HL_OPT_STRINGS,  /* struct hl_words: each occurrence adds its value */
	HL_OPT_WORDS,    /* struct hl_words: a,b,c; each occurrence adds; of choices, if any */
	HL_OPT_NUMBERS,  /* struct hl_numbers: 1,2,3, each min to max; each occurrence adds */
	HL_OPT_SETTINGS, /* struct hl_settings: the command reads settings from files, too */
};

#define HL_SETTINGS_FILE "/etc/hotleaf/hotleaf.conf"

/*
 * Files of settings, for a command with a row of that type, which names the file: the options of the command
 * line, under their long names, as "name = value"; flags are yes or no, an option that may be given several times
 * has several lines. Lines below "[command]" are for that command, those above any headline for each command that
 * reads settings and has the option. The file conf.d/NAME.conf beside it that sorts last wins over those before,
 * these over the file itself, and the command line over all; a list is taken from one of them, whole. The default
 * file need not be there.
 */
struct hl_settings {
	const char *file; /* "none": no files */
	const char *read; /* names of those that were read, with blanks between; "" for none */
	/* What the functions below need. */
	const struct hl_command *const *commands;
	const struct hl_command *command;
	char **argv;
	const char *const *origins; /* where each row's value was read; NULL: it was typed, or not given */
};

/*
 * An option: a row that drives parsing, help, completion and the check of the man page. Write the type and
 * the place of the value with one of the HL_FLAG… macros below, which also check the field's C type:
 *
 *   { "frequency", 'F', HL_UINT(struct record, hz), .min = 1, .max = 10000, .default_text = "99",
 *     .metavar = "HZ", .help = "samples a second on each CPU" },
 */
struct hl_option {
	const char *name; /* long name, without dashes */
	char letter;      /* short name, 0: none; 'h' is taken */
	enum hl_option_type type;
	size_t offset;              /* of the value in the command's config */
	uint64_t min, max;          /* of numbers and bytes; of HL_OPT_SECONDS in nanoseconds */
	const char *const *choices; /* ends with NULL */
	const char *default_text; /* parsed like a value when the option is not given; NULL: the field is 0 */
	const char *needs;        /* options that must stand beside it: long names, separated by commas */
	const char *rejects; /* options that must not; the command's `rest` name stands for its operands */
	const char *metavar; /* of the value, in the help */
	const char *help;    /* one line, lowercase, no full stop */
	bool hidden;         /* not in the help */
	bool typed_only;     /* no setting of a file */
};

#define HL_OPTION_AT(kind, ctype, config, member)                                                        \
	.type = (kind),                                                                                  \
	.offset = offsetof(config, member) +                                                             \
		  0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((config *)0)->member), ctype) \
					  ? 1                                                            \
					  : -1])
#define HL_FLAG(config, member)     HL_OPTION_AT(HL_OPT_FLAG, bool, config, member)
#define HL_UINT(config, member)     HL_OPTION_AT(HL_OPT_UINT, uint32_t, config, member)
#define HL_SECONDS(config, member)  HL_OPTION_AT(HL_OPT_SECONDS, uint64_t, config, member)
#define HL_BYTES(config, member)    HL_OPTION_AT(HL_OPT_BYTES, uint64_t, config, member)
#define HL_PERCENT(config, member)  HL_OPTION_AT(HL_OPT_PERCENT, uint64_t, config, member)
#define HL_STRING(config, member)   HL_OPTION_AT(HL_OPT_STRING, const char *, config, member)
#define HL_CHOICE(config, member)   HL_OPTION_AT(HL_OPT_CHOICE, int, config, member)
#define HL_STRINGS(config, member)  HL_OPTION_AT(HL_OPT_STRINGS, struct hl_words, config, member)
#define HL_WORDS(config, member)    HL_OPTION_AT(HL_OPT_WORDS, struct hl_words, config, member)
#define HL_NUMBERS(config, member)  HL_OPTION_AT(HL_OPT_NUMBERS, struct hl_numbers, config, member)
#define HL_SETTINGS(config, member) HL_OPTION_AT(HL_OPT_SETTINGS, struct hl_settings, config, member)
/* clang-format off */
#define HL_SETTINGS_ROW(config, member)  \
	{ "config", 0, HL_SETTINGS(config, member), .default_text = HL_SETTINGS_FILE, .metavar = "FILE",  \
	  .typed_only = true,  \
	  .help = "of settings, named as the options; then conf.d/*.conf beside it; none: no files" }
/* clang-format on */
#define HL_HEADING(text)                               \
	{                                              \
		.name = (text), .type = HL_OPT_HEADING \
	}

#define HL_SECOND_NS   UINT64_C(1000000000)
#define HL_ONE_PERCENT UINT64_C(1000)

/* A command: a row in its own file user/command/NAME.c. */
struct hl_command {
	const char *name;
	const char *summary;     /* one line for the overview, lowercase, no full stop */
	const char *usage;       /* what follows the name: "[OPTION…] [-- COMMAND…]" */
	const char *description; /* paragraphs for the help, NULL: none */
	const struct hl_option *options;
	size_t n_options; /* at most 64 */
	size_t config_size;
	const char *rest;     /* what its operands are called, "COMMAND"; NULL: it takes none */
	size_t rest_max;      /* most operands, 0: any number */
	bool rest_dashes;     /* "--" stays among the operands, since a command may begin behind it */
	bool rest_numbers;    /* a dash and a digit begin an operand: "-2h..-1h" */
	bool rest_is_command; /* the first operand ends the options, as the rest belongs to a command */
	bool hidden;          /* not in the overview */
	/*
	 * Does the work. @config is the zero-initialised config struct with defaults and options applied,
	 * @rest the operands, ending with NULL; both are the caller's. Returns 0; a negative errno with the
	 * reason in @err, which becomes exit status 1; or a positive exit status, with or without a reason.
	 */
	int (*run)(void *config, char **rest, struct hl_err *err);
};

/* For a command that finds a mistake in its options: writes the sentence, returns HL_EXIT_USAGE. */
int hl_usage(struct hl_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads the options of a running command again, from its command line and the files as they are now, into
 * @config, zero-initialised. What it points to lives in @arena. 0, -EINVAL with the mistake, or -ENOMEM.
 */
int hl_settings_read_again(const struct hl_settings *settings, void *config, struct hl_arena *arena,
			   struct hl_err *err);

/* Puts before a sentence about option @name where a file gives it, if one does, unless @code is 0. Returns it. */
int hl_settings_blame(const struct hl_settings *settings, const char *name, int code, struct hl_err *err);

/*
 * The whole program: finds the command that @argv names in @commands (ending with NULL), parses its options,
 * runs it, prints the reason of a failure on stderr as "hotleaf: …", flushes stdout. Returns the exit status.
 */
int hl_cli_run(const struct hl_command *const *commands, int argc, char **argv);

/* The command of that name, or NULL. */
const struct hl_command *hl_command_find(const struct hl_command *const *commands, const char *name);

/* Says that there is no command @name, and which is nearest. Returns HL_EXIT_USAGE. */
int hl_command_unknown(const struct hl_command *const *commands, const char *name, struct hl_err *err);

/* Writes the help of a command, or the overview of all. */
void hl_help_command(const struct hl_command *command, FILE *out);
void hl_help_overview(const struct hl_command *const *commands, FILE *out);
/* Prints @text, wrapped between words, each line behind @indent spaces. */
void hl_help_text(const char *text, size_t indent, FILE *out);

#endif
