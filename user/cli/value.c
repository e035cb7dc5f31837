// SPDX-License-Identifier: BSD-2-Clause
/* From the text of a value to the field of the config. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/parse.h"

/* A value on its way in: which option, as the user wrote it, and the text. */
struct value {
	const struct hl_option *option;
	const char *shown;
	const char *text;
	struct hl_arena *arena;
	struct hl_err *err;
};

static int out_of_memory(const struct value *v)
{
	return hl_err_set(v->err, -ENOMEM, "no memory for the values of option \"%s\"", v->shown);
}

/* Seconds as short as they can be written: 10, 0.1, 86400. */
static void print_seconds(char *buf, size_t size, uint64_t ns)
{
	int digits = 9;
	uint64_t part = ns % HL_SECOND_NS;

	if (!part) {
		(void)snprintf(buf, size, "%" PRIu64, ns / HL_SECOND_NS);
		return;
	}
	for (; part % 10 == 0; part /= 10)
		digits--;
	(void)snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, ns / HL_SECOND_NS, digits, part);
}

/* Bytes in the largest unit that leaves them whole: 4G, 1536M, 1000. */
static void print_bytes(char *buf, size_t size, uint64_t bytes)
{
	static const char units[] = "\0KMGTP";
	int unit = 0;

	for (; bytes && bytes % 1024 == 0 && unit < 5; bytes /= 1024)
		unit++;
	(void)snprintf(buf, size, "%" PRIu64 "%.1s", bytes, &units[unit]);
}

void hl_cli_describe(const struct hl_option *option, char *buf, size_t size)
{
	char low[40], high[40];

	if (option->type == HL_OPT_SECONDS) {
		print_seconds(low, sizeof(low), option->min);
		print_seconds(high, sizeof(high), option->max);
		(void)snprintf(buf, size, "seconds from %s to %s, or a time like 90s, 5m, 1h", low, high);
	} else if (option->type == HL_OPT_BYTES) {
		print_bytes(low, sizeof(low), option->min);
		print_bytes(high, sizeof(high), option->max);
		(void)snprintf(buf, size, "bytes from %s to %s, as 500M or 4G", low, high);
	} else if (option->type == HL_OPT_PERCENT) {
		(void)snprintf(buf, size, "percent from %.15g to %.15g",
			       (double)option->min / (double)HL_ONE_PERCENT,
			       (double)option->max / (double)HL_ONE_PERCENT);
	} else {
		(void)snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, option->min,
			       option->max);
	}
}

/* The first @len bytes of @text are no value of the option; says what would be. */
static int refuse(const struct value *v, const char *text, size_t len, const char *why)
{
	char bounds[120];

	hl_cli_describe(v->option, bounds, sizeof(bounds));
	return hl_err_set(v->err, -EINVAL, "value \"%.*s\" of option \"%s\" %s; give %s",
			  len > 60 ? 60 : (int)len, text, v->shown, why, bounds);
}

/* Digits of @text up to @end. False when there are none, others, or too many for 64 bits. */
static bool scan_digits(const char *text, const char *end, uint64_t *ret)
{
	uint64_t n = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			n = UINT64_MAX; /* out of any range, and stays there */
	}
	*ret = n;
	return true;
}

static int parse_number(const struct value *v, const char *text, const char *end, uint32_t *ret)
{
	uint64_t n;

	if (!scan_digits(text, end, &n))
		return refuse(v, text, (size_t)(end - text), "is not a whole number");
	if (n < v->option->min || n > v->option->max || n > UINT32_MAX)
		return refuse(v, text, (size_t)(end - text), "is out of range");
	*ret = (uint32_t)n;
	return 0;
}

/* The nanoseconds in one unit of the suffix, 0 if it is none. */
static uint64_t unit_of(char suffix)
{
	switch (suffix) {
	case 's':
		return HL_SECOND_NS;
	case 'm':
		return 60 * HL_SECOND_NS;
	case 'h':
		return 3600 * HL_SECOND_NS;
	case 'd':
		return 86400 * HL_SECOND_NS;
	default:
		return 0;
	}
}

static uint64_t percent_of(char suffix)
{
	return suffix == '%' ? HL_ONE_PERCENT : 0;
}

/* The bytes in one unit of the suffix, 0 if it is none. */
static uint64_t bytes_of(char suffix)
{
	static const char units[] = "KMGTP";
	const char *at = suffix ? strchr(units, suffix == 'k' ? 'K' : suffix) : NULL;

	return at ? UINT64_C(1024) << 10 * (at - units) : 0;
}

/* The digits behind the dot as a part of @unit; those beyond the ninth are dropped. False if there are none. */
static bool scan_fraction(const char *at, const char *end, uint64_t unit, uint64_t *ret)
{
	uint64_t part = 0, scale = 1;

	if (at == end)
		return false;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9')
			return false;
		if (scale == UINT64_C(1000000000))
			continue;
		part = part * 10 + (uint64_t)(*at - '0');
		scale *= 10;
	}
	*ret = (uint64_t)((unsigned __int128)unit * part / scale);
	return true;
}

/* A number with a fraction and a unit; without one it is in @unit. @what is said of what is none. */
static int parse_scaled(const struct value *v, uint64_t unit, uint64_t (*scale)(char), const char *what,
			uint64_t *ret)
{
	const char *end = v->text + strlen(v->text), *dot;
	uint64_t whole = 0, part = 0, sum;

	if (end > v->text && scale(end[-1]))
		unit = scale(*--end);
	dot = memchr(v->text, '.', (size_t)(end - v->text));
	if (!scan_digits(v->text, dot ? dot : end, &whole) ||
	    (dot && !scan_fraction(dot + 1, end, unit, &part)))
		return refuse(v, v->text, strlen(v->text), what);
	if (__builtin_mul_overflow(whole, unit, &sum) || __builtin_add_overflow(sum, part, &sum) ||
	    sum < v->option->min || sum > v->option->max)
		return refuse(v, v->text, strlen(v->text), "is out of range");
	*ret = sum;
	return 0;
}

/* Finds @text of @len bytes among the choices. */
static int parse_choice(const struct value *v, const char *text, size_t len, int *ret)
{
	char all[240] = "", word[48];
	const char *near = NULL;
	unsigned int best = 100;
	size_t used = 0;

	(void)snprintf(word, sizeof(word), "%.*s", len < sizeof(word) ? (int)len : (int)sizeof(word), text);
	for (int i = 0; v->option->choices[i]; i++) {
		const char *choice = v->option->choices[i];

		if (strlen(choice) == len && memcmp(choice, text, len) == 0) {
			*ret = i;
			return 0;
		}
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
						 choice);
		if (hl_cli_is_near(word, choice, &best))
			near = choice;
	}
	if (near)
		return hl_err_set(
			v->err, -EINVAL,
			"value \"%s\" of option \"%s\" is unknown; did you mean \"%s\"? there are: %s", word,
			v->shown, near, all);
	return hl_err_set(v->err, -EINVAL, "value \"%s\" of option \"%s\" is unknown; give one of: %s", word,
			  v->shown, all);
}

static size_t count_elements(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == ',';
	return n;
}

/* Room for @more elements of @size bytes behind the @n at *@items, which move. */
static int extend(const struct value *v, void *items, size_t n, size_t more, size_t size)
{
	void **place = items, *bigger = hl_arena_take(v->arena, (n + more) * size);

	if (!bigger)
		return out_of_memory(v);
	if (n)
		memcpy(bigger, *place, n * size);
	*place = bigger;
	return 0;
}

static int parse_numbers(const struct value *v, struct hl_numbers *list)
{
	int r = extend(v, &list->items, list->n, count_elements(v->text), sizeof(*list->items));

	for (const char *p = v->text, *end; r == 0; p = end + 1) {
		end = strchrnul(p, ',');
		r = parse_number(v, p, end, &list->items[list->n]);
		if (r == 0)
			list->n++;
		if (!*end)
			break;
	}
	return r;
}

static int parse_words(const struct value *v, struct hl_words *list)
{
	int r = extend(v, &list->items, list->n, count_elements(v->text), sizeof(*list->items)), index;

	for (const char *p = v->text, *end; r == 0; p = end + 1) {
		end = strchrnul(p, ',');
		if (p == end)
			return hl_err_set(v->err, -EINVAL,
					  "value \"%s\" of option \"%s\" has an empty element; "
					  "give %s as words with a comma between them",
					  v->text, v->shown, v->option->metavar);
		if (v->option->choices)
			r = parse_choice(v, p, (size_t)(end - p), &index);
		if (r == 0) {
			list->items[list->n] = hl_arena_copy(v->arena, p, (size_t)(end - p));
			if (!list->items[list->n++])
				return out_of_memory(v);
		}
		if (!*end)
			break;
	}
	return r;
}

static int parse_string(const struct value *v, const char **ret)
{
	if (!*v->text)
		return hl_err_set(v->err, -EINVAL, "value of option \"%s\" is empty; give %s", v->shown,
				  v->option->metavar);
	*ret = v->text;
	return 0;
}

static int parse_strings(const struct value *v, struct hl_words *list)
{
	int r = extend(v, &list->items, list->n, 1, sizeof(*list->items));

	if (r == 0)
		r = parse_string(v, &list->items[list->n]);
	if (r == 0)
		list->n++;
	return r;
}

static int parse_flag(const struct value *v, bool *ret)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1", NULL };

	for (int i = 0; words[i]; i++)
		if (strcasecmp(v->text, words[i]) == 0) {
			*ret = i & 1;
			return 0;
		}
	return hl_err_set(v->err, -EINVAL, "value \"%.60s\" of option \"%s\" is neither yes nor no", v->text,
			  v->shown);
}

int hl_cli_value(const struct hl_option *option, const char *shown, const char *text, void *config,
		 struct hl_arena *arena, struct hl_err *err)
{
	struct value v = { .option = option, .shown = shown, .text = text, .arena = arena, .err = err };
	void *field = (char *)config + option->offset;

	switch (option->type) {
	case HL_OPT_UINT:
		return parse_number(&v, text, text + strlen(text), field);
	case HL_OPT_SECONDS:
		return parse_scaled(&v, HL_SECOND_NS, unit_of, "is not a time", field);
	case HL_OPT_BYTES:
		return parse_scaled(&v, 1, bytes_of, "is not a number of bytes", field);
	case HL_OPT_PERCENT:
		return parse_scaled(&v, HL_ONE_PERCENT, percent_of, "is not a number", field);
	case HL_OPT_STRING:
		return parse_string(&v, field);
	case HL_OPT_CHOICE:
		return parse_choice(&v, text, strlen(text), field);
	case HL_OPT_STRINGS:
		return parse_strings(&v, field);
	case HL_OPT_WORDS:
		return parse_words(&v, field);
	case HL_OPT_NUMBERS:
		return parse_numbers(&v, field);
	case HL_OPT_FLAG:
		return parse_flag(&v, field);
	case HL_OPT_SETTINGS:
		return parse_string(&v, &((struct hl_settings *)field)->file);
	case HL_OPT_HEADING:
		break;
	}
	return hl_err_set(err, -EINVAL, "option \"%s\" takes no value, but \"%s\" was given", shown, text);
}
