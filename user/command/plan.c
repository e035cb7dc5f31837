// SPDX-License-Identifier: BSD-2-Clause
#include "command/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/host_name.h"
#include "command/selection.h"
#include "store/store.h"
#include "symd/client_cache.h"
#include "web/address.h"

/* One option at a time, so that the one that is wrong is blamed. */
static int check_conditions(const struct hl_agent_options *options, const char *name, struct hl_err *err)
{
	static const struct hl_words none;
	const struct hl_recording_options *r = &options->recording;
	bool where = strcmp(name, "where") == 0;
	_cleanup_(hl_selection_freep) struct hl_selection *selection = NULL;
	int code = hl_selection_new(&none, where ? &r->where : &none, where ? &none : &r->exclude, &selection,
				    err);

	return code == HL_EXIT_USAGE ? hl_settings_blame(&options->settings, name, code, err) : code;
}

int hl_plan_check(const struct hl_agent_options *options, struct hl_err *err)
{
	struct hl_event_choice event;
	int code;

	if (3600 * HL_SECOND_NS % options->window_ns)
		return hl_settings_blame(
			&options->settings, "window",
			hl_usage(err, "option \"--window\" must divide an hour: 10, 30, 60, 5m"), err);
	if (options->recording.event && hl_event_parse(options->recording.event, &event, err))
		return hl_settings_blame(&options->settings, "event", HL_EXIT_USAGE, err);
	if (hl_host_name_check(options->recording.host, err))
		return hl_settings_blame(&options->settings, "host", HL_EXIT_USAGE, err);
	if (hl_recording_check_sockets(&options->recording, err))
		return hl_settings_blame(&options->settings, "container-socket", HL_EXIT_USAGE, err);
	if (options->metrics.address &&
	    hl_listen_check(options->metrics.address, options->metrics.anywhere, err))
		return hl_settings_blame(&options->settings, "metrics", HL_EXIT_USAGE, err);
	code = check_conditions(options, "where", err);
	return code ? code : check_conditions(options, "exclude", err);
}

/* Whether that folder is another user's, or not there yet. */
static bool is_others(const char *dir)
{
	struct stat st;

	return stat(dir, &st) || st.st_uid != geteuid();
}

static bool is_in_others(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	return !dir || is_others(dir);
}

/* Opens what the options name; @before may have the same store. */
static int open_all(struct hl_plan *plan, const struct hl_plan *before, struct hl_err *err)
{
	const struct hl_agent_options *o = &plan->options;
	struct hl_err why = { "" };
	int code = hl_plan_check(o, err);

	if (code)
		return code;
	code = hl_selection_new(&o->recording.by, &o->recording.where, &o->recording.exclude,
				&plan->selection, err);
	if (code)
		return code;
	code = hl_event_choose(o->recording.event, o->recording.frequency, &plan->event, err);
	if (code)
		return code == -EINVAL ? HL_EXIT_USAGE : code;
	if (before && strcmp(before->options.store, o->store) == 0)
		plan->store = before->store;
	else
		code = hl_store_open(o->store, &o->limits, &plan->store, err);
	if (code)
		return code;
	if (!before || plan->store != before->store)
		hl_store_tell_window(plan->store, o->window_ns);
	plan->elsewhere = is_others(o->store) || (o->metrics.file && is_in_others(o->metrics.file));
	plan->names =
		(struct hl_symd_options){ .memory_mb = o->recording.symd_mb, .timeout_ms = HL_NAMES_MS };
	if (hl_recording_open_cache(&o->recording, &plan->cache, &why))
		hl_log(HL_LOG_WARNING, "unwind", "files are read anew each time: %s", why.text);
	return 0;
}

static int finish(struct hl_plan *plan, const struct hl_plan *before, int code, struct hl_plan **ret,
		  struct hl_err *err)
{
	if (!code)
		code = open_all(plan, before, err);
	if (code)
		hl_plan_free(plan, before);
	else
		*ret = plan;
	return code;
}

int hl_plan_new(const struct hl_agent_options *options, struct hl_plan **ret, struct hl_err *err)
{
	struct hl_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return hl_err_set(err, -ENOMEM, "no memory for the options");
	plan->options = *options;
	return finish(plan, NULL, 0, ret, err);
}

int hl_plan_again(const struct hl_plan *before, struct hl_plan **ret, struct hl_err *err)
{
	struct hl_plan *plan = calloc(1, sizeof(*plan));
	int code;

	if (!plan)
		return hl_err_set(err, -ENOMEM, "no memory for the options");
	code = hl_settings_read_again(&before->options.settings, &plan->options, &plan->arena, err);
	return finish(plan, before, code, ret, err);
}

void hl_plan_hold(const struct hl_plan *plan)
{
	hl_store_tell_window(plan->store, plan->options.window_ns);
}

void hl_plan_free(struct hl_plan *plan, const struct hl_plan *kept)
{
	if (!plan)
		return;
	if (!kept || plan->store != kept->store)
		hl_store_close(plan->store);
	hl_cache_close(plan->cache);
	hl_selection_free(plan->selection);
	hl_arena_done(&plan->arena);
	free(plan);
}
