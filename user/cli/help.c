// SPDX-License-Identifier: BSD-2-Clause
/* Help text out of the rows. */
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

enum { HELP_COLUMN = 30, WIDTH = 100 };

/* Columns on a terminal: the bytes that do not continue a UTF-8 sequence. */
static size_t columns(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Prints @text from column @at on, wrapped between words, further lines indented to @indent. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t len = strcspn(text, " \n"), width = columns(text, len);

		if (at > indent && at + 1 + width > WIDTH) {
			(void)fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			(void)fputc(' ', out);
			at++;
		}
		(void)fwrite(text, 1, len, out);
		at += width;
		text += len;
		if (*text == '\n') {
			(void)fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		text += *text != 0;
	}
	(void)fputc('\n', out);
}

/* The choices, default and range behind an option's sentence. */
static void describe(const struct hl_option *o, struct hl_str *s)
{
	hl_str_adds(s, o->help);
	for (size_t i = 0; o->choices && o->choices[i]; i++)
		hl_str_addf(s, "%s%s", i ? ", " : ": ", o->choices[i]);
	if (o->default_text)
		hl_str_addf(s, " (default %s)", o->default_text);
}

static void print_option(FILE *out, const struct hl_option *o)
{
	_cleanup_str_ struct hl_str left = { 0 };
	_cleanup_str_ struct hl_str right = { 0 };
	size_t width;

	if (o->hidden)
		return;
	if (o->type == HL_OPT_HEADING) {
		(void)fprintf(out, "\n%s:\n", o->name);
		return;
	}
	if (o->letter)
		hl_str_addf(&left, "  -%c, --%s", o->letter, o->name);
	else
		hl_str_addf(&left, "      --%s", o->name);
	if (o->metavar)
		hl_str_addf(&left, " %s", o->metavar);
	describe(o, &right);
	if (hl_str_status(&left) != 0 || hl_str_status(&right) != 0)
		return;
	(void)fputs(left.data, out);
	width = columns(left.data, left.len);
	if (width + 2 > HELP_COLUMN) {
		(void)fputc('\n', out);
		width = 0;
	}
	(void)fprintf(out, "%*s", (int)(HELP_COLUMN - width), "");
	print_wrapped(out, right.data, HELP_COLUMN, HELP_COLUMN);
}

void hl_help_command(const struct hl_command *command, FILE *out)
{
	static const struct hl_option help = {
		.name = "help", .letter = 'h', .type = HL_OPT_FLAG, .help = "this text"
	};
	bool headed = command->n_options > 0 && command->options[0].type == HL_OPT_HEADING;

	(void)fprintf(out, "usage: hotleaf %s%s%s\n\n", command->name,
		      command->usage && *command->usage ? " " : "", command->usage ? command->usage : "");
	print_wrapped(out, command->description ? command->description : command->summary, 0, 0);
	if (!headed)
		(void)fputs("\nOptions:\n", out);
	for (size_t i = 0; i < command->n_options; i++)
		print_option(out, &command->options[i]);
	if (headed)
		(void)fputc('\n', out);
	print_option(out, &help);
}

void hl_help_overview(const struct hl_command *const *commands, FILE *out)
{
	(void)fputs(
		"usage: hotleaf COMMAND [OPTION…]\n\n"
		"Profiles every process, container and the kernel of this host; the flame graphs end in the\n"
		"machine instruction that was executing.\n\nCommands:\n",
		out);
	for (; *commands; commands++)
		if (!(*commands)->hidden)
			(void)fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->summary);
	(void)fputs("\n\"hotleaf help COMMAND\" describes one of them; \"hotleaf help REASON\" explains a "
		    "loss or a mark\n"
		    "in an output, and \"hotleaf help reasons\" lists those.\n",
		    out);
}

void hl_help_text(const char *text, size_t indent, FILE *out)
{
	(void)fprintf(out, "%*s", (int)indent, "");
	print_wrapped(out, text, indent, indent);
}
