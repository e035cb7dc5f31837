// SPDX-License-Identifier: BSD-2-Clause
/* needs: all */
/* What the rows of every command promise to the parser, the help and the reader. */
#include "command/command.h"

#include <ctype.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/parse.h"

#include "harness.h"

static const size_t field_sizes[] = {
	[HL_OPT_HEADING] = 0,
	[HL_OPT_FLAG] = sizeof(bool),
	[HL_OPT_UINT] = sizeof(uint32_t),
	[HL_OPT_SECONDS] = sizeof(uint64_t),
	[HL_OPT_STRING] = sizeof(const char *),
	[HL_OPT_BYTES] = sizeof(uint64_t),
	[HL_OPT_CHOICE] = sizeof(int),
	[HL_OPT_STRINGS] = sizeof(struct hl_words),
	[HL_OPT_WORDS] = sizeof(struct hl_words),
	[HL_OPT_NUMBERS] = sizeof(struct hl_numbers),
	[HL_OPT_PERCENT] = sizeof(uint64_t),
	[HL_OPT_SETTINGS] = sizeof(struct hl_settings),
};

typedef void (*row_fn)(const struct hl_command *command, const struct hl_option *row);

/* Calls @fn for every option of every command; a failure names the row. */
static void for_each_row(row_fn fn)
{
	for (const struct hl_command *const *c = hl_commands; *c; c++)
		for (size_t i = 0; i < (*c)->n_options; i++) {
			const struct hl_option *row = &(*c)->options[i];

			CHECK(row->name && row->name[0]);
			if (row->type != HL_OPT_HEADING)
				fn(*c, row);
		}
}

#define CHECK_ROW(cond)                                                                              \
	do {                                                                                         \
		if (!(cond))                                                                         \
			FAIL("hotleaf %s --%s: does not hold: %s", command->name, row->name, #cond); \
	} while (0)

static void check_words(const struct hl_command *command, const struct hl_option *row)
{
	CHECK_ROW(row->help && row->help[0]);
	CHECK_ROW(!isupper((unsigned char)row->help[0]) || isupper((unsigned char)row->help[1]));
	CHECK_ROW(!hl_ends_with(row->help, "."));
	CHECK_ROW((row->type == HL_OPT_FLAG) == !row->metavar);
	CHECK_ROW(row->type != HL_OPT_CHOICE || (row->choices && row->choices[0]));
	CHECK_ROW(row->type != HL_OPT_FLAG || !row->default_text);
}

static void check_name(const struct hl_command *command, const struct hl_option *row)
{
	CHECK_ROW(row->letter != 'h' && strcmp(row->name, "help") != 0);
	CHECK_ROW(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(row->name));
	for (const struct hl_option *o = command->options; o < row; o++) {
		CHECK_ROW(o->type == HL_OPT_HEADING || strcmp(o->name, row->name) != 0);
		CHECK_ROW(!row->letter || o->letter != row->letter);
	}
}

static void check_field(const struct hl_command *command, const struct hl_option *row)
{
	bool is_wide = row->type == HL_OPT_SECONDS || row->type == HL_OPT_BYTES;
	bool is_number = row->type == HL_OPT_UINT || row->type == HL_OPT_NUMBERS || is_wide;

	CHECK_ROW(row->offset + field_sizes[row->type] <= command->config_size);
	CHECK_ROW(!is_number || row->min <= row->max);
	CHECK_ROW(!is_number || row->max > 0);
	CHECK_ROW(is_wide || row->max <= UINT32_MAX);
	/* The same place and type twice is another name for one thing. */
	for (const struct hl_option *o = command->options; o < row; o++)
		CHECK_ROW(o->type == HL_OPT_HEADING || (o->type == row->type && o->offset == row->offset) ||
			  row->offset >= o->offset + field_sizes[o->type] ||
			  o->offset >= row->offset + field_sizes[row->type]);
}

/* Each of the names separated by commas is an option of the command, or its operands. */
static void check_list(const struct hl_command *command, const struct hl_option *row, const char *names)
{
	char copy[200], *rest, *name;

	(void)snprintf(copy, sizeof(copy), "%s", names ? names : "");
	for (name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		bool known = command->rest && strcmp(name, command->rest) == 0;

		for (size_t i = 0; i < command->n_options; i++)
			known |= command->options[i].type != HL_OPT_HEADING &&
				 strcmp(command->options[i].name, name) == 0 && &command->options[i] != row;
		if (!known)
			FAIL("hotleaf %s --%s: there is no \"%s\"", command->name, row->name, name);
	}
}

static void check_relations(const struct hl_command *command, const struct hl_option *row)
{
	check_list(command, row, row->needs);
	check_list(command, row, row->rejects);
}

HL_TEST(options_are_described)
{
	for_each_row(check_words);
}

HL_TEST(names_are_unique)
{
	for_each_row(check_name);
}

HL_TEST(values_have_their_own_place)
{
	for_each_row(check_field);
}

HL_TEST(relations_name_options)
{
	for_each_row(check_relations);
}

HL_TEST(commands_are_described)
{
	for (const struct hl_command *const *c = hl_commands; *c; c++) {
		NOTE("%s", (*c)->name);
		CHECK((*c)->name && (*c)->summary && (*c)->run);
		CHECK((*c)->n_options <= 64);
		CHECK(!isupper((unsigned char)(*c)->summary[0]) && !hl_ends_with((*c)->summary, "."));
		CHECK(hl_command_find(hl_commands, (*c)->name) == *c);
		CHECK(((*c)->rest || (*c)->n_options) == ((*c)->usage != NULL));
		if ((*c)->rest)
			CHECK(strstr((*c)->usage, (*c)->rest));
	}
}

/* Room for the config of any command. */
static uint64_t config[4096];

HL_TEST(defaults_are_good_values)
{
	for (const struct hl_command *const *c = hl_commands; *c; c++) {
		struct hl_arena arena = { 0 };
		struct hl_err err = { "" };
		char *none[] = { NULL }, **rest;

		CHECK((*c)->config_size <= sizeof(config));
		memset(config, 0, sizeof(config));
		if (hl_cli_parse(*c, none, config, &arena, &rest, &err) != 0)
			FAIL("hotleaf %s without options: %s", (*c)->name, err.text);
		hl_arena_done(&arena);
	}
}
