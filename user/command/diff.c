// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/str.h"
#include "command/command.h"
#include "command/diff_rules.h"
#include "command/outputs.h"
#include "command/selection.h"
#include "command/source.h"
#include "profile/diff.h"
#include "profile/profile.h"
#include "render/render.h"

enum { EXIT_CROSSED = 3, EXIT_UNKNOWN = 4, MOST_RULES = 64 };
enum { LEAF_INSN, LEAF_FUNCTION };

struct diff {
	struct hl_source_options source;
	struct hl_words outputs, rules, by, where, exclude;
	const char *format;
	int normalize, leaf;
	uint32_t min_samples, top;
};

static const char *const normalize_names[] = { "samples", "time", NULL };
static const char *const leaf_names[] = { "insn", "function", NULL };

static const struct hl_option options[] = {
	HL_HEADING("What is compared"),
	{ "store", 0, HL_STRINGS(struct diff, source.stores), .metavar = "DIR",
	  .help = "where SINCE..UNTIL and build-id:HEX are read (default /var/lib/hotleaf); of several hosts "
		  "together" },
	{ "since", 0, HL_STRING(struct diff, source.since), .default_text = "-1h", .metavar = "TIME",
	  .help = "of a store without a range of its own, and of build-id:HEX" },
	{ "until", 0, HL_STRING(struct diff, source.until), .default_text = "now", .metavar = "TIME",
	  .help = "likewise" },
	{ "event", 'e', HL_STRING(struct diff, source.event), .metavar = "EVENT",
	  .help = "of stores with several; different ones are never compared" },
	HL_SELECTION_BY(struct diff, by, "service"),
	HL_SELECTION_ROWS(struct diff, where, exclude),
	{ "normalize", 0, HL_CHOICE(struct diff, normalize), .choices = normalize_names,
	  .default_text = "samples", .metavar = "WHAT",
	  .help = "shares of all samples, or CPUs that were busy with it" },
	{ "leaf", 0, HL_CHOICE(struct diff, leaf), .choices = leaf_names, .default_text = "insn",
	  .metavar = "WHAT", .help = "what stacks of stores end in" },
	HL_HEADING("What is written"),
	{ "output", 'o', HL_STRINGS(struct diff, outputs), .metavar = "FILE",
	  .help = "format by extension: .html .svg .folded .txt; - is stdout; may be given several times; "
		  "without it txt on stdout" },
	{ "format", 'f', HL_STRING(struct diff, format), .metavar = "FORMAT",
	  .help = "html, svg, folded or txt, whatever the names of the files" },
	{ "top", 0, HL_UINT(struct diff, top), .min = 1, .max = 100000, .default_text = "30", .metavar = "N",
	  .help = "rows of a table in txt" },
	HL_HEADING("What is judged"),
	{ "fail-on", 0, HL_STRINGS(struct diff, rules), .metavar = "RULE",
	  .help = "'symbol=NAME self>+10%', or total, <-10%, >+0.5points: status 3 if crossed beyond chance, "
		  "4 "
		  "if that cannot be said; may be given several times" },
	{ "min-samples", 0, HL_UINT(struct diff, min_samples), .max = UINT32_MAX, .default_text = "50",
	  .needs = "fail-on", .metavar = "N",
	  .help = "fewer of the symbol on both sides, and nothing can be said" },
};

static int parse_rules(const struct diff *c, struct hl_diff_rule *ret, struct hl_err *err)
{
	int code = 0;

	if (c->rules.n > MOST_RULES)
		return hl_usage(err, "at most %d rules can be given", MOST_RULES);
	for (size_t i = 0; i < c->rules.n && !code; i++)
		code = hl_diff_rule_parse(c->rules.items[i], &ret[i], err);
	return code;
}

/* Says of each rule what became of it, on stdout unless an output is there. */
static int judge(const struct diff *c, const struct hl_diff *diff, const struct hl_diff_rule *rules,
		 struct hl_err *err)
{
	const struct hl_diff_judge judge = { diff, c->min_samples, c->rules.n };
	_cleanup_str_ struct hl_str said = { 0 };
	bool crossed = false, unknown = false;

	for (size_t i = 0; i < c->rules.n; i++) {
		enum hl_verdict verdict = hl_diff_judge(&judge, &rules[i], &said);

		crossed |= verdict == HL_VERDICT_CROSSED;
		unknown |= verdict == HL_VERDICT_UNKNOWN;
	}
	if (hl_str_status(&said))
		return hl_err_set(err, -ENOMEM, "no memory for what became of the rules");
	if (said.len)
		(void)fputs(said.data, c->outputs.n ? stderr : stdout);
	return crossed ? EXIT_CROSSED : unknown ? EXIT_UNKNOWN : 0;
}

static int compare(struct diff *c, char **names, struct hl_outputs *outputs, const struct hl_diff_rule *rules,
		   struct hl_err *err)
{
	const struct hl_render_options render = { .top = c->top };
	_cleanup_(hl_selection_freep) struct hl_selection *selection = NULL;
	_cleanup_(hl_source_freep) struct hl_source *before = NULL, *after = NULL;
	_cleanup_(hl_diff_freep) struct hl_diff *diff = NULL;
	int code = hl_selection_new(&c->by, &c->where, &c->exclude, &selection, err);

	c->source.selection = selection;
	if (!code)
		code = hl_source_open(&c->source, names[0], &before, err);
	if (!code)
		code = hl_source_open(&c->source, names[1], &after, err);
	if (code == -ENODATA && c->rules.n)
		return EXIT_UNKNOWN;
	if (code)
		return code;
	code = hl_diff_new(hl_source_profile(before), hl_source_profile(after),
			   c->normalize ? HL_DIFF_BY_TIME : HL_DIFF_BY_SAMPLES, &diff, err);
	/* Nothing to compare is nothing to say. */
	if ((code == -EXDEV || code == -ENODATA) && c->rules.n)
		return EXIT_UNKNOWN;
	if (!code && outputs)
		code = hl_outputs_write_diff(outputs, diff, &render, err);
	return code ? code : judge(c, diff, rules, err);
}

static int run_diff(void *config, char **rest, struct hl_err *err)
{
	static const char *const standard[] = { "-" };
	struct diff *c = config;
	struct hl_diff_rule rules[MOST_RULES];
	const struct hl_words stdout_words = { .items = (const char **)standard, .n = 1 };
	struct hl_outputs *outputs = NULL;
	int code = parse_rules(c, rules, err);

	if (code)
		return code;
	if (!rest[0] || !rest[1])
		return hl_usage(err,
				"what is to be compared? give two of FILE.pb.gz, SINCE..UNTIL, a store's "
				"directory, build-id:HEX");
	(void)umask(027);
	if (c->outputs.n || !c->rules.n)
		code = hl_outputs_open_diff(c->outputs.n ? &c->outputs : &stdout_words,
					    !c->outputs.n && !c->format ? "txt" : c->format, &outputs, err);
	if (!code)
		code = compare(c, rest, outputs, rules, err);
	hl_outputs_free(outputs);
	return code;
}

const struct hl_command hl_command_diff = {
	.name = "diff",
	.summary = "compare two profiles, spans of time or builds, down to the instruction",
	.usage = "[OPTION…] BEFORE AFTER",
	.description =
		"Each of BEFORE and AFTER is a .pb.gz file that record or report wrote; SINCE..UNTIL, times "
		"as "
		"of\n"
		"report, of the stores given by --store; the directory of a store, from --since to --until; "
		"or\n"
		"build-id:HEX, the samples of the stores that are in that build of a program or library.\n"
		"What changed by no more than chance makes it is told apart. Instructions of two builds are "
		"the\n"
		"same if function, offset and text are. Two events are never compared.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct diff),
	.rest = "BEFORE AFTER",
	.rest_max = 2,
	.rest_numbers = true,
	.run = run_diff,
};
