// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "command/command.h"
#include "command/outputs.h"
#include "command/selection.h"
#include "command/store_options.h"
#include "command/stored.h"
#include "command/when.h"
#include "profile/profile.h"
#include "render/render.h"
#include "store/reading.h"

enum { LEAF_INSN, LEAF_FUNCTION };

struct report {
	struct hl_settings settings;
	struct hl_words stores, outputs, by, where, exclude;
	const char *since, *until, *event, *format;
	int leaf;
	bool pprof_insn;
};

static const char *const leaf_names[] = { "insn", "function", NULL };

static const struct hl_option options[] = {
	HL_HEADING("What is shown"),
	{ "store", 0, HL_STRINGS(struct report, stores), .metavar = "DIR",
	  .help = "where an agent writes (default /var/lib/hotleaf); of several hosts, one report" },
	{ "since", 0, HL_STRING(struct report, since), .default_text = "-1h", .metavar = "TIME",
	  .help = "2026-11-30T12:00:00Z, 2026-11-30, today, yesterday, or a time ago" },
	{ "until", 0, HL_STRING(struct report, until), .default_text = "now", .metavar = "TIME",
	  .help = "likewise; a window counts where it starts" },
	{ "event", 'e', HL_STRING(struct report, event), .metavar = "EVENT",
	  .help = "where several were sampled; without it the one with most samples" },
	HL_SELECTION_BY(struct report, by, "service"),
	HL_SELECTION_ROWS(struct report, where, exclude),
	HL_SETTINGS_ROW(struct report, settings),
	HL_HEADING("What is written"),
	{ "output", 'o', HL_STRINGS(struct report, outputs), .metavar = "FILE",
	  .help = "format by extension: .html .svg .folded .txt .pb.gz .speedscope.json; - is stdout; DIR/ "
		  "names the file "
		  "itself; may be given several times" },
	{ "format", 'f', HL_STRING(struct report, format), .metavar = "FORMAT",
	  .help = "html, svg, folded, txt, pb.gz or speedscope, whatever the names of the files" },
	{ "leaf", 0, HL_CHOICE(struct report, leaf), .choices = leaf_names, .default_text = "insn",
	  .metavar = "WHAT", .help = "what stacks end in" },
	{ "pprof-insn", 0, HL_FLAG(struct report, pprof_insn),
	  .help = "pb.gz: the instruction is the innermost line of its location" },
};

static int parse_range(const struct report *c, struct hl_store_query *query, struct hl_err *err)
{
	uint64_t now_ns = hl_realtime_ns();

	if (hl_when_parse(c->since, now_ns, &query->since_ns, err) ||
	    hl_when_parse(c->until, now_ns, &query->until_ns, err))
		return HL_EXIT_USAGE;
	if (query->since_ns >= query->until_ns)
		return hl_usage(err, "\"--since %s\" is not before \"--until %s\"", c->since, c->until);
	if (query->since_ns >= now_ns)
		return hl_usage(err, "\"--since %s\" is still to come", c->since);
	return 0;
}

static int read_stores(const struct report *c, struct hl_reading *reading, struct hl_err *err)
{
	int code = 0;

	if (!c->stores.n)
		code = hl_reading_add(reading, HL_STORE_DIR, err);
	for (size_t i = 0; i < c->stores.n && !code; i++)
		code = hl_reading_add(reading, c->stores.items[i], err);
	return code ? code : hl_reading_finish(reading, err);
}

static int report_to(struct hl_outputs *outputs, const struct report *c, const struct hl_store_query *query,
		     struct hl_err *err)
{
	const struct hl_render_options render = { .instruction_lines = c->pprof_insn };
	_cleanup_(hl_reading_freep) struct hl_reading *reading = hl_reading_new(query);
	const struct hl_profile_meta *meta;
	int code;

	if (!reading)
		return hl_err_set(err, -ENOMEM, "no memory for the report");
	code = read_stores(c, reading, err);
	if (code)
		return code;
	meta = hl_profile_meta(hl_reading_profile(reading));
	code = hl_outputs_write(outputs, hl_reading_profile(reading), &render, meta->start_ns,
				meta->end_ns - meta->start_ns, err);
	return code ? code : hl_outputs_name_latest(outputs, err);
}

static int run_report(void *config, char **rest, struct hl_err *err)
{
	const struct report *c = config;
	struct hl_store_query query = { .event = c->event, .functions = c->leaf == LEAF_FUNCTION };
	_cleanup_(hl_selection_freep) struct hl_selection *selection = NULL;
	struct hl_outputs *outputs;
	int code = parse_range(c, &query, err);

	if (!code)
		code = hl_selection_new(&c->by, &c->where, &c->exclude, &selection, err);
	if (code)
		return code;
	query.root = hl_stored_root;
	query.root_ctx = selection;
	query.some = !hl_selection_is_all(selection);
	query.pids = hl_selection_needs_pid(selection);
	(void)umask(027);
	code = hl_outputs_open(&c->outputs, c->format, &outputs, err);
	if (code)
		return code;
	code = report_to(outputs, c, &query, err);
	if (!code && isatty(STDERR_FILENO))
		hl_outputs_print(outputs, stderr);
	hl_outputs_free(outputs);
	return code;
}

const struct hl_command hl_command_report = {
	.name = "report",
	.summary = "make a page of any span of time from what an agent keeps",
	.usage = "[OPTION…]",
	.description =
		"Reads the store of `hotleaf agent`, also while it writes, and writes what ran in a span of "
		"time;\n"
		"the head of it says which windows are missing. Without -o, a page is written to the "
		"current\n"
		"directory, named by host, start and length, and latest.html becomes that page. Silent on "
		"success.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct report),
	.run = run_report,
};
