// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "command/outputs.h"
#include "command/recording.h"
#include "command/sorting.h"
#include "render/render.h"

struct record {
	struct hl_recording_options recording;
	const char *format;
	struct hl_words outputs;
	struct hl_words leaf, sort;
	bool pprof_insn;
};

static const char *const leaf_names[] = { "loop", "line", "insn", "function", NULL };

static const struct hl_option options[] = {
	HL_RECORDING_WHAT(struct record, "COMMAND"),
	HL_RECORDING_WHO(struct record),
	HL_RECORDING_SOCKETS(struct record),
	HL_HEADING("What is written"),
	{ "output", 'o', HL_STRINGS(struct record, outputs), .metavar = "FILE",
	  .help = "format by extension: .html .svg .folded .txt .pb.gz .speedscope.json; - is stdout; may be "
		  "given several "
		  "times" },
	{ "format", 'f', HL_STRING(struct record, format), .metavar = "FORMAT",
	  .help = "html, svg, folded, txt, pb.gz or speedscope, whatever the names of the files" },
	{ "leaf", 0, HL_WORDS(struct record, leaf), .choices = leaf_names, .default_text = "insn",
	  .metavar = "WHAT,…",
	  .help = "what stacks end in; several make tiers, as loop,line,insn: the innermost loop, in it the "
		  "source line, in it the instruction" },
	HL_SELECTION_BY(struct record, recording.by, "process"),
	HL_SORT_ROW(struct record, sort, NULL),
	{ "inlines", 0, HL_FLAG(struct record, recording.inlines),
	  .help = "inlined functions are frames of their own, by debug information, read when recording "
		  "ends" },
	{ "lines", 0, HL_FLAG(struct record, recording.lines),
	  .help = "functions are told apart by source file and line, by debug information" },
	HL_RECORDING_DEBUGINFOD(struct record),
	HL_RECORDING_SYNTAX(struct record),
	HL_RECORDING_HOST(struct record),
	{ "pprof-insn", 0, HL_FLAG(struct record, pprof_insn),
	  .help = "pb.gz: the instruction is the innermost line of its location" },
	HL_RECORDING_LIMITS(struct record),
	{ "debug-memory", 0, HL_UINT(struct record, recording.debug_mb), .min = 1, .max = 8192,
	  .default_text = "1024", .metavar = "MB",
	  .help = "--inlines, --lines: debug information of one file; files with more keep their names "
		  "only" },
};

static bool has_word(const struct hl_words *words, const char *word)
{
	for (size_t i = 0; i < words->n; i++)
		if (strcmp(words->items[i], word) == 0)
			return true;
	return false;
}

static int record_to(struct hl_outputs *outputs, struct record *config, const struct hl_sort *sort,
		     char **command, struct hl_err *err)
{
	const struct hl_render_options render = { .instruction_lines = config->pprof_insn,
						  .sorting = &sort->sorting };
	struct hl_recording *recording = NULL;
	struct hl_session_times times;
	int code;

	config->recording.elsewhere = hl_outputs_lie_elsewhere(outputs);
	if (sort->by.n) {
		config->recording.by = sort->by;
		config->recording.flat = true;
	}
	config->recording.detailed = hl_outputs_want_details(outputs);
	config->recording.no_instructions = !has_word(&config->leaf, "insn");
	config->recording.loops = has_word(&config->leaf, "loop");
	config->recording.line_tier = has_word(&config->leaf, "line");
	code = hl_recording_make(&config->recording, command, &recording, err);
	if (code)
		return code;
	times = hl_recording_times(recording);
	code = hl_outputs_write(outputs, hl_recording_profile(recording), hl_recording_detailed(recording),
				&render, times.start_ns, times.elapsed_ns, err);
	if (!code && hl_recording_on_terminal(recording))
		hl_outputs_print(outputs, stderr);
	hl_recording_free(recording);
	return code;
}

static int run_record(void *config, char **rest, struct hl_err *err)
{
	const struct record *c = config;
	struct hl_outputs *outputs;
	struct hl_sort sort;
	int code = hl_sort_parse(&c->sort, &sort, err);

	if (!code)
		code = hl_outputs_open(&c->outputs, c->format, &outputs, err);
	if (code)
		return code;
	code = hl_sort_check(&c->sort, outputs, err);
	if (!code)
		code = record_to(outputs, config, &sort, rest, err);
	hl_outputs_free(outputs);
	return code;
}

const struct hl_command hl_command_record = {
	.name = "record",
	.summary = "profile this host once and write flame graphs that end in instructions",
	.usage = "[OPTION…] [-- COMMAND [ARGUMENT…]]",
	.description =
		"Samples every CPU and writes what ran, from the process down to the instruction that was\n"
		"executing. Without -o, a page is written to the current directory, named by host, start "
		"and\n"
		"length. Ctrl-C ends early and still writes. A COMMAND that outlives -d is asked to end "
		"(SIGTERM).",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct record),
	.rest = "COMMAND",
	.rest_is_command = true,
	.run = run_record,
};
