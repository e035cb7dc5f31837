// SPDX-License-Identifier: BSD-2-Clause
#include "command/keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "command/bodies.h"
#include "command/header.h"
#include "command/identity.h"
#include "command/kernel_names.h"
#include "command/metrics.h"
#include "command/named_files.h"
#include "command/privileges.h"
#include "command/resolve.h"
#include "command/rewriter.h"
#include "command/stored.h"
#include "process/cgroup.h"
#include "process/codefiles.h"
#include "process/files.h"
#include "process/moved.h"
#include "profile/profile.h"
#include "store/batch.h"
#include "store/store.h"
#include "symd/client.h"

/*
 * Windows that wait: some always may, so that a store that hangs for a minute costs nothing; more where they are small,
 * as on a host that is too busy to name what it samples.
 */
enum { ALWAYS_WAITING = 6, MAX_WAITING = 60, WAITING_BYTES = 16 << 20, STARTS = 5 };

struct hl_keeper {
	struct hl_keeper_options options;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	struct hl_kept waiting[MAX_WAITING];
	size_t n_waiting;
	struct hl_aligned late; /* windows that found no place */
	uint64_t late_samples, n_put, n_done;
	bool stop;
	_Atomic uint64_t names_cpu_ns;
	/* The thread's. */
	struct hl_symd *symd;
	struct hl_files *files;
	struct hl_named_files named;
	struct hl_kernel_names kernel;
	uint32_t generation;
	uint64_t generation_ns, before_ns; /* when this generation began, and the one before it */
	uint64_t symd_cpu_ns;              /* counted so far, as the next */
	uint64_t unrooted;
	struct hl_reach_stats reach;
	struct hl_cgroups_stats cgroups;
	struct hl_rewriter rewriter;
	struct hl_bodies *bodies; /* NULL: none are kept */
	struct hl_err failure;    /* of the store, as last told; "": it works */
};

void hl_kept_done(struct hl_kept *kept)
{
	hl_window_done(&kept->window);
	hl_code_files_free(kept->code_files);
	hl_moved_code_free(kept->moved);
	*kept = (struct hl_kept){ 0 };
}

/* ---- names --------------------------------------------------------------------------------------------- */

static void forget_names(struct hl_keeper *k)
{
	hl_symd_free(k->symd);
	k->symd = NULL;
	k->symd_cpu_ns = 0;
	hl_named_files_done(&k->named);
	hl_files_free(k->files);
	k->files = NULL;
	k->kernel = (struct hl_kernel_names){ 0 };
}

/* Those of the generation before may still stand in windows that wait. */
static void expire_cgroups(struct hl_keeper *k)
{
	struct hl_cgroups *cgroups = hl_session_cgroups(k->options.session);

	if (cgroups && k->before_ns)
		hl_cgroups_expire(cgroups, k->before_ns);
	k->before_ns = k->generation_ns;
	k->generation_ns = hl_monotonic_ns();
}

static int prepare_names(struct hl_keeper *k, const struct hl_kept *kept, struct hl_err *err)
{
	if (kept->generation != k->generation) {
		forget_names(k);
		expire_cgroups(k);
	}
	k->generation = kept->generation;
	/* What ends one child may end the next; a window is worth more than one try. */
	for (int i = 0; !k->symd && i < STARTS; i++)
		k->symd = hl_symd_new_with(k->options.symd, err);
	if (!k->symd)
		return -ECHILD;
	if (!k->files)
		k->files = hl_files_new(-1, NULL);
	if (!k->files)
		return hl_err_set(err, -ENOMEM, "no memory for the files of a window");
	hl_session_copy_files(k->options.session, &kept->window, kept->moved, k->files);
	return 0;
}

/* Where samples of a window go. */
struct taking {
	struct hl_storing storing;
	struct hl_metrics *metrics;
	struct hl_bodies *bodies;
	uint64_t sample_ns; /* that one stands for; 0: its period says so */
};

static int take(void *ctx, const struct hl_sample *sample, const struct hl_identity *identity,
		const uint32_t *frames, size_t n)
{
	struct taking *t = ctx;
	uint64_t ns = t->sample_ns ? sample->count.samples * t->sample_ns : sample->count.periods;

	hl_metrics_add_service(t->metrics, identity->value[HL_BY_SERVICE], ns);
	if (t->bodies && hl_bodies_count(t->bodies, hl_batch_profile(t->storing.batch), sample, frames, n))
		return -ENOMEM;
	return hl_storing_take(&t->storing, sample, identity, frames, n);
}

static int name_samples(struct hl_keeper *k, const struct hl_kept *kept, struct hl_batch *batch,
			struct hl_resolve_counts *counts, struct hl_err *err)
{
	struct taking taking = { .storing = { .batch = batch },
				 .metrics = k->options.metrics,
				 .bodies = k->bodies };
	int code;
	const struct hl_resolve resolve = {
		.window = &kept->window,
		.reach = hl_session_reach(k->options.session),
		.files = k->files,
		.code_files = kept->code_files,
		.moved = kept->moved,
		.until_ns = kept->end_monotonic_ns,
		.symd = k->symd,
		.cache = k->options.cache,
		.kernel = &k->kernel,
		.instructions = true,
		.intel = k->options.intel,
		.software_clock = k->options.event->software_clock,
		.foreign_ids = hl_session_has_foreign_ids(k->options.session),
		.named = &k->named,
		.selection = k->options.selection,
		.cgroups = hl_session_cgroups(k->options.session),
		.exes = hl_session_exes(k->options.session),
		.take = take,
		.take_ctx = &taking,
	};

	if (!k->options.event->software_clock)
		taking.sample_ns = HL_SECOND_NS / kept->frequency;
	if (k->bodies)
		hl_bodies_begin(k->bodies, kept->when.start_ns / HL_DAY_NS);
	code = hl_resolve_run(&resolve, hl_batch_profile(batch), counts, err);
	hl_storing_done(&taking.storing);
	if (!code && k->bodies && hl_bodies_collect(k->bodies, &resolve, batch))
		code = hl_err_set(err, -ENOMEM, "no memory for the code of functions");
	return code;
}

/* ---- one window ---------------------------------------------------------------------------------------- */

/* CPU time of the symbolizer since the last window. */
static uint64_t symd_cpu(struct hl_keeper *k)
{
	struct hl_symd_stats stats;
	uint64_t since;

	hl_symd_stats(k->symd, &stats);
	since = stats.cpu_ns > k->symd_cpu_ns ? stats.cpu_ns - k->symd_cpu_ns : 0;
	k->symd_cpu_ns = stats.cpu_ns;
	atomic_fetch_add(&k->names_cpu_ns, since);
	return since;
}

/* What opening files came to since the last window. */
static struct hl_reach_stats reach_since(struct hl_keeper *k)
{
	struct hl_reach_stats now, since;

	hl_reach_stats(hl_session_reach(k->options.session), &now);
	since = now;
	since.unanswered -= k->reach.unanswered;
	since.untried -= k->reach.untried;
	since.copied -= k->reach.copied;
	since.uncopied -= k->reach.uncopied;
	since.killed -= k->reach.killed;
	since.cpu_ns -= k->reach.cpu_ns;
	k->reach = now;
	return since;
}

static struct hl_cgroups_stats cgroups_since(struct hl_keeper *k)
{
	struct hl_cgroups_stats now = { 0 }, since;

	if (hl_session_cgroups(k->options.session))
		hl_cgroups_stats(hl_session_cgroups(k->options.session), &now);
	since = now;
	since.refused -= k->cgroups.refused;
	since.labels_dropped -= k->cgroups.labels_dropped;
	since.dropped -= k->cgroups.dropped;
	since.failures -= k->cgroups.failures;
	k->cgroups = now;
	return since;
}

static void fill_header(struct hl_keeper *k, const struct hl_kept *kept, struct hl_resolve_counts *counts,
			struct hl_header *header)
{
	uint64_t length = kept->when.end_ns - kept->when.start_ns;
	uint64_t unrooted = hl_session_unrooted(k->options.session);
	const struct hl_reach_stats reach = reach_since(k);
	const struct hl_header_facts facts = {
		.capture = hl_session_capture(k->options.session),
		.event = k->options.event,
		.frequency = kept->frequency,
		.window = &kept->window,
		.counts = counts,
		.kernel = &k->kernel,
		.names = k->symd,
		.stats = kept->stats,
		.reach = reach,
		.cgroups = cgroups_since(k),
		.unrooted = unrooted - k->unrooted,
		.host = k->options.host,
		.moved_refused = kept->moved_refused,
		.times = { .start_ns = kept->when.start_ns,
			   .end_ns = kept->when.end_ns,
			   .elapsed_ns = length,
			   .process_cpu_ns = kept->process_cpu_ns + symd_cpu(k) + reach.cpu_ns },
		.of_many = true,
	};

	k->unrooted = unrooted;
	/* Told once, when a file is first met, and with numbers: no note of a window. */
	counts->debug = (struct hl_debug_counts){ 0 };
	hl_header_fill(header, &facts);
	if (kept->note[0])
		hl_header_note(header, kept->note);
}

/* Says when the store begins to fail, and when it works again: each once. */
static void tell(struct hl_keeper *k, int code, const struct hl_err *err)
{
	const char *notice = hl_store_notice(k->options.store);

	if (notice[0])
		hl_log(HL_LOG_WARNING, "store", "%s", notice);
	if (code && !k->failure.text[0])
		hl_log(HL_LOG_WARNING, "store", "windows are lost until this is over: %s", err->text);
	if (!code && k->failure.text[0])
		hl_log(HL_LOG_WARNING, "store", "windows are written again");
	if (code)
		k->failure = *err;
	else
		k->failure.text[0] = '\0';
}

static void lose(struct hl_keeper *k, const struct hl_kept *kept, const char *reason)
{
	uint64_t samples = hl_window_total(&kept->window);

	hl_store_gap(k->options.store, kept->when.start_ns, kept->when.end_ns, samples, reason);
	hl_metrics_lose_window(k->options.metrics, samples);
}

static void keep(struct hl_keeper *k, const struct hl_kept *kept)
{
	_cleanup_(hl_batch_freep) struct hl_batch *batch = hl_batch_new();
	struct hl_resolve_counts counts = { 0 };
	struct hl_header header;
	struct hl_err err = { "" };
	int code = -ENOMEM;

	if (!batch || !kept->code_files || !kept->moved)
		(void)hl_err_set(&err, code, "no memory or descriptors for a window");
	else
		code = prepare_names(k, kept, &err);
	if (!code)
		code = name_samples(k, kept, batch, &counts, &err);
	if (code) {
		lose(k, kept, err.text);
	} else {
		fill_header(k, kept, &counts, &header);
		code = hl_store_write(k->options.store, &header.meta, batch, &err);
		hl_metrics_add_window(k->options.metrics, &header.meta, code == 0);
	}
	tell(k, code, &err);
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* Waits for a window. False: there will be none. */
static bool next(struct hl_keeper *k, struct hl_kept *ret)
{
	bool any;

	(void)pthread_mutex_lock(&k->lock);
	while (!k->n_waiting && !k->stop)
		(void)pthread_cond_wait(&k->changed, &k->lock);
	any = k->n_waiting > 0;
	if (any) {
		*ret = k->waiting[0];
		k->n_waiting--;
		memmove(k->waiting, k->waiting + 1, k->n_waiting * sizeof(k->waiting[0]));
	}
	if (k->late_samples || k->late.end_ns)
		hl_store_gap(k->options.store, k->late.start_ns, k->late.end_ns, k->late_samples,
			     "the store was too slow");
	k->late = (struct hl_aligned){ 0 };
	k->late_samples = 0;
	(void)pthread_mutex_unlock(&k->lock);
	return any;
}

static void *run(void *ctx)
{
	struct hl_keeper *k = ctx;
	struct hl_kept kept;
	struct hl_err err = { "" };

	if (hl_store_limits(k->options.store).code_bytes) {
		k->bodies = hl_bodies_new();
		if (!k->bodies)
			hl_log(HL_LOG_WARNING, "store", "no memory: the code of functions is not kept");
	}
	if (hl_privileges_drop(k->options.elsewhere, &err))
		hl_log(HL_LOG_WARNING, "store", "%s", err.text);
	while (next(k, &kept)) {
		keep(k, &kept);
		hl_kept_done(&kept);
		hl_rewriter_look(&k->rewriter, k->options.store);
		(void)pthread_mutex_lock(&k->lock);
		k->n_done++;
		(void)pthread_mutex_unlock(&k->lock);
	}
	hl_rewriter_stop(&k->rewriter);
	forget_names(k);
	hl_bodies_free(k->bodies);
	return NULL;
}

struct hl_keeper *hl_keeper_new(const struct hl_keeper_options *options)
{
	struct hl_keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->options = *options;
	(void)pthread_mutex_init(&k->lock, NULL); /* cannot fail, as the next */
	(void)pthread_cond_init(&k->changed, NULL);
	return k;
}

int hl_keeper_start(struct hl_keeper *k, struct hl_err *err)
{
	int code = pthread_create(&k->thread, NULL, run, k);

	if (code)
		return hl_err_errno(err, -code, "cannot start the thread that writes");
	k->runs = true;
	return 0;
}

static bool has_room(const struct hl_keeper *k)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < k->n_waiting; i++)
		bytes += hl_window_bytes(&k->waiting[i].window);
	return k->n_waiting < ALWAYS_WAITING || (k->n_waiting < MAX_WAITING && bytes < WAITING_BYTES);
}

void hl_keeper_put(struct hl_keeper *k, struct hl_kept *kept)
{
	(void)pthread_mutex_lock(&k->lock);
	k->n_put++;
	if (has_room(k)) {
		k->waiting[k->n_waiting++] = *kept;
		*kept = (struct hl_kept){ 0 };
	} else {
		k->n_done++;
		if (!k->late.end_ns)
			k->late.start_ns = kept->when.start_ns;
		k->late.end_ns = kept->when.end_ns;
		k->late_samples += hl_window_total(&kept->window);
		hl_metrics_lose_window(k->options.metrics, hl_window_total(&kept->window));
	}
	(void)pthread_cond_signal(&k->changed);
	(void)pthread_mutex_unlock(&k->lock);
	hl_kept_done(kept);
}

void hl_keeper_progress(struct hl_keeper *k, uint64_t *ret_put, uint64_t *ret_done)
{
	(void)pthread_mutex_lock(&k->lock);
	*ret_put = k->n_put;
	*ret_done = k->n_done;
	(void)pthread_mutex_unlock(&k->lock);
}

uint64_t hl_keeper_names_cpu_ns(struct hl_keeper *k)
{
	return atomic_load(&k->names_cpu_ns);
}

static void finish(struct hl_keeper *k)
{
	(void)pthread_mutex_lock(&k->lock);
	k->stop = true;
	(void)pthread_cond_signal(&k->changed);
	(void)pthread_mutex_unlock(&k->lock);
	(void)pthread_join(k->thread, NULL);
}

void hl_keeper_free(struct hl_keeper *k)
{
	if (!k)
		return;
	if (k->runs)
		finish(k);
	/* Some are left if the thread could not be started. */
	for (size_t i = 0; i < k->n_waiting; i++) {
		lose(k, &k->waiting[i], "the thread that writes could not be started");
		hl_kept_done(&k->waiting[i]);
	}
	(void)pthread_mutex_destroy(&k->lock);
	(void)pthread_cond_destroy(&k->changed);
	free(k);
}
