// SPDX-License-Identifier: BSD-2-Clause
#include "command/selection.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "command/identity.h"

enum { LABEL = HL_BY_KEYS }; /* of a condition: the key is a label's */

struct condition {
	unsigned int key;
	const char *label;
	const char *value; /* NULL: by the expression */
	regex_t regex;
};

struct conditions {
	struct condition *items;
	size_t n;
};

struct hl_selection {
	unsigned int *by;
	size_t n_by;
	bool flat; /* each key has one frame */
	struct conditions where, exclude;
	char *texts; /* that labels and values point into */
};

static void free_conditions(struct conditions *conditions)
{
	for (size_t i = 0; i < conditions->n; i++)
		if (!conditions->items[i].value)
			regfree(&conditions->items[i].regex);
	free(conditions->items);
}

void hl_selection_free(struct hl_selection *selection)
{
	if (!selection)
		return;
	free_conditions(&selection->where);
	free_conditions(&selection->exclude);
	free(selection->by);
	free(selection->texts);
	free(selection);
}

/* ---- from options ---------------------------------------------------------------------------------------- */

static int find_key(const char *name, size_t len, const char *option, unsigned int *ret, struct hl_err *err)
{
	_cleanup_str_ struct hl_str all = { 0 };

	for (unsigned int key = 0; key < HL_BY_KEYS; key++) {
		if (strlen(hl_identity_names[key]) == len && memcmp(hl_identity_names[key], name, len) == 0) {
			*ret = key;
			return 0;
		}
		hl_str_addf(&all, "%s%s", key ? ", " : "", hl_identity_names[key]);
	}
	if (len == 3 && memcmp(name, "cpu", 3) == 0)
		return hl_usage(err,
				"option \"--%s\" cannot tell CPUs apart: samples of all of them are "
				"counted together",
				option);
	return hl_usage(err, "\"%.*s\" of option \"--%s\" is unknown; there are: %s%s",
			(int)(len < 40 ? len : 40), name, option, all.data ? all.data : "",
			strcmp(option, "by") == 0 ? "" : ", label.NAME");
}

static int parse_by(const struct hl_words *by, struct hl_selection *selection, struct hl_err *err)
{
	int code = 0;

	selection->by = calloc(by->n + 1, sizeof(*selection->by));
	if (!selection->by)
		return -ENOMEM;
	if (!by->n)
		selection->by[selection->n_by++] = HL_BY_PROCESS;
	for (size_t i = 0; i < by->n && !code; i++)
		code = find_key(by->items[i], strlen(by->items[i]), "by", &selection->by[selection->n_by++],
				err);
	return code;
}

/* @text is the selection's own copy. */
static int parse_condition(char *text, const char *option, struct condition *ret, struct hl_err *err)
{
	static const char label[] = "label.";
	char *equals = strchr(text, '=');
	char reason[160];
	int code = 0;

	if (!equals)
		return hl_usage(err,
				"\"%s\" of option \"--%s\" is no condition; give KEY=VALUE or KEY=~REGEX",
				text, option);
	*ret = (struct condition){ .key = LABEL };
	if (hl_starts_with(text, label) && equals > text + strlen(label))
		ret->label = text + strlen(label);
	else
		code = find_key(text, (size_t)(equals - text), option, &ret->key, err);
	*equals = '\0';
	if (code || equals[1] != '~') {
		ret->value = equals + 1;
		return code;
	}
	code = regcomp(&ret->regex, equals + 2, REG_EXTENDED | REG_NOSUB);
	if (!code)
		return 0;
	(void)regerror(code, &ret->regex, reason, sizeof(reason));
	ret->value = "";
	return hl_usage(err, "\"%s\" of option \"--%s\" is no regular expression: %s", equals + 2, option,
			reason);
}

static int parse_conditions(const struct hl_words *words, const char *option, char **text,
			    struct conditions *ret, struct hl_err *err)
{
	int code = 0;

	ret->items = calloc(words->n + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < words->n && !code; i++) {
		char *own = *text;

		*text = stpcpy(own, words->items[i]) + 1;
		code = parse_condition(own, option, &ret->items[i], err);
		if (!code)
			ret->n++;
	}
	return code;
}

static size_t length_of(const struct hl_words *words)
{
	size_t len = 0;

	for (size_t i = 0; i < words->n; i++)
		len += strlen(words->items[i]) + 1;
	return len;
}

int hl_selection_new(const struct hl_words *by, const struct hl_words *where, const struct hl_words *exclude,
		     struct hl_selection **ret, struct hl_err *err)
{
	_cleanup_(hl_selection_freep) struct hl_selection *selection = calloc(1, sizeof(*selection));
	char *text;
	int code;

	if (!selection)
		return hl_err_set(err, -ENOMEM, "no memory for options");
	text = selection->texts = malloc(length_of(where) + length_of(exclude) + 1);
	code = text ? parse_by(by, selection, err) : -ENOMEM;
	if (!code)
		code = parse_conditions(where, "where", &text, &selection->where, err);
	if (!code)
		code = parse_conditions(exclude, "exclude", &text, &selection->exclude, err);
	if (code < 0)
		return hl_err_set(err, code, "no memory for options");
	if (code)
		return code;
	*ret = TAKE_PTR(selection);
	return 0;
}

void hl_selection_flatten(struct hl_selection *selection)
{
	selection->flat = true;
}

/* ---- over samples ----------------------------------------------------------------------------------------- */

static bool follows_from_cgroup(unsigned int key)
{
	return key == LABEL || key == HL_BY_SERVICE || (key >= HL_BY_CONTAINER && key <= HL_BY_UNIT);
}

static bool holds(const struct condition *condition, const struct hl_identity *identity)
{
	const char *value = condition->label ? hl_identity_label(identity, condition->label)
					     : identity->value[condition->key];

	/* What is not known is nobody's, and not nothing either. */
	if (!value && identity->cgroup_unknown && follows_from_cgroup(condition->key))
		return false;
	if (condition->value)
		return strcmp(value ? value : "", condition->value) == 0;
	return value && regexec(&condition->regex, value, 0, NULL, 0) == 0;
}

enum hl_selected hl_selection_check(const struct hl_selection *selection, const struct hl_identity *identity)
{
	for (size_t i = 0; i < selection->where.n; i++)
		if (!holds(&selection->where.items[i], identity))
			return HL_SELECTED_NOT;
	for (size_t i = 0; i < selection->exclude.n; i++)
		if (holds(&selection->exclude.items[i], identity))
			return HL_SELECTED_EXCLUDED;
	return HL_SELECTED;
}

bool hl_selection_is_all(const struct hl_selection *selection)
{
	return !selection || (!selection->where.n && !selection->exclude.n);
}

static bool needs_proc(unsigned int key)
{
	return key == HL_BY_EXE || follows_from_cgroup(key);
}

static bool is_pid(unsigned int key)
{
	return key == HL_BY_PID;
}

/* Whether @is holds of a key that frames or conditions follow from. */
static bool needs(const struct hl_selection *selection, bool (*is)(unsigned int key))
{
	bool any = false;

	for (size_t i = 0; i < selection->n_by; i++)
		any |= is(selection->by[i]);
	for (size_t i = 0; i < selection->where.n; i++)
		any |= is(selection->where.items[i].key);
	for (size_t i = 0; i < selection->exclude.n; i++)
		any |= is(selection->exclude.items[i].key);
	return any;
}

bool hl_selection_needs_proc(const struct hl_selection *selection)
{
	return needs(selection, needs_proc);
}

bool hl_selection_needs_pid(const struct hl_selection *selection)
{
	return needs(selection, is_pid);
}

/* The frame of one key. */
static void name_root(const struct hl_identity *identity, unsigned int key, struct hl_str *out)
{
	const char *value = identity->value[key];

	if (value && *value)
		hl_str_add_unmarked(out, value, strlen(value));
	else if (identity->cgroup_unknown && follows_from_cgroup(key))
		hl_str_addf(out, "[unknown %s]", hl_identity_names[key]);
	else
		hl_str_addf(out, "[no %s]", hl_identity_names[key]);
}

/* Of what runs in no process: where it stands, it is the same in every respect that only processes have. */
static const char *mark_of(uint8_t kind)
{
	return kind == HL_IDENTITY_IDLE ? "[idle task]" : "[kernel threads]";
}

static int push_flat(const struct hl_selection *selection, const struct hl_identity *identity,
		     int (*push)(void *ctx, const char *name, size_t len), void *ctx)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int code = 0;

	for (size_t i = 0; i < selection->n_by && !code; i++) {
		unsigned int key = selection->by[i];

		hl_str_clear(&text);
		if (identity->kind == HL_IDENTITY_PROCESS || identity->value[key])
			name_root(identity, key, &text);
		else
			hl_str_adds(&text, mark_of(identity->kind));
		code = hl_str_status(&text) ? -ENOMEM : push(ctx, text.data, text.len);
	}
	return code;
}

static bool is_of_host(unsigned int key)
{
	return key == HL_BY_HOST || key == HL_BY_EVENT;
}

int hl_selection_roots(const struct hl_selection *selection, const struct hl_identity *identity,
		       int (*push)(void *ctx, const char *name, size_t len), void *ctx)
{
	static const unsigned int process = HL_BY_PROCESS;
	const unsigned int *by = selection ? selection->by : &process;
	size_t n = selection ? selection->n_by : 1;
	_cleanup_str_ struct hl_str text = { 0 };
	bool marked = identity->kind == HL_IDENTITY_PROCESS;
	int code = 0;

	if (selection && selection->flat)
		return push_flat(selection, identity, push, ctx);
	for (size_t i = 0; i < n && !code; i++) {
		unsigned int key = by[i];

		if (!marked && !is_of_host(key)) {
			code = push(ctx, mark_of(identity->kind), strlen(mark_of(identity->kind)));
			marked = true;
		}
		if (code || (identity->kind != HL_IDENTITY_PROCESS && !identity->value[key]))
			continue;
		hl_str_clear(&text);
		name_root(identity, key, &text);
		code = hl_str_status(&text) ? -ENOMEM : push(ctx, text.data, text.len);
	}
	if (!code && !marked)
		code = push(ctx, mark_of(identity->kind), strlen(mark_of(identity->kind)));
	return code;
}
