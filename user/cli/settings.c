// SPDX-License-Identifier: BSD-2-Clause
/*
 * Settings in files. inih knows the form (sections, comments, blanks); a name is that of an option row, and its
 * value is parsed like one on the command line. Files are read from the one that wins to the one that yields, and
 * what is given already is left alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/parse.h"

enum { MOST_BYTES = 1 << 20, MOST_FILES = 1000 };

struct reader {
	const struct hl_settings *settings;
	void *config;
	struct hl_arena *arena;
	struct hl_given *given;
	struct hl_err *err;
	uint64_t before; /* rows that were given when this file was opened */
	/* Of the file: */
	const char *path, *next, *end;
	int line, lines[64]; /* where it gives each row */
	int bad_line;        /* 0: none so far */
	int code;            /* of that line */
};

const struct hl_option *hl_cli_settings_row(const struct hl_command *command)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (command->options[i].type == HL_OPT_SETTINGS)
			return &command->options[i];
	return NULL;
}

static const struct hl_command *find_section(const struct reader *r, const char *section)
{
	const struct hl_command *const *commands = r->settings->commands;

	if (strcmp(r->settings->command->name, section) == 0)
		return r->settings->command;
	for (; commands && *commands; commands++)
		if (strcmp((*commands)->name, section) == 0 && hl_cli_settings_row(*commands))
			return *commands;
	return NULL;
}

/* A command that reads settings and has the option, first of all the one that runs; that one also if none has it. */
static const struct hl_command *find_owner(const struct reader *r, const char *name)
{
	const struct hl_command *const *commands = r->settings->commands;

	if (hl_cli_find(r->settings->command, name, strlen(name)))
		return r->settings->command;
	for (; commands && *commands; commands++)
		if (hl_cli_settings_row(*commands) && hl_cli_find(*commands, name, strlen(name)))
			return *commands;
	return r->settings->command;
}

static int unknown_setting(struct reader *r, const struct hl_command *command, const char *name)
{
	const char *near = hl_cli_near(command, name);

	if (near)
		return hl_err_set(r->err, -EINVAL, "unknown setting \"%s\"; did you mean \"%s\"?", name,
				  near);
	return hl_err_set(
		r->err, -EINVAL,
		"unknown setting \"%s\"; settings are named as the options that \"hotleaf help %s\" "
		"lists",
		name, command->name);
}

static bool is_list(const struct hl_option *option)
{
	return option->type == HL_OPT_STRINGS || option->type == HL_OPT_WORDS ||
	       option->type == HL_OPT_NUMBERS;
}

/* Another command's setting is checked, and forgotten. */
static int check_value(struct reader *r, const struct hl_command *command, const struct hl_option *option,
		       const char *value)
{
	_cleanup_free_ void *scratch = calloc(1, command->config_size + 1);

	if (!scratch)
		return hl_err_set(r->err, -ENOMEM, "no memory for the settings");
	return hl_cli_value(option, option->name, value, scratch, r->arena, r->err);
}

static int take_value(struct reader *r, const struct hl_option *option, const char *value)
{
	size_t row = (size_t)(option - r->settings->command->options);
	const char *text = hl_arena_copy(r->arena, value, strlen(value));
	char origin[300];

	if (!text)
		return hl_err_set(r->err, -ENOMEM, "no memory for the settings");
	if (r->lines[row] && !is_list(option))
		return hl_err_set(r->err, -EINVAL, "setting \"%s\" is in line %d already", option->name,
				  r->lines[row]);
	r->lines[row] = r->line;
	/* What wins over it has given it before. Mistakes are found all the same. */
	if (r->before & UINT64_C(1) << row)
		return check_value(r, r->settings->command, option, value);
	(void)snprintf(origin, sizeof(origin), "'%s' line %d", r->path, r->line);
	r->given->rows |= UINT64_C(1) << row;
	r->given->origins[row] = hl_arena_copy(r->arena, origin, strlen(origin));
	return hl_cli_value(option, option->name, text, r->config, r->arena, r->err);
}

static int take(struct reader *r, const char *section, const char *name, const char *value)
{
	const struct hl_command *command = section[0] ? find_section(r, section) : find_owner(r, name);
	const struct hl_option *option;

	if (!command)
		return hl_err_set(r->err, -EINVAL, "section \"[%s]\" is of no command that reads settings",
				  section);
	option = hl_cli_find(command, name, strlen(name));
	if (!option)
		return unknown_setting(r, command, name);
	if (option->typed_only)
		return hl_err_set(r->err, -EINVAL, "option \"--%s\" is for the command line only", name);
	return command == r->settings->command ? take_value(r, option, value)
					       : check_value(r, command, option, value);
}

/* ---- what inih calls ----------------------------------------------------------------------------------- */

static int on_setting(void *ctx, const char *section, const char *name, const char *value)
{
	struct reader *r = ctx;

	if (r->bad_line)
		return 0;
	r->code = take(r, section, name, value);
	if (r->code)
		r->bad_line = r->line;
	return r->code == 0;
}

/* As fgets(). A line that would have to be cut ends the file, with a mistake. */
static char *next_line(char *buf, int size, void *ctx)
{
	struct reader *r = ctx;
	const char *newline = memchr(r->next, '\n', (size_t)(r->end - r->next));
	const char *end = newline ? newline + 1 : r->end;
	size_t len = (size_t)(end - r->next);

	if (!len || (r->bad_line && r->bad_line <= r->line))
		return NULL;
	r->line++;
	if (len >= (size_t)size || memchr(r->next, '\0', len)) {
		r->bad_line = r->line;
		r->code = len >= (size_t)size
				  ? hl_err_set(r->err, -EINVAL, "is longer than %d bytes", size - 2)
				  : hl_err_set(r->err, -EINVAL, "holds a byte 0: this is no text");
		return NULL;
	}
	memcpy(buf, r->next, len);
	buf[len] = '\0';
	r->next = end;
	return buf;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static int read_file(struct reader *r, const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	int bad, code = hl_read_file_at(AT_FDCWD, path, MOST_BYTES, &text, &len);

	if (code)
		return hl_err_errno(r->err, code, "cannot read '%s'", path);
	r->path = path;
	r->next = text;
	r->end = text + len;
	r->line = r->bad_line = 0;
	r->before = r->given->rows;
	memset(r->lines, 0, sizeof(r->lines));
	bad = ini_parse_stream(next_line, r, on_setting, r);
	if (bad < 0)
		return hl_err_set(r->err, -ENOMEM, "no memory for '%s'", path);
	if (bad && (!r->bad_line || bad < r->bad_line))
		return hl_err_set(r->err, -EINVAL, "'%s' line %d: is neither NAME = VALUE nor [SECTION]",
				  path, bad);
	return r->bad_line ? hl_err_prefix(r->err, r->code, "'%s' line %d", path, r->bad_line) : 0;
}

static void free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int by_name_downwards(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

/* The paths of *.conf in @dir, the last first. That there is no such directory is no failure. */
static int list_dir(struct reader *r, const char *dir, char ***ret, size_t *ret_n)
{
	_cleanup_closedir_ DIR *stream = opendir(dir);
	char **names = NULL, *name;
	struct dirent *entry;
	size_t n = 0, cap = 0;
	int code = 0;

	if (!stream && errno != ENOENT && errno != ENOTDIR)
		return hl_err_errno(r->err, -errno, "cannot read '%s'", dir);
	while (!code && stream && (entry = readdir(stream))) {
		if (entry->d_name[0] == '.' || !hl_ends_with(entry->d_name, ".conf"))
			continue;
		code = hl_grow(&names, &cap, n + 1, sizeof(*names), MOST_FILES);
		if (!code && asprintf(&name, "%s/%s", dir, entry->d_name) < 0)
			code = -ENOMEM;
		if (!code)
			names[n++] = name;
	}
	if (code) {
		free_names(names, n);
		return hl_err_errno(r->err, code, "cannot list '%s'", dir);
	}
	if (n)
		qsort(names, n, sizeof(*names), by_name_downwards);
	*ret = names;
	*ret_n = n;
	return 0;
}

/* The files beside @file, the one that wins first, then @file, which may lack if it was not asked for. */
static int read_all(struct reader *r, const char *file, bool asked, struct hl_str *said)
{
	const char *slash = strrchr(file, '/');
	_cleanup_str_ struct hl_str dir = { 0 };
	char **names = NULL;
	size_t n = 0;
	int code;

	hl_str_add(&dir, file, slash ? (size_t)(slash - file) + 1 : 0);
	hl_str_adds(&dir, "conf.d");
	if (hl_str_status(&dir))
		return hl_err_set(r->err, -ENOMEM, "no memory for the settings");
	code = list_dir(r, dir.data, &names, &n);
	if (code)
		return code;
	for (size_t i = 0; i < n && !code; i++) {
		code = read_file(r, names[i]);
		hl_str_addf(said, "%s ", names[i]);
	}
	free_names(names, n);
	if (code)
		return code;
	code = read_file(r, file);
	if (code == -ENOENT && !asked) {
		/* Nothing went wrong: whoever fails without a sentence of its own must not have this one. */
		if (r->err)
			r->err->text[0] = '\0';
		return 0;
	}
	hl_str_addf(said, "%s ", file);
	return code;
}

int hl_settings_read(struct hl_settings *settings, void *config, struct hl_arena *arena,
		     struct hl_given *given, struct hl_err *err)
{
	struct reader r = {
		.settings = settings, .config = config, .arena = arena, .given = given, .err = err
	};
	bool asked = settings->file != NULL;
	const char *file = asked ? settings->file : HL_SETTINGS_FILE;
	_cleanup_str_ struct hl_str said = { 0 };
	int code;

	settings->read = "";
	settings->origins = given->origins;
	if (strcmp(file, "none") == 0)
		return 0;
	code = read_all(&r, file, asked, &said);
	if (code)
		return code == -ENOMEM ? code : -EINVAL;
	if (said.len)
		settings->read = hl_arena_copy(arena, said.data, said.len - 1);
	return hl_str_status(&said) || !settings->read
		       ? hl_err_set(err, -ENOMEM, "no memory for the settings")
		       : 0;
}

int hl_settings_blame(const struct hl_settings *settings, const char *name, int code, struct hl_err *err)
{
	const struct hl_option *option = hl_cli_find(settings->command, name, strlen(name));
	const char *origin = option ? settings->origins[option - settings->command->options] : NULL;

	return code && origin ? hl_err_prefix(err, code, "%s", origin) : code;
}

int hl_settings_read_again(const struct hl_settings *settings, void *config, struct hl_arena *arena,
			   struct hl_err *err)
{
	const struct hl_command *command = settings->command;
	const struct hl_option *row = hl_cli_settings_row(command);
	char **rest;

	*(struct hl_settings *)((char *)config + row->offset) =
		(struct hl_settings){ .commands = settings->commands, .argv = settings->argv };
	return hl_cli_parse(command, settings->argv, config, arena, &rest, err);
}
