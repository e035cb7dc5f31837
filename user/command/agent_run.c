// SPDX-License-Identifier: BSD-2-Clause
#include "command/agent_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/event.h"
#include "command/cost.h"
#include "command/keeper.h"
#include "command/notify.h"
#include "command/plan.h"
#include "command/privileges.h"
#include "command/selection.h"
#include "store/store.h"

/*
 * A session of capture is drained once a second; at the end of a window what was drained is handed to the
 * keeper, which writes it. Where sampling is switched off by a file, the whole session ends, so that nothing of
 * hotleaf is left in the kernel, and a new one begins when the file is gone.
 */

/*
 * What is known of files and names is forgotten once in a while, by default each hour, lest it grow for weeks: a
 * new generation begins. Files that nobody has run for as long are let go of in two steps: first the kernel side
 * forgets them; when the windows in which their ids may still stand are written, their ids are free, and only then
 * does the new generation begin. That takes the third drain.
 */
enum { DRAINS = 3 };

/* The caps are looked at as often at least. */
#define LONG_NS (60 * HL_SECOND_NS)

/* What one run of the command holds. */
struct run {
	struct hl_plan *plan;
	uint64_t ended_ns;      /* when the last session ended for new settings; 0: for something else */
	struct hl_plan *before; /* gone back to where no session begins by the new one; NULL: none */
	sigset_t signals;
	struct hl_metrics *metrics;
	struct hl_graphs *graphs;
	bool ready, end;
	bool reload; /* was asked for */
	bool renew;  /* the session ends for another */
	/* Of one session: */
	struct hl_session *session;
	struct hl_keeper *keeper;
	struct hl_kept open; /* the open window */
	struct hl_align align;
	struct hl_capture_stats stats; /* as of the last window, as the next two */
	struct hl_cost cost;
	uint64_t moved_refused;
	struct hl_cost looked; /* as of the last look at the caps */
	struct hl_caps caps;
	uint64_t generation_ns; /* when this generation of names began, by the monotonic clock */
	uint32_t generation;
	uint64_t expired_put; /* windows handed over until the third drain after files expired; 0: none did */
};

/* ---- one window ---------------------------------------------------------------------------------------- */

static struct hl_capture_stats stats_since(const struct hl_capture_stats *now,
					   const struct hl_capture_stats *before)
{
	struct hl_capture_stats since = *now;

	for (unsigned int i = 0; i < HL_COUNTER_MAX; i++)
		since.counters.value[i] -= before->counters.value[i];
	since.expected -= before->expected;
	since.program_ns -= before->program_ns;
	since.tables_dropped -= before->tables_dropped;
	since.tables_refused -= before->tables_refused;
	return since;
}

/* Hands the open window to the keeper, as that which was @when. */
static void close_window(struct run *run, struct hl_aligned when)
{
	struct hl_capture_stats now;
	struct hl_cost cost;
	uint64_t refused;

	hl_capture_stats(hl_session_capture(run->session), &now);
	hl_cost_look(run->session, run->keeper, run->graphs, &now, &cost);
	run->open.when = when;
	run->open.end_monotonic_ns = hl_monotonic_ns();
	run->open.stats = stats_since(&now, &run->stats);
	run->open.process_cpu_ns = cost.process_ns + cost.tables_ns + cost.graphs_ns - run->cost.process_ns -
				   run->cost.tables_ns - run->cost.graphs_ns;
	run->open.frequency = hl_caps_frequency(&run->caps);
	hl_caps_say(&run->caps, run->open.note, sizeof(run->open.note));
	run->open.code_files = hl_session_copy_code(run->session);
	run->open.moved = hl_session_copy_moved(run->session, &refused);
	run->open.moved_refused = refused - run->moved_refused;
	run->open.generation = run->generation;
	hl_metrics_add_cost(run->metrics, &run->cost, &cost, run->open.stats.tables_dropped,
			    run->open.stats.tables_refused);
	run->stats = now;
	run->cost = cost;
	run->moved_refused = refused;
	hl_keeper_put(run->keeper, &run->open);
	hl_metrics_set_caps(run->metrics, &run->caps);
	hl_metrics_publish(run->metrics);
}

/* Does what the caps demand, or no longer demand. */
static void obey_caps(struct run *run)
{
	struct hl_err err = { "" };
	char said[160];

	hl_caps_say(&run->caps, said, sizeof(said));
	if (said[0])
		hl_log(HL_LOG_WARNING, "caps", "%s", said);
	else
		hl_log(HL_LOG_WARNING, "caps", "below the caps again: sampled at %u Hz", run->caps.frequency);
	hl_session_limit_tables(run->session, hl_caps_tables_mb(&run->caps));
	if (hl_capture_set_frequency(hl_session_capture(run->session), hl_caps_frequency(&run->caps), &err))
		hl_log(HL_LOG_WARNING, "caps", "%s", err.text);
}

/* To be called between two windows, so that one is sampled at one frequency; long ones have to bear it. */
static void look_at_caps(struct run *run, const struct hl_cost *cost)
{
	const struct hl_caps_use use = {
		.elapsed_ns = cost->when_ns - run->looked.when_ns,
		.cpu_ns = hl_cost_cpu_ns(cost) - hl_cost_cpu_ns(&run->looked),
		.cpus = cost->cpus,
		.bytes = cost->resident_bytes + cost->map_bytes,
		.table_bytes = cost->table_bytes,
	};

	run->looked = *cost;
	if (hl_caps_look(&run->caps, &use))
		obey_caps(run);
}

/* To be called between two windows. */
static void renew_names(struct run *run)
{
	const struct hl_agent_options *c = &run->plan->options;
	uint64_t put, written;

	hl_keeper_progress(run->keeper, &put, &written);
	if (!run->expired_put) {
		if (hl_monotonic_ns() - run->generation_ns < c->generation_ns)
			return;
		hl_session_expire_files(run->session, (unsigned int)(c->generation_ns / HL_SECOND_NS));
		/* The other thread needs a moment, too. */
		run->expired_put = put + 1 + (DRAINS + 2) * HL_SECOND_NS / c->window_ns;
		return;
	}
	if (written < run->expired_put || hl_session_forget_code(run->session))
		return;
	hl_session_reuse_files(run->session);
	run->expired_put = 0;
	run->generation++;
	run->generation_ns = hl_monotonic_ns();
}

/* ---- one session --------------------------------------------------------------------------------------- */

static bool is_disabled(const struct run *run)
{
	return access(run->plan->options.disabled, F_OK) == 0;
}

/* Reads the options again. The plan that they make begins with the next session, and nothing else ends this one. */
static void reload(struct run *run)
{
	struct hl_plan *plan = NULL;
	struct hl_err err = { "" };
	char state[80];

	run->reload = false;
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		       (unsigned long long)(hl_monotonic_ns() / 1000));
	(void)hl_notify(state);
	if (hl_plan_again(run->plan, &plan, &err) ||
	    hl_metrics_set(run->metrics, &plan->options.metrics, &err)) {
		hl_plan_free(plan, run->plan);
		hl_log(HL_LOG_WARNING, "settings", "the settings stay as they were: %s", err.text);
		(void)hl_notify("READY=1");
		return;
	}
	run->before = run->plan;
	run->plan = plan;
	run->renew = true;
	run->ready = false;
}

/* The plan has proven itself. */
static void leave_plan_before(struct run *run)
{
	hl_plan_free(run->before, run->plan);
	run->before = NULL;
	if (!run->ready)
		(void)hl_notify("READY=1");
	run->ready = true;
}

/* Whether there was a plan to go back to. */
static bool go_back(struct run *run, const struct hl_err *err)
{
	struct hl_plan *bad = run->plan;

	if (!run->before)
		return false;
	hl_log(HL_LOG_WARNING, "settings", "the settings stay as they were: %s", err->text);
	run->plan = run->before;
	run->before = NULL;
	(void)hl_metrics_set(run->metrics, &run->plan->options.metrics, NULL);
	hl_plan_free(bad, run->plan);
	return true;
}

/* Waits for the next whole second of the wall clock, or a signal to end. */
static void wait_a_second(struct run *run)
{
	uint64_t wait_ns = hl_align_wait(hl_realtime_ns());
	struct timespec wait = { (time_t)(wait_ns / HL_SECOND_NS), (long)(wait_ns % HL_SECOND_NS) };
	int signal = sigtimedwait(&run->signals, NULL, &wait);

	if (signal == SIGINT || signal == SIGTERM)
		run->end = true;
	else if (signal == SIGHUP)
		run->reload = true;
	if (run->reload && !run->before)
		reload(run);
	hl_graphs_look(run->graphs, &run->plan->options.graphs, run->plan->options.recording.host,
		       run->plan->options.store, run->plan->options.window_ns);
	(void)hl_notify("WATCHDOG=1");
}

static int begin(struct run *run, struct hl_err *err)
{
	const struct hl_plan *plan = run->plan;
	const struct hl_recording_options *c = &plan->options.recording;
	struct hl_capture_options capture = hl_recording_capture(c, &plan->event);
	const struct hl_symd_options tables = { .memory_mb = c->symd_mb, .timeout_ms = HL_TABLES_MS };
	struct hl_keeper_options keeper = {
		.elsewhere = plan->elsewhere,
		.symd = &plan->names,
		.cache = plan->cache,
		.event = &plan->event,
		.host = c->host,
		.intel = c->syntax == HL_SYNTAX_INTEL,
		.selection = plan->selection,
		.store = plan->store,
		.metrics = run->metrics,
	};
	int code;

	hl_store_limit(plan->store, &plan->options.limits);
	code = hl_session_new(&capture, &tables, plan->cache, &run->session, err);

	keeper.session = run->session;
	if (!code)
		code = hl_session_watch_identities(run->session, err);
	if (!code)
		code = hl_keeper_start(&keeper, &run->keeper, err);
	if (!code)
		code = hl_session_start(run->session, err);
	/* The threads have dropped theirs; another session can do with what is left. */
	return code ? code : hl_privileges_drop(plan->elsewhere, err);
}

static int sample(struct run *run, struct hl_err *err)
{
	struct hl_capture_stats stats;
	struct hl_aligned when;
	struct hl_cost cost;
	int code = 0;

	while (!run->end && !run->renew && !code && !is_disabled(run)) {
		wait_a_second(run);
		/* What is drained was sampled before: a drain may take long, where others leave it no CPU time. */
		uint64_t wall_ns = hl_realtime_ns(), monotonic_ns = hl_monotonic_ns();
		code = hl_session_drain(run->session, &run->open.window, err);
		if (!code && hl_align_look(&run->align, wall_ns, monotonic_ns, &when)) {
			close_window(run, when);
			look_at_caps(run, &run->cost);
			renew_names(run);
		} else if (!code && hl_monotonic_ns() - run->looked.when_ns > LONG_NS) {
			hl_capture_stats(hl_session_capture(run->session), &stats);
			hl_cost_look(run->session, run->keeper, run->graphs, &stats, &cost);
			look_at_caps(run, &cost);
		}
	}
	return code;
}

/* The last window is kept, also where a drain failed. It ends where sampling does: what follows may take long. */
static int end(struct run *run, struct hl_err *err)
{
	uint64_t end_ns = hl_monotonic_ns();
	int code = hl_session_stop(run->session, &run->open.window, err);

	close_window(run, hl_align_end(&run->align, end_ns));
	return code;
}

static int run_session(struct run *run, struct hl_err *err)
{
	int code, at_end;

	run->renew = false;
	if (run->ended_ns)
		hl_store_gap(run->plan->store, run->ended_ns, hl_realtime_ns(), 0,
			     "the settings were read again");
	code = begin(run, err);
	if (!code) {
		run->stats = (struct hl_capture_stats){ 0 };
		hl_caps_init(&run->caps, &run->plan->options.caps, run->plan->options.recording.frequency,
			     run->plan->options.recording.unwind_mb);
		hl_cost_look(run->session, run->keeper, run->graphs, &run->stats, &run->cost);
		run->looked = run->cost;
		run->moved_refused = 0;
		run->generation++; /* file ids are others than in the last session */
		run->generation_ns = hl_monotonic_ns();
		run->expired_put = 0;
		hl_align_start(&run->align, run->plan->options.window_ns, hl_realtime_ns(),
			       hl_monotonic_ns());
		leave_plan_before(run);
		hl_metrics_set_sampling(run->metrics, true);
		hl_metrics_publish(run->metrics);
		code = sample(run, err);
		run->ended_ns = run->renew ? hl_realtime_ns() : 0;
		at_end = end(run, code ? NULL : err);
		code = code ? code : at_end;
	}
	hl_keeper_stop(run->keeper);
	hl_session_free(run->session);
	hl_kept_done(&run->open);
	run->keeper = NULL;
	run->session = NULL;
	return code;
}

/* Waits until the file is gone. That nothing is sampled is noted once a minute, lest it be lost with us. */
static void stay_disabled(struct run *run)
{
	uint64_t since_ns = hl_realtime_ns(), now_ns;
	char reason[120];

	run->ended_ns = 0; /* what follows has its own reason */
	(void)snprintf(reason, sizeof(reason), "disabled by '%s'", run->plan->options.disabled);
	leave_plan_before(run);
	(void)hl_notify("STATUS=disabled");
	hl_metrics_set_sampling(run->metrics, false);
	hl_metrics_publish(run->metrics);
	while (!run->end && !run->before && is_disabled(run)) {
		wait_a_second(run);
		now_ns = hl_realtime_ns();
		if (now_ns - since_ns < 60 * HL_SECOND_NS && is_disabled(run) && !run->end && !run->before)
			continue;
		if (now_ns > since_ns)
			hl_store_gap(run->plan->store, since_ns, now_ns, 0, reason);
		(void)hl_store_flush(run->plan->store, NULL); /* else with the next window */
		since_ns = now_ns;
	}
	(void)hl_notify("STATUS=sampling");
}

static int run_all(struct run *run, struct hl_err *err)
{
	int code = 0;

	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "sampling at %u Hz into '%s'; Ctrl-C ends\n",
			      run->plan->options.recording.frequency, run->plan->options.store);
	while (!run->end && !code) {
		if (is_disabled(run))
			stay_disabled(run);
		else
			code = run_session(run, err);
		if (code && go_back(run, err))
			code = 0;
	}
	(void)hl_notify("STOPPING=1");
	return code;
}

int hl_agent_run(const struct hl_agent_options *options, struct hl_err *err)
{
	struct run run = { .metrics = hl_metrics_new(), .graphs = hl_graphs_new() };
	int code;

	(void)umask(027);
	(void)sigemptyset(&run.signals);
	(void)sigaddset(&run.signals, SIGINT);
	(void)sigaddset(&run.signals, SIGTERM);
	(void)sigaddset(&run.signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &run.signals, NULL);
	code = run.metrics && run.graphs ? hl_plan_new(options, &run.plan, err)
					 : hl_err_set(err, -ENOMEM, "no memory");
	if (!code)
		code = hl_settings_blame(&options->settings, "metrics",
					 hl_metrics_set(run.metrics, &options->metrics, err), err);
	if (!code)
		code = run_all(&run, err);
	hl_plan_free(run.before, run.plan);
	hl_plan_free(run.plan, NULL);
	hl_metrics_free(run.metrics);
	hl_graphs_free(run.graphs);
	hl_log_repeats();
	return code;
}
