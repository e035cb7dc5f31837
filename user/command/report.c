// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/command.h"
#include "command/mail.h"
#include "command/outputs.h"
#include "command/reports.h"
#include "command/selection.h"
#include "command/series.h"
#include "command/sorting.h"
#include "command/spikes.h"
#include "command/stored.h"
#include "command/stores.h"
#include "command/when.h"
#include "profile/profile.h"
#include "render/render.h"
#include "store/reading.h"

enum { LEAF_INSN, LEAF_FUNCTION };
enum { MAIL_SPIKES = 5, SPIKE_PIECES = 360, SPIKE_COLUMNS = 160 };

struct report {
	struct hl_settings settings;
	struct hl_words stores, outputs, by, where, exclude, sort;
	const char *since, *until, *event, *format;
	int leaf;
	bool pprof_insn;
	struct hl_folder_limits limits;
	bool mail, if_changed;
	const char *mail_to;
	uint32_t spikes;
};

static const char *const leaf_names[] = { "insn", "function", NULL };

static const struct hl_option options[] = {
	HL_HEADING("What is shown"),
	{ "store", 0, HL_STRINGS(struct report, stores), .metavar = "DIR",
	  .help = "where an agent writes (default /var/lib/hotleaf); of several hosts, or '/srv/stores/*', "
		  "one report" },
	{ "since", 0, HL_STRING(struct report, since), .default_text = "-1h", .metavar = "TIME",
	  .help = "2026-11-30T12:00:00Z, 2026-11-30, today, yesterday, this-hour, last-hour, or a time ago" },
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
		  "names the file itself; may be given several times" },
	{ "format", 'f', HL_STRING(struct report, format), .metavar = "FORMAT",
	  .help = "html, svg, folded, txt, pb.gz or speedscope, whatever the names of the files" },
	{ "leaf", 0, HL_CHOICE(struct report, leaf), .choices = leaf_names, .default_text = "insn",
	  .metavar = "WHAT", .help = "what stacks end in" },
	HL_SORT_ROW(struct report, sort, "mail,spikes"),
	{ "pprof-insn", 0, HL_FLAG(struct report, pprof_insn),
	  .help = "pb.gz: the instruction is the innermost line of its location" },
	{ "spikes", 0, HL_UINT(struct report, spikes), .min = 1, .max = 1000, .rejects = "output,format",
	  .metavar = "N",
	  .help = "on stdout, the N pieces of time that stand out, by CPU use or what one function had" },
	HL_HEADING("What is mailed"),
	{ "mail", 0, HL_FLAG(struct report, mail), .rejects = "output,format",
	  .help = "a message for sendmail on stdout: what changed since the span before, top, spikes, the "
		  "page" },
	{ "mail-to", 0, HL_STRING(struct report, mail_to), .needs = "mail", .metavar = "ADDRESS",
	  .help = "for sendmail -t" },
	{ "if-changed", 0, HL_FLAG(struct report, if_changed), .needs = "mail",
	  .help = "nothing, unless something changed beyond noise, is missing, or was lost" },
	HL_HEADING("What is kept in a folder, -o DIR/"),
	{ "keep-age", 0, HL_SECONDS(struct report, limits.max_age_ns), .min = HL_SECOND_NS,
	  .max = 36500 * (86400 * HL_SECOND_NS), .metavar = "SECONDS",
	  .help = "reports of spans that ended longer ago are removed; 7d, 12h" },
	{ "keep-count", 0, HL_UINT(struct report, limits.max_count), .min = 1, .max = UINT32_MAX,
	  .metavar = "N", .help = "beyond it the oldest are" },
	{ "keep-bytes", 0, HL_BYTES(struct report, limits.max_bytes), .min = 1, .max = UINT64_C(1) << 50,
	  .metavar = "BYTES", .help = "likewise, of all their files; 200M" },
};

/* A page on nothing tells nobody that a condition is misspelt. */
static int check_any(const struct hl_profile *profile, const struct hl_store_query *query, struct hl_err *err)
{
	const struct hl_profile_meta *meta = hl_profile_meta(profile);
	char since[HL_TIME_SIZE], until[HL_TIME_SIZE];
	uint32_t n;

	if (!query->some || !meta->left_out || hl_profile_nodes(profile, &n)[0].total)
		return 0;
	return hl_err_set(
		err, -ENODATA,
		"none of the %" PRIu64 " samples from %s to %s is what --where and --exclude ask for",
		meta->left_out, hl_time_text(meta->start_ns, since), hl_time_text(meta->end_ns, until));
}

static int report_to(struct hl_outputs *outputs, struct hl_reports *reports, const struct report *c,
		     const struct hl_store_query *query, const struct hl_sort *sort, struct hl_err *err)
{
	const struct hl_render_options render = { .instruction_lines = c->pprof_insn,
						  .sorting = &sort->sorting };
	struct hl_reports_source source = { .stores = &c->stores, .query = query, .limits = c->limits };
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL, *labelled = NULL;
	struct hl_store_query labels = *query;
	const struct hl_profile_meta *meta;
	int code = hl_stores_read(&c->stores, query, &reading, err);

	if (!code)
		code = check_any(hl_reading_profile(reading), query, err);
	if (!code && hl_outputs_want_details(outputs)) {
		hl_stored_select_labels(&labels, query->root_ctx);
		code = hl_stores_read(&c->stores, &labels, &labelled, err);
	}
	if (code)
		return code;
	source.profile = hl_reading_profile(reading);
	meta = hl_profile_meta(source.profile);
	code = hl_outputs_write(outputs, source.profile, labelled ? hl_reading_profile(labelled) : NULL,
				&render, meta->start_ns, meta->end_ns - meta->start_ns, err);
	if (!code)
		code = hl_outputs_name_latest(outputs, err);
	return code ? code : hl_reports_finish(reports, outputs, &source, err);
}

static int write_report(const struct report *c, const struct hl_store_query *query,
			const struct hl_sort *sort, struct hl_err *err)
{
	_cleanup_(hl_reports_freep) struct hl_reports *reports = NULL;
	struct hl_outputs *outputs;
	int code = hl_outputs_open(&c->outputs, c->format, &outputs, err);

	if (code)
		return code;
	code = hl_sort_check(&c->sort, outputs, err);
	if (!code)
		code = hl_reports_open(&c->outputs, &reports, err);
	if (!code)
		code = report_to(outputs, reports, c, query, sort, err);
	if (!code && isatty(STDERR_FILENO))
		hl_outputs_print(outputs, stderr);
	hl_outputs_free(outputs);
	return code;
}

static int write_mail(const struct report *c, const struct hl_store_query *query, struct hl_err *err)
{
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL;
	struct hl_mail_options mail = { .stores = &c->stores,
					.by = &c->by,
					.where = &c->where,
					.exclude = &c->exclude,
					.query = query,
					.to = c->mail_to,
					.if_changed = c->if_changed,
					.spikes = c->spikes ? c->spikes : MAIL_SPIKES };
	int code = hl_stores_read(&c->stores, query, &reading, err);

	mail.reading = reading;
	return code ? code : hl_mail_write(&mail, stdout, err);
}

static int write_spikes(const struct report *c, const struct hl_store_query *query, struct hl_err *err)
{
	_cleanup_(hl_series_freep) struct hl_series *series = NULL;
	_cleanup_free_ struct hl_spike *spikes = calloc(c->spikes, sizeof(*spikes));
	_cleanup_str_ struct hl_str text = { 0 };
	size_t n = 0;
	int code = hl_series_read(&c->stores, query, SPIKE_PIECES, &series, err);

	if (code)
		return code;
	if (!spikes || hl_spikes_find(series, 0, c->spikes, spikes, &n))
		return hl_err_set(err, -ENOMEM, "no memory for the spikes");
	for (size_t i = 0; i < n; i++) {
		hl_spike_say(&text, series, &spikes[i], SPIKE_COLUMNS);
		hl_str_addc(&text, '\n');
	}
	if (hl_str_status(&text))
		return hl_err_set(err, -ENOMEM, "no memory for the spikes");
	(void)fputs(n ? text.data : "no spikes\n", stdout);
	return 0;
}

static int run_report(void *config, char **rest, struct hl_err *err)
{
	const struct report *c = config;
	struct hl_store_query query = { .event = c->event, .functions = c->leaf == LEAF_FUNCTION };
	_cleanup_(hl_selection_freep) struct hl_selection *selection = NULL;
	struct hl_sort sort;
	int code = hl_when_range(c->since, c->until, &query.since_ns, &query.until_ns, err);

	if (!code)
		code = hl_sort_parse(&c->sort, &sort, err);
	if (!code)
		code = hl_selection_new(sort.by.n ? &sort.by : &c->by, &c->where, &c->exclude, &selection,
					err);
	if (code)
		return code;
	if (sort.by.n)
		hl_selection_flatten(selection);
	hl_stored_select(&query, selection);
	(void)umask(027);
	if (c->mail)
		return write_mail(c, &query, err);
	return c->spikes ? write_spikes(c, &query, err) : write_report(c, &query, &sort, err);
}

const struct hl_command hl_command_report = {
	.name = "report",
	.summary = "make a page of any span of time from what an agent keeps",
	.usage = "[OPTION…]",
	.description =
		"Reads the store of `hotleaf agent`, also while it writes, and writes what ran in a span\n"
		"of time; the head of it says which windows are missing. Without -o, a page is written to\n"
		"the current directory, named by host, start and length, and latest.html becomes that\n"
		"page. In a folder, -o DIR/, index.html lists the reports, and each page is compared with\n"
		"the one before. Silent on success.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct report),
	.run = run_report,
};
