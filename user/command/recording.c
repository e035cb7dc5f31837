// SPDX-License-Identifier: BSD-2-Clause
#include "command/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "command/child.h"
#include "command/header.h"
#include "command/host_name.h"
#include "command/kernel_names.h"
#include "command/living_code.h"
#include "command/named_files.h"
#include "command/privileges.h"
#include "command/resolve.h"
#include "command/selection.h"
#include "process/cgroup.h"
#include "process/container_socket.h"
#include "process/debuginfod.h"
#include "process/tree.h"
#include "profile/profile.h"
#include "symd/client.h"
#include "symd/client_cache.h"

enum { DEFAULT_SECONDS = 10 };
/* For all debug files that are fetched: the end of a recording is not to be waited for longer. */
enum { FETCH_MS = 20000 };

struct hl_recording {
	const struct hl_recording_options *config; /* while it is made */
	struct hl_event_choice event;
	struct hl_child child;
	struct hl_selection *selection;
	struct hl_session *session;
	struct hl_symd *symd;
	struct hl_cache *cache; /* NULL: none */
	char cache_note[600];   /* why, where one was wanted */
	struct hl_profile *profile, *detailed;
	struct hl_window window;
	struct hl_header header;
	sigset_t signals;
	bool terminal; /* stderr is one: show progress */
};

const char *const hl_recording_syntaxes[] = { "att", "intel", NULL };

void hl_recording_free(struct hl_recording *run)
{
	if (!run)
		return;
	hl_profile_free(run->profile);
	hl_profile_free(run->detailed);
	hl_symd_free(run->symd);
	hl_window_done(&run->window);
	hl_session_free(run->session);
	hl_cache_close(run->cache);
	hl_child_done(&run->child);
	hl_selection_free(run->selection);
	free(run);
}
HL_DEFINE_CLEANUP(struct hl_recording, hl_recording_free)

/* Adds the wanted processes and the descendants that they have now. */
static int add_trees(struct hl_recording *run, int proc_fd, struct hl_err *err)
{
	const struct hl_numbers *wanted = &run->config->pids;
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;
	int code = hl_process_tree(proc_fd, (const pid_t *)wanted->items, wanted->n, &pids, &n);

	if (code)
		return hl_err_errno(err, code, "cannot list the processes");
	for (size_t i = 0; i < n && !code; i++)
		code = hl_capture_add_target(hl_session_capture(run->session), pids[i], err);
	return code;
}

static int add_targets(struct hl_recording *run, struct hl_err *err)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct hl_numbers *wanted = &run->config->pids;
	int code;

	if (!run->child.pid && !wanted->n)
		return 0;
	if (!hl_process_ids_are_the_hosts(proc_fd))
		return hl_err_set(
			err, -ENOTSUP,
			"process ids here are a container's own, the kernel's are others: leave -p and "
			"COMMAND out, or start the container with --pid=host");
	if (run->child.pid)
		return hl_capture_add_target(hl_session_capture(run->session), run->child.pid, err);
	for (size_t i = 0; i < wanted->n; i++)
		if (!hl_process_exists(proc_fd, (pid_t)wanted->items[i]))
			return hl_err_set(err, -ESRCH, "there is no process %u", wanted->items[i]);
	code = add_trees(run, proc_fd, err);
	/* Again: a child born between the listing and the adding of its parent is in neither. */
	return code ? code : add_trees(run, proc_fd, err);
}

static bool targets_alive(const struct hl_recording *run)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct hl_numbers *wanted = &run->config->pids;

	for (size_t i = 0; i < wanted->n; i++)
		if (hl_process_exists(proc_fd, (pid_t)wanted->items[i]))
			return true;
	return wanted->n == 0;
}

static void show_progress(const struct hl_recording *run, uint64_t elapsed_ns)
{
	struct hl_capture_stats stats;

	if (!run->terminal)
		return;
	hl_capture_stats(hl_session_capture(run->session), &stats);
	(void)fprintf(stderr, "\r%6.1f s  %llu samples  %llu lost ", (double)elapsed_ns / 1e9,
		      (unsigned long long)(stats.counters.value[HL_COUNTER_SEEN] -
					   stats.counters.value[HL_COUNTER_IDLE]),
		      (unsigned long long)hl_header_lost(&stats.counters, &run->window));
}

/* Waits until the next drain is due, or a signal. True: it is time to end. */
static bool wait_a_second(struct hl_recording *run, uint64_t left_ns)
{
	uint64_t wait_ns = left_ns < HL_SECOND_NS ? left_ns : HL_SECOND_NS;
	struct timespec wait = { (time_t)(wait_ns / HL_SECOND_NS), (long)(wait_ns % HL_SECOND_NS) };
	int signal = sigtimedwait(&run->signals, NULL, &wait);

	if (signal == SIGCHLD)
		return run->child.pid && hl_child_ended(&run->child);
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static int sample(struct hl_recording *run, struct hl_err *err)
{
	bool follows_command = run->child.pid > 0;
	uint64_t length = run->config->duration_ns, start = hl_monotonic_ns(), elapsed;
	uint64_t kept_from = run->config->leave_out_ns;
	bool end = false;
	int code = 0;

	if (!length)
		length = follows_command ? UINT64_MAX : DEFAULT_SECONDS * HL_SECOND_NS;
	while (!end && !code) {
		elapsed = hl_monotonic_ns() - start;
		if (elapsed >= length)
			break;
		end = wait_a_second(run, length - elapsed) || !targets_alive(run);
		code = hl_session_drain(run->session, &run->window, err);
		elapsed = hl_monotonic_ns() - start;
		if (kept_from && elapsed < kept_from + HL_SECOND_NS / 2)
			hl_window_done(&run->window);
		show_progress(run, elapsed);
	}
	return code;
}

int hl_recording_open_cache(const struct hl_recording_options *options, struct hl_cache **ret,
			    struct hl_err *err)
{
	*ret = NULL;
	if (strcmp(options->cache, "none") == 0)
		return 0;
	return hl_cache_open(options->cache, (uint64_t)options->cache_mb << 20, ret, err);
}

/* Without a cache all is made anew, which is no reason to fail; the header says so. */
static void open_cache(struct hl_recording *run)
{
	struct hl_err err = { "" };

	if (hl_recording_open_cache(run->config, &run->cache, &err))
		(void)snprintf(run->cache_note, sizeof(run->cache_note), "files are read anew each time: %s",
			       err.text);
}

struct hl_capture_options hl_recording_capture(const struct hl_recording_options *options,
					       const struct hl_event_choice *event)
{
	return (struct hl_capture_options){
		.event = event,
		.frequency = options->frequency,
		.max_depth = options->max_depth,
		.map_samples = options->map_samples,
		.map_stacks = options->map_stacks,
		.map_processes = options->map_processes,
		.unwind_mb = options->unwind_mb,
		.kernel_walk = options->kernel_walk,
		.slow_us = options->slow_us,
	};
}

int hl_recording_check_sockets(const struct hl_recording_options *options, struct hl_err *err)
{
	for (size_t i = 0; i < options->container_sockets.n; i++)
		if (hl_container_socket_check(options->container_sockets.items[i], err))
			return HL_EXIT_USAGE;
	return 0;
}

static int prepare(struct hl_recording *run, char **command, struct hl_err *err)
{
	const struct hl_recording_options *c = run->config;
	struct hl_capture_options capture = hl_recording_capture(c, &run->event);
	const struct hl_symd_options tables = { .memory_mb = c->symd_mb, .timeout_ms = HL_TABLES_MS };
	const struct hl_symd_options names = { .memory_mb = c->symd_mb, .timeout_ms = HL_NAMES_MS };
	int code = hl_host_name_check(c->host, err);

	if (!code)
		code = hl_recording_check_sockets(c, err);
	if (!code)
		code = hl_selection_new(&c->by, &c->where, &c->exclude, &run->selection, err);
	if (!code && c->flat)
		hl_selection_flatten(run->selection);
	capture.only_targets = c->pids.n > 0 || command[0];
	if (c->debuginfod)
		hl_debuginfod_prepare(); /* while there is the right to */
	if (!code)
		code = hl_event_choose(c->event, c->frequency, &run->event, err);
	if (code == -EINVAL) /* no such event, modifier or frequency */
		code = HL_EXIT_USAGE;
	if (!code && command[0])
		code = hl_child_prepare(&run->child, command, err);
	if (!code)
		open_cache(run);
	if (!code)
		code = hl_session_new(&capture, &tables, run->cache, &run->session, err);
	if (!code) {
		/* Now, so that no recording is made in vain. */
		run->symd = hl_symd_new_with(&names, err);
		code = run->symd ? 0 : -ECHILD;
	}
	if (!code && (c->detailed || hl_selection_needs_proc(run->selection)))
		code = hl_session_watch_identities(run->session, &c->container_sockets, err);
	if (!code)
		code = add_targets(run, err);
	return code;
}

static int capture(struct hl_recording *run, char **command, struct hl_err *err)
{
	int code = hl_session_start(run->session, err);

	if (!code)
		code = hl_privileges_drop(run->config->elsewhere, err);
	if (!code && command[0])
		code = hl_child_go(&run->child, command[0], err);
	if (!code)
		code = sample(run, err);
	if (!code)
		code = hl_session_stop(run->session, &run->window, err);
	return code;
}

static uint32_t fetch_ms(const struct hl_recording_options *options)
{
	return options->debuginfod_ns ? (uint32_t)(options->debuginfod_ns / 1000000) : FETCH_MS;
}

/* A profile of what @resolve says, finished; NULL with the reason. */
static int make_profile(const struct hl_resolve *resolve, struct hl_resolve_counts *counts,
			struct hl_profile **ret, struct hl_err *err)
{
	int code;

	*ret = hl_profile_new();
	if (!*ret)
		return hl_err_set(err, -ENOMEM, "no memory for the profile");
	code = hl_resolve_run(resolve, *ret, counts, err);
	if (!code && hl_profile_finish(*ret))
		code = hl_err_set(err, -ENOMEM, "no memory for the profile");
	return code;
}

/* What @resolve has made a profile of, made again in detail. */
static int make_detailed(struct hl_recording *run, const struct hl_resolve *resolve, struct hl_err *err)
{
	struct hl_resolve detailed = *resolve;
	struct hl_resolve_counts counts; /* as of the first, but for files that need not be read again */

	if (!run->config->detailed)
		return 0;
	detailed.detailed = detailed.again = true;
	return make_profile(&detailed, &counts, &run->detailed, err);
}

static int build_profile(struct hl_recording *run, struct hl_err *err)
{
	uint64_t refused;
	struct hl_kernel_names kernel = { 0 };
	char host[HL_HOST_NAME_SIZE];
	struct hl_named_files named = { 0 };
	struct hl_resolve resolve = {
		.named = &named,
		.kernel = &kernel,
		.symd = run->symd,
		.cache = run->cache,
		.window = &run->window,
		.reach = hl_session_reach(run->session),
		.files = hl_session_files(run->session),
		.code_files = hl_session_code_files(run->session),
		.moved = hl_session_moved_code(run->session, &refused),
		.until_ns = hl_session_times(run->session).end_monotonic_ns,
		.instructions = !run->config->no_instructions,
		.loops = run->config->loops,
		.line_tier = run->config->line_tier,
		.inlines = run->config->inlines,
		.lines = run->config->lines,
		.debuginfod_ms = run->config->debuginfod ? fetch_ms(run->config) : 0,
		.debug_memory = (uint64_t)run->config->debug_mb << 20,
		.intel = run->config->syntax == HL_SYNTAX_INTEL,
		.software_clock = run->event.software_clock,
		.foreign_ids = hl_session_has_foreign_ids(run->session),
		.selection = run->selection,
		.cgroups = hl_session_cgroups(run->session),
		.exes = hl_session_exes(run->session),
		.host = host,
		.event = run->event.name,
	};
	struct hl_resolve_counts counts;
	struct hl_header_facts facts = {
		.capture = hl_session_capture(run->session),
		.session = run->session,
		.event = &run->event,
		.frequency = run->config->frequency,
		.window = &run->window,
		.counts = &counts,
		.kernel = &kernel,
		.names = run->symd,
		.cache = run->cache,
		.times = hl_session_times(run->session),
		.moved_refused = refused,
		.unrooted = hl_session_unrooted(run->session),
		.host = run->config->host,
	};
	int code;

	hl_host_name(run->config->host, host);
	code = make_profile(&resolve, &counts, &run->profile, err);
	if (!code)
		code = make_detailed(run, &resolve, err);
	hl_named_files_done(&named);
	if (code)
		return code;
	hl_capture_stats(hl_session_capture(run->session), &facts.stats);
	hl_reach_stats(hl_session_reach(run->session), &facts.reach);
	if (hl_session_cgroups(run->session))
		hl_cgroups_stats(hl_session_cgroups(run->session), &facts.cgroups);
	hl_header_fill(&run->header, &facts);
	if (run->cache_note[0])
		hl_header_note(&run->header, run->cache_note);
	hl_profile_set_meta(run->profile, &run->header.meta);
	if (run->detailed)
		hl_profile_set_meta(run->detailed, &run->header.meta);
	return 0;
}

/* From here on they end the recording, not the program. */
static void block_signals(sigset_t *signals)
{
	(void)sigemptyset(signals);
	(void)sigaddset(signals, SIGINT);
	(void)sigaddset(signals, SIGTERM);
	(void)sigaddset(signals, SIGHUP);
	(void)sigaddset(signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, signals, NULL);
}

int hl_recording_make(const struct hl_recording_options *options, char **command, struct hl_recording **ret,
		      struct hl_err *err)
{
	_cleanup_(hl_recording_freep) struct hl_recording *run = calloc(1, sizeof(*run));
	char *none[] = { NULL };
	int code;

	if (!run)
		return hl_err_set(err, -ENOMEM, "no memory for a recording");
	run->config = options;
	run->child = (struct hl_child){ .go = -1, .sad = -1 };
	run->terminal = isatty(STDERR_FILENO);
	command = command ? command : none;
	block_signals(&run->signals);
	code = prepare(run, command, err);
	if (!code)
		code = capture(run, command, err);
	if (!code)
		code = build_profile(run, err);
	if (run->terminal && run->session)
		(void)fprintf(stderr, "\n");
	if (!code)
		*ret = TAKE_PTR(run);
	return code;
}

const struct hl_profile *hl_recording_profile(const struct hl_recording *recording)
{
	return recording->profile;
}

const struct hl_profile *hl_recording_detailed(const struct hl_recording *recording)
{
	return recording->detailed;
}

struct hl_living_code hl_recording_living_code(const struct hl_recording *recording)
{
	return (struct hl_living_code){ .symd = recording->symd,
					.window = &recording->window,
					.code_files = hl_session_code_files(recording->session),
					.until_ns = hl_session_times(recording->session).end_monotonic_ns };
}

struct hl_symd *hl_recording_symd(const struct hl_recording *recording)
{
	return recording->symd;
}

struct hl_session_times hl_recording_times(const struct hl_recording *recording)
{
	return hl_session_times(recording->session);
}

bool hl_recording_on_terminal(const struct hl_recording *recording)
{
	return recording->terminal;
}
