// SPDX-License-Identifier: BSD-2-Clause
#include "command/sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "command/cost.h"
#include "command/keeper.h"
#include "command/metrics.h"
#include "command/plan.h"
#include "command/privileges.h"
#include "store/store.h"

/*
 * What is known of files and names is forgotten once in a while, by default each hour, lest it grow for weeks: a
 * new generation begins. Files that nobody has run for as long are let go of in two steps: first the kernel side
 * forgets them; when the windows in which their ids may still stand are written, their ids are free, and only then
 * does the new generation begin. That takes the third drain.
 */
enum { DRAINS = 3 };

/* The caps are looked at as often at least. */
#define LONG_NS (60 * HL_SECOND_NS)

struct hl_sampler {
	const struct hl_plan *plan;
	struct hl_metrics *metrics;
	struct hl_graphs *graphs;
	struct hl_session *session;
	struct hl_keeper *keeper;
	struct hl_kept open; /* the open window */
	struct hl_align align;
	uint64_t paused_ns;            /* when the last pause began, by the monotonic clock */
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
static void close_window(struct hl_sampler *s, struct hl_aligned when)
{
	struct hl_capture_stats now;
	struct hl_cost cost;
	uint64_t refused;

	hl_capture_stats(hl_session_capture(s->session), &now);
	hl_cost_look(s->session, s->keeper, s->graphs, &now, &cost);
	s->open.when = when;
	s->open.end_monotonic_ns = hl_monotonic_ns();
	s->open.stats = stats_since(&now, &s->stats);
	s->open.process_cpu_ns = cost.process_ns + cost.tables_ns + cost.graphs_ns - s->cost.process_ns -
				 s->cost.tables_ns - s->cost.graphs_ns;
	s->open.frequency = hl_caps_frequency(&s->caps);
	hl_caps_say(&s->caps, s->open.note, sizeof(s->open.note));
	s->open.code_files = hl_session_copy_code(s->session);
	s->open.moved = hl_session_copy_moved(s->session, &refused);
	s->open.moved_refused = refused - s->moved_refused;
	s->open.generation = s->generation;
	hl_metrics_add_cost(s->metrics, &s->cost, &cost, s->open.stats.tables_dropped,
			    s->open.stats.tables_refused);
	s->stats = now;
	s->cost = cost;
	s->moved_refused = refused;
	hl_keeper_put(s->keeper, &s->open);
	hl_metrics_set_caps(s->metrics, &s->caps);
	hl_metrics_publish(s->metrics);
}

/* Does what the caps demand, or no longer demand. */
static void obey_caps(struct hl_sampler *s)
{
	struct hl_err err = { "" };
	char said[160];

	hl_caps_say(&s->caps, said, sizeof(said));
	if (said[0])
		hl_log(HL_LOG_WARNING, "caps", "%s", said);
	else
		hl_log(HL_LOG_WARNING, "caps", "below the caps again: sampled at %u Hz", s->caps.frequency);
	hl_session_limit_tables(s->session, hl_caps_tables_mb(&s->caps));
	if (hl_capture_set_frequency(hl_session_capture(s->session), hl_caps_frequency(&s->caps), &err))
		hl_log(HL_LOG_WARNING, "caps", "%s", err.text);
}

/* To be called between two windows, so that one is sampled at one frequency; long ones have to bear it. */
static void look_at_caps(struct hl_sampler *s, const struct hl_cost *cost)
{
	const struct hl_caps_use use = {
		.elapsed_ns = cost->when_ns - s->looked.when_ns,
		.cpu_ns = hl_cost_cpu_ns(cost) - hl_cost_cpu_ns(&s->looked),
		.cpus = cost->cpus,
		.bytes = cost->resident_bytes + cost->map_bytes,
		.table_bytes = cost->table_bytes,
	};

	s->looked = *cost;
	if (hl_caps_look(&s->caps, &use))
		obey_caps(s);
}

/* To be called between two windows. */
static void renew_names(struct hl_sampler *s)
{
	const struct hl_agent_options *c = &s->plan->options;
	uint64_t put, written;

	hl_keeper_progress(s->keeper, &put, &written);
	if (!s->expired_put) {
		if (hl_monotonic_ns() - s->generation_ns < c->generation_ns)
			return;
		hl_session_expire_files(s->session, (unsigned int)(c->generation_ns / HL_SECOND_NS));
		/* The other thread needs a moment, too. */
		s->expired_put = put + 1 + (DRAINS + 2) * HL_SECOND_NS / c->window_ns;
		return;
	}
	if (written < s->expired_put || hl_session_forget_code(s->session))
		return;
	hl_session_reuse_files(s->session);
	s->expired_put = 0;
	s->generation++;
	s->generation_ns = hl_monotonic_ns();
}

int hl_sampler_look(struct hl_sampler *s, struct hl_err *err)
{
	/* What is drained was sampled before: a drain may take long, where others leave it no CPU time. */
	uint64_t wall_ns = hl_realtime_ns(), monotonic_ns = hl_monotonic_ns();
	struct hl_capture_stats stats;
	struct hl_aligned when;
	struct hl_cost cost;
	int code = hl_session_drain(s->session, &s->open.window, err);

	if (code)
		return code;
	if (hl_align_look(&s->align, wall_ns, monotonic_ns, &when)) {
		close_window(s, when);
		look_at_caps(s, &s->cost);
		renew_names(s);
	} else if (hl_monotonic_ns() - s->looked.when_ns > LONG_NS) {
		hl_capture_stats(hl_session_capture(s->session), &stats);
		hl_cost_look(s->session, s->keeper, s->graphs, &stats, &cost);
		look_at_caps(s, &cost);
	}
	return 0;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static int load(struct hl_sampler *s, bool time_is_counted, struct hl_err *err)
{
	const struct hl_plan *plan = s->plan;
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
		.metrics = s->metrics,
	};
	int code;

	capture.time_is_counted = time_is_counted;
	code = hl_session_new(&capture, &tables, plan->cache, &s->session, err);
	if (!code)
		code = hl_session_watch_identities(s->session, &c->container_sockets, err);
	if (code)
		return code;
	keeper.session = s->session;
	s->keeper = hl_keeper_new(&keeper);
	if (!s->keeper)
		return hl_err_set(err, -ENOMEM, "no memory for the thread that writes");
	return hl_session_prepare(s->session, err);
}

int hl_sampler_new(const struct hl_plan *plan, struct hl_metrics *metrics, struct hl_graphs *graphs,
		   bool time_is_counted, struct hl_sampler **ret, struct hl_err *err)
{
	struct hl_sampler *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return hl_err_set(err, -ENOMEM, "no memory to sample");
	s->plan = plan;
	s->metrics = metrics;
	s->graphs = graphs;
	code = load(s, time_is_counted, err);
	if (code) {
		hl_sampler_free(s);
		return code;
	}
	*ret = s;
	return 0;
}

void hl_sampler_free(struct hl_sampler *s)
{
	if (!s)
		return;
	hl_keeper_free(s->keeper);
	hl_session_free(s->session);
	hl_kept_done(&s->open);
	free(s);
}

bool hl_sampler_is_prepared(const struct hl_sampler *s)
{
	return hl_session_is_prepared(s->session);
}

int hl_sampler_start(struct hl_sampler *s, struct hl_err *err)
{
	const struct hl_agent_options *c = &s->plan->options;
	int code = hl_session_start(s->session, err);

	if (code)
		return code;
	hl_caps_init(&s->caps, &c->caps, c->recording.frequency, c->recording.unwind_mb);
	hl_cost_look(s->session, s->keeper, s->graphs, &s->stats, &s->cost);
	s->looked = s->cost;
	s->generation = 1;
	s->generation_ns = hl_monotonic_ns();
	hl_align_start(&s->align, c->window_ns, hl_realtime_ns(), hl_monotonic_ns());
	return 0;
}

int hl_sampler_write(struct hl_sampler *s, struct hl_err *err)
{
	int code;

	hl_store_limit(s->plan->store, &s->plan->options.limits);
	code = hl_keeper_start(s->keeper, err);
	/* All threads have dropped theirs; the next sampler can do with what is left. */
	return code ? code : hl_privileges_drop(s->plan->elsewhere, err);
}

void hl_sampler_pause(struct hl_sampler *s)
{
	s->paused_ns = hl_monotonic_ns();
	hl_session_pause(s->session);
}

void hl_sampler_resume(struct hl_sampler *s)
{
	hl_session_resume(s->session);
	s->paused_ns = 0;
}

int hl_sampler_stop(struct hl_sampler *s, struct hl_err *err)
{
	int code;

	if (!s->paused_ns)
		hl_sampler_pause(s);
	code = hl_session_stop(s->session, &s->open.window, err);
	close_window(s, hl_align_end(&s->align, s->paused_ns));
	return code;
}

bool hl_sampler_has_written(const struct hl_sampler *s)
{
	uint64_t put, done;

	hl_keeper_progress(s->keeper, &put, &done);
	return put == done;
}
