// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <linux/ioprio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/command.h"
#include "command/store_options.h"
#include "command/stored_code.h"
#include "command/when.h"
#include "store/days.h"
#include "store/inspect.h"
#include "store/rewrite.h"
#include "store/transfer.h"

#define ACTIONS "list, check, prune, rewrite, export, import"

struct store {
	struct hl_settings settings;
	const char *dir;
	struct hl_store_limits limits;
	bool background;
	const char *since, *until, *output;
};

static const struct hl_option options[] = {
	{ "store", 0, HL_STRING(struct store, dir), .default_text = HL_STORE_DIR, .metavar = "DIR",
	  .help = "where an agent writes" },
	HL_STORE_LIMITS(struct store, limits),
	{ "since", 0, HL_STRING(struct store, since), .default_text = "@0", .metavar = "TIME",
	  .help = "what is exported or imported: from when on; a time as of report" },
	{ "until", 0, HL_STRING(struct store, until), .default_text = "now", .metavar = "TIME",
	  .help = "likewise; a window counts where it starts" },
	{ "output", 'o', HL_STRING(struct store, output), .metavar = "FILE",
	  .help = "where to export to: a file that is not there yet" },
	{ "background", 0, HL_FLAG(struct store, background), .hidden = true,
	  .help = "rewrite with what the host has left of CPU time and disk" },
	HL_SETTINGS_ROW(struct store, settings),
};

/* ---- list and check ------------------------------------------------------------------------------------ */

static void print_info(const struct hl_day *day, const struct hl_day_info *info)
{
	char from[HL_TIME_SIZE], to[HL_TIME_SIZE], code[240];

	printf("%-16s %8.1f MB", day->name, (double)day->bytes / 1e6);
	if (info->windows)
		printf("  %s to %s", hl_time_text(info->first_ns, from), hl_time_text(info->last_ns, to));
	if (info->bodies.kept || info->bodies.without) {
		hl_body_sum_say(&info->bodies, code, sizeof(code));
		printf("  %s", code);
	}
	printf("  %" PRIu64 " window%s, %" PRIu64 " samples", info->windows, info->windows == 1 ? "" : "s",
	       info->samples);
}

/* One line about a file. Returns whether something is wrong with it. */
static bool show_day(const char *dir, const struct hl_day *day, bool whole)
{
	_cleanup_str_ struct hl_str path = { 0 };
	struct hl_day_info info = { 0 };
	struct hl_err err = { "" };
	int code;

	if (day->aside) {
		printf("%-16s %8.1f MB  set aside: no report reads it\n", day->name,
		       (double)day->bytes / 1e6);
		return whole;
	}
	hl_str_addf(&path, "%s/%s", dir, day->name);
	code = hl_str_status(&path) ? hl_err_set(&err, -ENOMEM, "no memory")
				    : hl_day_inspect(path.data, whole, &info, &err);
	if (code)
		printf("%-16s %8.1f MB  %s", day->name, (double)day->bytes / 1e6, err.text);
	else
		print_info(day, &info);
	printf("%s\n", whole && !code ? ", sound" : "");
	return code != 0;
}

static int show_days(const struct store *c, bool whole, struct hl_err *err)
{
	_cleanup_free_ struct hl_day *days = NULL;
	bool wrong = false;
	size_t n = 0;
	int code = hl_days_list(c->dir, &days, &n, err);

	for (size_t i = 0; i < n && !code; i++)
		wrong |= show_day(c->dir, &days[i], whole);
	return code ? code : wrong && whole ? HL_EXIT_FAILED : 0;
}

/* ---- the others ---------------------------------------------------------------------------------------- */

static int list(const struct store *c, char **files, struct hl_err *err)
{
	return show_days(c, /* whole= */ false, err);
}

static int check(const struct store *c, char **files, struct hl_err *err)
{
	return show_days(c, /* whole= */ true, err);
}

static int prune(const struct store *c, char **files, struct hl_err *err)
{
	unsigned int removed;

	return hl_days_prune(c->dir, &c->limits, hl_realtime_ns(), &removed, err);
}

static int rewrite(const struct store *c, char **files, struct hl_err *err)
{
	unsigned int rewritten;

	if (c->background) {
		(void)!nice(19);
		(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	}
	return hl_store_rewrite(c->dir, &c->limits, hl_realtime_ns(), &rewritten, err);
}

/* ---- from store to store ------------------------------------------------------------------------------- */

static int parse_range(const struct store *c, uint64_t *since_ns, uint64_t *until_ns, struct hl_err *err)
{
	uint64_t now_ns = hl_realtime_ns();

	if (hl_when_parse(c->since, now_ns, since_ns, err) || hl_when_parse(c->until, now_ns, until_ns, err))
		return HL_EXIT_USAGE;
	return 0;
}

static int export(const struct store *c, char **files, struct hl_err *err)
{
	uint64_t since_ns, until_ns;
	struct hl_transferred sum = { 0 };
	int code = parse_range(c, &since_ns, &until_ns, err);

	if (!code && !c->output)
		code = hl_usage(err, "\"hotleaf store export\" needs -o FILE");
	else if (!code && strcmp(c->output, "-") == 0)
		code = hl_usage(err,
				"\"hotleaf store export\" writes a database, which needs a file: give -o "
				"FILE");
	if (!code)
		code = hl_store_export(c->dir, since_ns, until_ns, c->output, &sum, err);
	if (!code)
		printf("%" PRIu64 " windows with %" PRIu64 " samples\n", sum.windows, sum.samples);
	return code;
}

static void print_imported(const char *file, const struct hl_transferred *sum)
{
	printf("%s: %" PRIu64 " windows with %" PRIu64 " samples; %" PRIu64 " windows were there already\n",
	       file, sum->windows, sum->samples, sum->present);
	if (sum->overlapping)
		printf("%s: %" PRIu64 " windows were left out: the store has others of that host and time\n",
		       file, sum->overlapping);
}

static int import(const struct store *c, char **files, struct hl_err *err)
{
	uint64_t since_ns, until_ns;
	struct hl_transferred sum;
	int code = parse_range(c, &since_ns, &until_ns, err);

	if (!code && !files[0])
		code = hl_usage(err,
				"\"hotleaf store import\" needs FILE, which \"hotleaf store export\" wrote");
	for (; !code && *files; files++) {
		code = hl_store_import(*files, since_ns, until_ns, c->dir, &sum, err);
		if (!code)
			print_imported(*files, &sum);
	}
	return code;
}

static int run_store(void *config, char **rest, struct hl_err *err)
{
	static const struct {
		const char *name;
		int (*run)(const struct store *c, char **files, struct hl_err *err);
	} actions[] = { { "list", list },       { "check", check },   { "prune", prune },
			{ "rewrite", rewrite }, { "export", export }, { "import", import } };

	(void)umask(027); /* as the agent's */
	for (size_t i = 0; rest[0] && i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(rest[0], actions[i].name) != 0)
			continue;
		if (rest[1] && actions[i].run != import)
			return hl_usage(err, "\"hotleaf store %s\" takes no operand \"%s\"", rest[0],
					rest[1]);
		return actions[i].run(config, rest + 1, err);
	}
	if (rest[0])
		return hl_usage(err, "there is no \"hotleaf store %s\"; there are: " ACTIONS, rest[0]);
	return hl_usage(err, "\"hotleaf store\" needs one of: " ACTIONS);
}

const struct hl_command hl_command_store = {
	.name = "store",
	.summary = "list, check, prune, rewrite or copy what an agent keeps",
	.usage = "ACTION [OPTION…] [FILE…]",
	.description =
		"ACTION list: a line for each file, with its range, windows and samples.\n"
		"check: the same after reading all that a report would read; status 1 if something is "
		"damaged.\n"
		"prune: removes the oldest days as an agent with these limits would; it never touches "
		"today's.\n"
		"rewrite: sums the windows of old days up, likewise.\n"
		"export: writes the windows of a span of time to a file; import FILE…: adds such files, or "
		"days of\n"
		"other stores, to this one; what is there already is not added again.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct store),
	.rest = "ACTION",
	.run = run_store,
};
