// SPDX-License-Identifier: BSD-2-Clause
/*
 * GNU-style options: --name=V, --name V, -nV, -n V, bundled flags, "--" ends them. Names are not
 * abbreviated, since an abbreviation breaks when an option is added; the nearest name is suggested.
 */
#include "cli/parse.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

struct parser {
	const struct hl_command *command;
	char **next; /* argument after the one that is looked at */
	void *config;
	struct hl_arena *arena;
	struct hl_err *err;
	char **rest;
	size_t n_rest;
	struct hl_given *given; /* the arena's */
};

const struct hl_option *hl_cli_find(const struct hl_command *command, const char *name, size_t len)
{
	for (size_t i = 0; i < command->n_options; i++) {
		const struct hl_option *o = &command->options[i];

		if (o->type != HL_OPT_HEADING && strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	}
	return NULL;
}

static const struct hl_option *find_short(const struct hl_command *command, char letter)
{
	for (size_t i = 0; i < command->n_options; i++)
		if (command->options[i].letter == letter && command->options[i].type != HL_OPT_HEADING)
			return &command->options[i];
	return NULL;
}

const char *hl_cli_near(const struct hl_command *command, const char *word)
{
	const char *near = NULL;
	unsigned int best = 100;

	if (hl_cli_is_near(word, "help", &best))
		near = "help";
	for (size_t i = 0; i < command->n_options; i++) {
		const struct hl_option *o = &command->options[i];

		if (o->type != HL_OPT_HEADING && !o->hidden && hl_cli_is_near(word, o->name, &best))
			near = o->name;
	}
	return near;
}

static int unknown_long(struct parser *p, const char *name, size_t len)
{
	const char *near;
	char word[48];

	(void)snprintf(word, sizeof(word), "%.*s", len < sizeof(word) ? (int)len : (int)sizeof(word), name);
	near = hl_cli_near(p->command, word);
	if (near)
		return hl_err_set(p->err, -EINVAL, "unknown option \"--%s\"; did you mean \"--%s\"?", word,
				  near);
	return hl_err_set(p->err, -EINVAL, "unknown option \"--%s\"; \"hotleaf help %s\" lists the options",
			  word, p->command->name);
}

/* Applies @option, with @text its value or NULL when the next argument is. */
static int apply(struct parser *p, const struct hl_option *option, const char *shown, const char *text)
{
	p->given->rows |= UINT64_C(1) << (option - p->command->options);
	if (option->type == HL_OPT_FLAG && !text) {
		*(bool *)((char *)p->config + option->offset) = true;
		return 0;
	}
	if (option->type != HL_OPT_FLAG && !text) {
		text = *p->next;
		if (!text)
			return hl_err_set(p->err, -EINVAL, "option \"%s\" needs a value: %s %s", shown, shown,
					  option->metavar);
		p->next++;
	}
	return hl_cli_value(option, shown, text, p->config, p->arena, p->err);
}

static int parse_long(struct parser *p, const char *name)
{
	const char *end = strchrnul(name, '=');
	size_t len = (size_t)(end - name);
	const struct hl_option *option = hl_cli_find(p->command, name, len);
	char shown[80];

	if (!option && len == 4 && memcmp(name, "help", 4) == 0)
		return HL_CLI_HELP;
	if (!option)
		return unknown_long(p, name, len);
	(void)snprintf(shown, sizeof(shown), "--%s", option->name);
	return apply(p, option, shown, *end ? end + 1 : NULL);
}

/* @word is what follows the dash: flags, the last of which may be an option with its value behind it. */
static int parse_short(struct parser *p, const char *word)
{
	for (const char *c = word; *c; c++) {
		const struct hl_option *option = find_short(p->command, *c);
		char shown[3] = { '-', *c, 0 };
		int r;

		if (!option && *c == 'h')
			return HL_CLI_HELP;
		if (!option)
			return hl_err_set(
				p->err, -EINVAL,
				"unknown option \"-%c\" in \"-%.40s\"; \"hotleaf help %s\" lists the options",
				*c, word, p->command->name);
		if (option->type != HL_OPT_FLAG)
			return apply(p, option, shown, c[1] ? c + 1 : NULL);
		r = apply(p, option, shown, NULL);
		if (r != 0)
			return r;
	}
	return 0;
}

static int add_operand(struct parser *p, char *word)
{
	if (!p->command->rest)
		return hl_err_set(p->err, -EINVAL,
				  "\"hotleaf %s\" takes no operands, but \"%.60s\" was given",
				  p->command->name, word);
	if (p->command->rest_max && p->n_rest == p->command->rest_max)
		return hl_err_set(p->err, -EINVAL,
				  "\"hotleaf %s\" takes at most %zu %s; \"%.60s\" is one too many",
				  p->command->name, p->command->rest_max, p->command->rest, word);
	p->rest[p->n_rest++] = word;
	return 0;
}

static int parse_all(struct parser *p)
{
	bool options = true;
	int r = 0;

	while (r == 0 && *p->next) {
		char *word = *p->next++;

		if (!options || word[0] != '-' || !word[1] ||
		    (p->command->rest_numbers && word[1] >= '0' && word[1] <= '9')) {
			r = add_operand(p, word);
			if (p->command->rest_is_command)
				options = false;
		} else if (strcmp(word, "--") == 0) {
			options = false;
			if (p->command->rest_dashes)
				r = add_operand(p, word);
		} else {
			r = word[1] == '-' ? parse_long(p, word + 2) : parse_short(p, word + 1);
		}
	}
	return r;
}

/* Given, and a flag that a file says no to is none. */
static bool is_on(const struct parser *p, const struct hl_option *o)
{
	if (!(p->given->rows & UINT64_C(1) << (o - p->command->options)))
		return false;
	return o->type != HL_OPT_FLAG || *(const bool *)((const char *)p->config + o->offset);
}

static bool is_given(const struct parser *p, const char *name, size_t len)
{
	const struct hl_option *option = hl_cli_find(p->command, name, len);

	if (!option)
		return p->command->rest && hl_starts_with(name, p->command->rest) && p->n_rest > 0;
	return is_on(p, option);
}

/* Adds to a sentence about @o where a file gives it. */
static int add_origin(struct parser *p, const struct hl_option *o, int code)
{
	const char *origin = p->given->origins[o - p->command->options];

	if (origin && p->err)
		(void)hl_err_prefix(p->err, code, "%s", origin);
	return code;
}

static int check_rejects(struct parser *p, const struct hl_option *o, const char *name, size_t len)
{
	const struct hl_option *other = hl_cli_find(p->command, name, len);

	if (!is_given(p, name, len))
		return 0;
	if (!other)
		return add_origin(p, o,
				  hl_err_set(p->err, -EINVAL,
					     "option \"--%s\" and %s \"%.60s\" exclude each other; leave one "
					     "of them out",
					     o->name, p->command->rest, p->rest[0]));
	(void)hl_err_set(p->err, -EINVAL,
			 "options \"--%s\" and \"--%s\" exclude each other; leave one of them out", o->name,
			 other->name);
	(void)add_origin(p, other, -EINVAL);
	return add_origin(p, o, -EINVAL);
}

static int check_needs(struct parser *p, const struct hl_option *o, const char *name, size_t len)
{
	if (is_given(p, name, len))
		return 0;
	if (!hl_cli_find(p->command, name, len))
		return hl_err_set(p->err, -EINVAL, "option \"--%s\" needs %s too; see \"hotleaf help %s\"",
				  o->name, p->command->rest, p->command->name);
	return add_origin(p, o,
			  hl_err_set(p->err, -EINVAL,
				     "option \"--%s\" needs option \"--%.*s\" too; give both, or neither",
				     o->name, (int)len, name));
}

/* Asks @check about each of @names, which are separated by commas. */
static int check_names(struct parser *p, const struct hl_option *o, const char *names,
		       int (*check)(struct parser *, const struct hl_option *, const char *, size_t))
{
	int r = 0;

	while (names && *names && r == 0) {
		size_t len = (size_t)(strchrnul(names, ',') - names);

		r = check(p, o, names, len);
		names += len + (names[len] == ',');
	}
	return r;
}

/* What stands beside what, and the defaults of what was not given. */
static int settle(struct parser *p)
{
	int r = 0;

	for (size_t i = 0; i < p->command->n_options && r == 0; i++) {
		const struct hl_option *o = &p->command->options[i];

		if (is_on(p, o)) {
			r = check_names(p, o, o->rejects, check_rejects);
			if (r == 0)
				r = check_names(p, o, o->needs, check_needs);
		} else if (o->default_text) {
			r = hl_cli_value(o, o->name, o->default_text, p->config, p->arena, p->err);
		}
	}
	return r;
}

/* The files that the command line names, or the default one. */
static int read_settings(struct parser *p)
{
	const struct hl_option *row = hl_cli_settings_row(p->command);
	struct hl_settings *settings;

	if (!row)
		return 0;
	settings = (void *)((char *)p->config + row->offset);
	settings->command = p->command;
	return hl_settings_read(settings, p->config, p->arena, p->given, p->err);
}

int hl_cli_parse(const struct hl_command *command, char **argv, void *config, struct hl_arena *arena,
		 char ***ret_rest, struct hl_err *err)
{
	struct parser p = { .command = command, .next = argv, .config = config, .arena = arena, .err = err };
	size_t n = 0;
	int r;

	while (argv[n])
		n++;
	p.rest = hl_arena_take(arena, (n + 1) * sizeof(*p.rest));
	p.given = hl_arena_take(arena, sizeof(*p.given));
	if (p.given)
		*p.given = (struct hl_given){ 0 };
	if (!p.rest || !p.given)
		return hl_err_set(err, -ENOMEM, "no memory for the arguments");
	r = parse_all(&p);
	if (r == 0)
		r = read_settings(&p);
	if (r == 0)
		r = settle(&p);
	if (r != 0)
		return r;
	p.rest[p.n_rest] = NULL;
	*ret_rest = p.rest;
	return 0;
}
