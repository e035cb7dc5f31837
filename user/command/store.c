// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <linux/ioprio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/command.h"
#include "command/store_options.h"
#include "store/days.h"
#include "store/inspect.h"
#include "store/rewrite.h"

struct store {
	struct hl_settings settings;
	const char *dir;
	struct hl_store_limits limits;
	bool background;
};

static const struct hl_option options[] = {
	{ "store", 0, HL_STRING(struct store, dir), .default_text = HL_STORE_DIR, .metavar = "DIR",
	  .help = "where an agent writes" },
	HL_STORE_LIMITS(struct store, limits),
	{ "background", 0, HL_FLAG(struct store, background), .hidden = true,
	  .help = "rewrite with what the host has left of CPU time and disk" },
	HL_SETTINGS_ROW(struct store, settings),
};

/* ---- list and check ------------------------------------------------------------------------------------ */

static void print_info(const struct hl_day *day, const struct hl_day_info *info)
{
	char from[HL_TIME_SIZE], to[HL_TIME_SIZE];

	printf("%-16s %8.1f MB", day->name, (double)day->bytes / 1e6);
	if (info->windows)
		printf("  %s to %s", hl_time_text(info->first_ns, from), hl_time_text(info->last_ns, to));
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

static int list(const struct store *c, struct hl_err *err)
{
	return show_days(c, /* whole= */ false, err);
}

static int check(const struct store *c, struct hl_err *err)
{
	return show_days(c, /* whole= */ true, err);
}

static int prune(const struct store *c, struct hl_err *err)
{
	unsigned int removed;

	return hl_days_prune(c->dir, &c->limits, hl_realtime_ns(), &removed, err);
}

static int rewrite(const struct store *c, struct hl_err *err)
{
	unsigned int rewritten;

	if (c->background) {
		(void)!nice(19);
		(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	}
	return hl_store_rewrite(c->dir, &c->limits, hl_realtime_ns(), &rewritten, err);
}

static int run_store(void *config, char **rest, struct hl_err *err)
{
	static const struct {
		const char *name;
		int (*run)(const struct store *c, struct hl_err *err);
	} actions[] = { { "list", list }, { "check", check }, { "prune", prune }, { "rewrite", rewrite } };

	for (size_t i = 0; rest[0] && i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(rest[0], actions[i].name) == 0)
			return actions[i].run(config, err);
	if (rest[0])
		return hl_usage(err,
				"there is no \"hotleaf store %s\"; there are: list, check, prune, rewrite",
				rest[0]);
	return hl_usage(err, "\"hotleaf store\" needs one of: list, check, prune, rewrite");
}

const struct hl_command hl_command_store = {
	.name = "store",
	.summary = "list, check, prune or rewrite what an agent keeps",
	.usage = "ACTION [OPTION…]",
	.description = "ACTION list: a line for each file, with its range, windows and samples.\n"
		       "check: the same after reading all that a report would read; status 1 if something is "
		       "damaged.\n"
		       "prune: removes the oldest days as an agent with these limits would; it never touches "
		       "today's.\n"
		       "rewrite: sums the windows of old days up, likewise.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct store),
	.rest = "ACTION",
	.rest_max = 1,
	.run = run_store,
};
