// SPDX-License-Identifier: BSD-2-Clause
#include "command/agent_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/capture.h"
#include "command/metrics.h"
#include "command/notify.h"
#include "command/plan.h"
#include "command/sampler.h"
#include "sample/align.h"
#include "store/store.h"

/*
 * A sampler works by one plan. When the options are read again, the next sampler is made ready while the one before
 * goes on; then they change over, which takes milliseconds: what takes long, making unwind tables anew and naming the
 * last windows, is done before and after. Nothing of the new plan holds until then, so where it fails, all stays as
 * it was. While sampling is switched off by a file there is no sampler, so that nothing of hotleaf is in the kernel.
 *
 * A store has one writer: the windows of a sampler wait until the one before has written all of its own. Where none
 * writes, the store is this thread's, for gaps.
 */

/* That nothing is sampled is noted as often, lest it be lost with us. */
#define NOTE_NS (60 * HL_SECOND_NS)

/* A plan, and the sampler that works by it. */
struct work {
	struct hl_plan *plan;
	struct hl_sampler *sampler; /* NULL: none */
};

struct run {
	struct work now;  /* without a sampler while sampling is switched off */
	struct work next; /* being prepared */
	/*
	 * These sample no more, but write, one after the other: after a change, then after switching off. Without a
	 * plan, where that is still the one of `now`.
	 */
	struct work leaving[2];
	unsigned int n_leaving;
	/* Since the epoch; 0: none, or it is noted already. */
	uint64_t left_ns, taken_ns; /* when one sampler ended for the next, and that began */
	uint64_t off_ns;            /* since when it is disabled */
	sigset_t signals;
	struct hl_metrics *metrics;
	struct hl_graphs *graphs;
	int time_fd;      /* that the kernel counts the time of programs; < 0: it does not */
	bool was_on;      /* it has sampled, and dropped its privileges */
	bool end, reload; /* was asked for */
};

/* Waits for what the sampler still writes. What @kept uses too stays; it may be NULL. */
static void free_work(struct work *work, const struct work *kept)
{
	hl_sampler_free(work->sampler);
	hl_plan_free(work->plan, kept ? kept->plan : NULL);
	*work = (struct work){ 0 };
}

static int new_sampler(struct run *run, struct work *work, struct hl_err *err)
{
	return hl_sampler_new(work->plan, run->metrics, run->graphs, run->time_fd >= 0, &work->sampler, err);
}

/* The metrics are told where the plan says from now on, or, if that fails, where they were. */
static int tell_metrics(struct run *run, const struct hl_plan *plan, struct hl_err *err)
{
	return hl_metrics_set(run->metrics, &plan->options.metrics, err);
}

static void say_sampling(struct run *run, bool sampling)
{
	(void)hl_notify(sampling ? "STATUS=sampling" : "STATUS=disabled");
	hl_metrics_set_sampling(run->metrics, sampling);
	hl_metrics_publish(run->metrics);
}

/* ---- other options ------------------------------------------------------------------------------------- */

static void take_next(struct run *run)
{
	run->now = run->next;
	run->next = (struct work){ 0 };
	hl_plan_hold(run->now.plan);
	(void)hl_notify("READY=1");
}

static void refuse_next(struct run *run, const struct hl_err *err)
{
	free_work(&run->next, &run->now);
	hl_log(HL_LOG_WARNING, "settings", "the settings stay as they were: %s", err->text);
	(void)hl_notify("READY=1");
}

/* Reads the options again, and begins to prepare what they say. */
static void reload(struct run *run)
{
	struct hl_err err = { "" };
	char state[80];
	int code;

	run->reload = false;
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		       (unsigned long long)(hl_monotonic_ns() / 1000));
	(void)hl_notify(state);
	code = hl_plan_again(run->now.plan, &run->next.plan, &err);
	if (!code && run->now.sampler)
		code = new_sampler(run, &run->next, &err);
	else if (!code)
		code = tell_metrics(run, run->next.plan, &err);
	if (code) {
		refuse_next(run, &err);
	} else if (!run->now.sampler) {
		hl_plan_free(run->now.plan, run->next.plan);
		take_next(run);
	}
}

/* The next sampler takes over; if it cannot, the one before goes on. */
static int change_over(struct run *run, struct hl_err *err)
{
	struct hl_err why = { "" };

	if (tell_metrics(run, run->next.plan, &why)) {
		refuse_next(run, &why);
		return 0;
	}
	hl_sampler_pause(run->now.sampler);
	run->left_ns = hl_realtime_ns();
	if (hl_sampler_start(run->next.sampler, &why)) {
		hl_sampler_resume(run->now.sampler);
		(void)tell_metrics(run, run->now.plan, NULL);
		refuse_next(run, &why);
		return 0;
	}
	run->taken_ns = hl_realtime_ns();
	run->leaving[run->n_leaving++] = run->now;
	take_next(run);
	return hl_sampler_stop(run->leaving[0].sampler, err);
}

/* Waits until the first that leaves has written all; then it is the next one's turn. */
static int see_off(struct run *run, struct hl_err *err)
{
	struct hl_sampler *turn;

	free_work(&run->leaving[0], &run->now);
	run->leaving[0] = run->leaving[1];
	run->n_leaving--;
	if (run->taken_ns)
		hl_store_gap(run->now.plan->store, run->left_ns, run->taken_ns, 0,
			     "the settings were read again");
	run->taken_ns = 0;
	turn = run->n_leaving ? run->leaving[0].sampler : run->now.sampler;
	return turn ? hl_sampler_write(turn, err) : 0;
}

/* ---- switched on and off ------------------------------------------------------------------------------- */

static bool is_disabled(const struct run *run)
{
	return access(run->now.plan->options.disabled, F_OK) == 0;
}

/* Notes that it was disabled until now. */
static void note_disabled(struct run *run)
{
	uint64_t now_ns = hl_realtime_ns();
	char reason[120];

	(void)snprintf(reason, sizeof(reason), "disabled by '%s'", run->now.plan->options.disabled);
	if (now_ns > run->off_ns)
		hl_store_gap(run->now.plan->store, run->off_ns, now_ns, 0, reason);
	(void)hl_store_flush(run->now.plan->store, NULL); /* else with the next window */
	run->off_ns = now_ns;
}

/*
 * The first time this is allowed; then it is held over all changes. Only while it is disabled nothing of us shall be in
 * the kernel, not even that.
 */
static void count_time(struct run *run)
{
	run->time_fd = hl_capture_count_time();
	if (run->time_fd < 0 && run->was_on)
		hl_log(HL_LOG_WARNING, "capture",
		       "after it was disabled the CPU time of the kernel programs is not known until a "
		       "restart");
}

static int switch_on(struct run *run, struct hl_err *err)
{
	int code;

	count_time(run);
	code = new_sampler(run, &run->now, err);

	if (!code)
		code = hl_sampler_start(run->now.sampler, err);
	if (!code && run->off_ns)
		note_disabled(run);
	if (!code)
		code = hl_sampler_write(run->now.sampler, err);
	if (code) {
		hl_sampler_free(run->now.sampler);
		run->now.sampler = NULL;
		return code;
	}
	run->off_ns = 0;
	run->was_on = true;
	say_sampling(run, true);
	return 0;
}

static int stop_sampling(struct run *run, struct hl_err *err)
{
	int code = hl_sampler_stop(run->now.sampler, err);

	run->leaving[run->n_leaving++] = (struct work){ .sampler = run->now.sampler };
	run->now.sampler = NULL;
	return code;
}

static int switch_off(struct run *run, struct hl_err *err)
{
	hl_cleanup_close(&run->time_fd);
	run->time_fd = -1;
	run->off_ns = hl_realtime_ns();
	if (run->next.plan) { /* once more, then, with no sampler to prepare */
		free_work(&run->next, &run->now);
		run->reload = true;
	}
	say_sampling(run, false);
	return stop_sampling(run, err);
}

/* To be called once a second while nothing is sampled or written. */
static int stay_off(struct run *run, struct hl_err *err)
{
	if (!is_disabled(run))
		return switch_on(run, err);
	if (hl_realtime_ns() - run->off_ns >= NOTE_NS)
		note_disabled(run);
	return 0;
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

/* Waits for the next whole second of the wall clock, or a signal. */
static void wait_a_second(struct run *run)
{
	const struct hl_agent_options *options = &run->now.plan->options;
	uint64_t wait_ns = hl_align_wait(hl_realtime_ns());
	struct timespec wait = { (time_t)(wait_ns / HL_SECOND_NS), (long)(wait_ns % HL_SECOND_NS) };
	int signal = sigtimedwait(&run->signals, NULL, &wait);

	if (signal == SIGINT || signal == SIGTERM)
		run->end = true;
	else if (signal == SIGHUP)
		run->reload = true;
	hl_graphs_look(run->graphs, &options->graphs, options->recording.host, options->store,
		       options->window_ns);
	(void)hl_notify("WATCHDOG=1");
}

static int sample(struct run *run, struct hl_err *err)
{
	int code = hl_sampler_look(run->now.sampler, err);

	if (!code && run->next.sampler && hl_sampler_is_prepared(run->next.sampler))
		code = change_over(run, err);
	return code;
}

static int do_one_second(struct run *run, struct hl_err *err)
{
	bool written = run->n_leaving && hl_sampler_has_written(run->leaving[0].sampler);
	int code = written ? see_off(run, err) : 0;

	if (code)
		return code;
	if (run->reload && !run->next.plan && !run->n_leaving)
		reload(run);
	if (!run->now.sampler)
		return run->n_leaving ? 0 : stay_off(run, err);
	return is_disabled(run) ? switch_off(run, err) : sample(run, err);
}

/* What was sampled is written, also after a failure. Returns the first. */
static int finish(struct run *run, int code, struct hl_err *err)
{
	int at_end = 0;

	(void)hl_notify("STOPPING=1");
	free_work(&run->next, &run->now);
	if (run->now.sampler)
		at_end = stop_sampling(run, code ? NULL : err);
	code = code ? code : at_end;
	while (run->n_leaving) {
		at_end = see_off(run, code ? NULL : err);
		code = code ? code : at_end;
	}
	if (run->off_ns)
		note_disabled(run);
	return code;
}

static int run_all(struct run *run, struct hl_err *err)
{
	const struct hl_agent_options *c = &run->now.plan->options;
	int code = 0;

	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "sampling at %u Hz into '%s'; Ctrl-C ends\n", c->recording.frequency,
			      c->store);
	if (is_disabled(run)) {
		run->off_ns = hl_realtime_ns();
		say_sampling(run, false);
	} else {
		code = switch_on(run, err);
	}
	if (!code)
		(void)hl_notify("READY=1");
	while (!run->end && !code) {
		wait_a_second(run);
		code = do_one_second(run, err);
	}
	return finish(run, code, err);
}

int hl_agent_run(const struct hl_agent_options *options, struct hl_err *err)
{
	struct run run = { .metrics = hl_metrics_new(), .graphs = hl_graphs_new(), .time_fd = -1 };
	int code;

	(void)umask(027);
	(void)sigemptyset(&run.signals);
	(void)sigaddset(&run.signals, SIGINT);
	(void)sigaddset(&run.signals, SIGTERM);
	(void)sigaddset(&run.signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &run.signals, NULL);
	code = run.metrics && run.graphs ? hl_plan_new(options, &run.now.plan, err)
					 : hl_err_set(err, -ENOMEM, "no memory");
	if (!code)
		code = hl_settings_blame(&options->settings, "metrics", tell_metrics(&run, run.now.plan, err),
					 err);
	if (!code)
		code = run_all(&run, err);
	free_work(&run.now, NULL);
	hl_metrics_free(run.metrics);
	hl_graphs_free(run.graphs);
	hl_cleanup_close(&run.time_fd);
	hl_log_repeats();
	return code;
}
