// SPDX-License-Identifier: BSD-2-Clause
#include "command/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "command/child.h"
#include "command/header.h"
#include "command/kernel_names.h"
#include "command/outputs.h"
#include "command/resolve.h"
#include "command/session.h"
#include "process/tree.h"
#include "profile/profile.h"
#include "render/render.h"
#include "symd/client.h"

enum { LEAF_INSN, LEAF_FUNCTION };
enum { SYNTAX_ATT, SYNTAX_INTEL };
enum { DEFAULT_SECONDS = 10 };

struct record {
	bool all_cpus, call_graph, kernel_walk, pprof_insn;
	struct hl_numbers pids;
	uint64_t duration_ns;
	uint32_t frequency, max_depth, map_samples, map_stacks, map_processes, unwind_mb, slow_us;
	const char *event, *format;
	struct hl_words outputs;
	int leaf, syntax;
};

static const char *const leaf_names[] = { "insn", "function", NULL };
static const char *const syntax_names[] = { "att", "intel", NULL };

static const struct hl_option options[] = {
	HL_HEADING("What is sampled"),
	{ "pid", 'p', HL_NUMBERS(struct record, pids), .min = 1, .max = 4194304, .rejects = "COMMAND",
	  .metavar = "PID,…", .help = "these processes and their descendants only" },
	{ "duration", 'd', HL_SECONDS(struct record, duration_ns), .min = 1000000,
	  .max = 86400 * HL_SECOND_NS, .metavar = "SECONDS",
	  .help = "how long; without it 10 s, or until COMMAND ends" },
	{ "frequency", 'F', HL_UINT(struct record, frequency), .min = 1, .max = 20000, .default_text = "99",
	  .metavar = "HZ", .help = "samples a second on each CPU" },
	{ "event", 'e', HL_STRING(struct record, event), .metavar = "EVENT",
	  .help = "what to count; without it the best that opens: cycles, as precise as can be, else "
		  "cpu-clock" },
	{ "all-cpus", 'a', HL_FLAG(struct record, all_cpus), .rejects = "pid",
	  .help = "the whole host, as it is without -p and COMMAND; accepted as perf's spelling" },
	{ "call-graph", 'g', HL_FLAG(struct record, call_graph),
	  .help = "stacks, which are always recorded; accepted as perf's spelling" },
	HL_HEADING("What is written"),
	{ "output", 'o', HL_STRINGS(struct record, outputs), .metavar = "FILE",
	  .help = "format by extension: .html .svg .folded .txt .pb.gz; - is stdout; may be given several "
		  "times" },
	{ "format", 'f', HL_STRING(struct record, format), .metavar = "FORMAT",
	  .help = "html, svg, folded, txt or pb.gz, whatever the names of the files" },
	{ "leaf", 0, HL_CHOICE(struct record, leaf), .choices = leaf_names, .default_text = "insn",
	  .metavar = "WHAT", .help = "what stacks end in" },
	{ "syntax", 0, HL_CHOICE(struct record, syntax), .choices = syntax_names, .default_text = "att",
	  .metavar = "SYNTAX", .help = "of instructions" },
	{ "pprof-insn", 0, HL_FLAG(struct record, pprof_insn),
	  .help = "pb.gz: the instruction is the innermost line of its location" },
	HL_HEADING("Limits"),
	{ "max-depth", 0, HL_UINT(struct record, max_depth), .min = 1, .max = HL_MAX_FRAMES,
	  .default_text = "255", .metavar = "N",
	  .help = "user frames of a stack; deeper ones are cut and counted" },
	{ "map-samples", 0, HL_UINT(struct record, map_samples), .max = 2 << 20, .metavar = "N",
	  .help = "distinct samples a second; without it by CPUs and frequency" },
	{ "map-stacks", 0, HL_UINT(struct record, map_stacks), .max = 2 << 20, .metavar = "N",
	  .help = "distinct stacks a second; without it twice the samples" },
	{ "map-processes", 0, HL_UINT(struct record, map_processes), .max = 1 << 20, .metavar = "N",
	  .help = "processes a second; without it 8192" },
	{ "unwind-memory", 0, HL_UINT(struct record, unwind_mb), .min = 1, .max = HL_SLABS,
	  .default_text = "128", .metavar = "MB",
	  .help = "memory of unwind tables; beyond it those unused for longest go, and are counted" },
	{ "kernel-walk", 0, HL_FLAG(struct record, kernel_walk), .hidden = true,
	  .help = "walk user stacks as where the self-test fails" },
	{ "slow-program", 0, HL_UINT(struct record, slow_us), .max = 10000, .hidden = true,
	  .metavar = "MICROSECONDS", .help = "time that the sampling program loses, for tests" },
};

/* What one run of the command holds; released by done(). */
struct run {
	const struct record *config;
	struct hl_event_choice event;
	struct hl_outputs *outputs;
	struct hl_child child;
	struct hl_session *session;
	struct hl_symd *symd;
	struct hl_profile *profile;
	struct hl_window window;
	struct hl_header header;
	sigset_t signals;
	bool terminal; /* stderr is one: show progress */
};

static void done(struct run *run)
{
	hl_profile_free(run->profile);
	hl_symd_free(run->symd);
	hl_window_done(&run->window);
	hl_session_free(run->session);
	hl_child_done(&run->child);
	hl_outputs_free(run->outputs);
}

/* Adds the wanted processes and the descendants that they have now. */
static int add_trees(struct run *run, int proc_fd, struct hl_err *err)
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

static int add_targets(struct run *run, struct hl_err *err)
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

static bool targets_alive(const struct run *run)
{
	_cleanup_close_ int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct hl_numbers *wanted = &run->config->pids;

	for (size_t i = 0; i < wanted->n; i++)
		if (hl_process_exists(proc_fd, (pid_t)wanted->items[i]))
			return true;
	return wanted->n == 0;
}

static void show_progress(const struct run *run, uint64_t elapsed_ns)
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
static bool wait_a_second(struct run *run, uint64_t left_ns)
{
	uint64_t wait_ns = left_ns < HL_SECOND_NS ? left_ns : HL_SECOND_NS;
	struct timespec wait = { (time_t)(wait_ns / HL_SECOND_NS), (long)(wait_ns % HL_SECOND_NS) };
	int signal = sigtimedwait(&run->signals, NULL, &wait);

	if (signal == SIGCHLD)
		return run->child.pid && hl_child_ended(&run->child);
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

static int sample(struct run *run, struct hl_err *err)
{
	bool follows_command = run->child.pid > 0;
	uint64_t length = run->config->duration_ns, start = hl_monotonic_ns(), elapsed;
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
		show_progress(run, hl_monotonic_ns() - start);
	}
	return code;
}

static int prepare(struct run *run, char **rest, struct hl_err *err)
{
	const struct record *c = run->config;
	struct hl_capture_options capture = {
		.event = &run->event,
		.frequency = c->frequency,
		.max_depth = c->max_depth,
		.map_samples = c->map_samples,
		.map_stacks = c->map_stacks,
		.map_processes = c->map_processes,
		.unwind_mb = c->unwind_mb,
		.only_targets = c->pids.n > 0 || rest[0],
		.kernel_walk = c->kernel_walk,
		.slow_us = c->slow_us,
	};
	int code = hl_outputs_open(&c->outputs, c->format, &run->outputs, err);

	if (!code)
		code = hl_event_choose(c->event, c->frequency, &run->event, err);
	if (code == -EINVAL) /* no such event, modifier or frequency */
		code = HL_EXIT_USAGE;
	if (!code && rest[0])
		code = hl_child_prepare(&run->child, rest, err);
	if (!code)
		code = hl_session_new(&capture, &run->session, err);
	if (!code)
		code = add_targets(run, err);
	return code;
}

static int capture(struct run *run, char **rest, struct hl_err *err)
{
	int code = hl_session_start(run->session, err);

	if (!code && rest[0])
		code = hl_child_go(&run->child, rest[0], err);
	if (!code)
		code = sample(run, err);
	if (!code)
		code = hl_session_stop(run->session, &run->window, err);
	return code;
}

static int build_profile(struct run *run, struct hl_err *err)
{
	struct hl_kernel_names kernel = { 0 };
	struct hl_resolve resolve = {
		.kernel = &kernel,
		.window = &run->window,
		.files = hl_session_files(run->session),
		.code_files = hl_session_code_files(run->session),
		.until_ns = hl_session_times(run->session).end_monotonic_ns,
		.instructions = run->config->leaf == LEAF_INSN,
		.intel = run->config->syntax == SYNTAX_INTEL,
		.software_clock = run->event.software_clock,
	};
	struct hl_resolve_counts counts;
	int code;

	resolve.symd = run->symd = hl_symd_new(err);
	if (!run->symd)
		return -ENOMEM;
	run->profile = hl_profile_new();
	if (!run->profile)
		return hl_err_set(err, -ENOMEM, "no memory for the profile");
	code = hl_resolve_run(&resolve, run->profile, &counts, err);
	if (!code && hl_profile_finish(run->profile))
		code = hl_err_set(err, -ENOMEM, "no memory for the profile");
	if (code)
		return code;
	hl_header_fill(&run->header, run->session, &run->event, run->config->frequency, &run->window, &counts,
		       &kernel);
	hl_profile_set_meta(run->profile, &run->header.meta);
	return 0;
}

static int run_record(void *config, char **rest, struct hl_err *err)
{
	struct run run = {
		.config = config,
		.child = { .go = -1, .sad = -1 },
		.terminal = isatty(STDERR_FILENO),
	};
	struct hl_render_options render = { 0 };
	struct hl_session_times times;
	int code;

	(void)sigemptyset(&run.signals);
	(void)sigaddset(&run.signals, SIGINT);
	(void)sigaddset(&run.signals, SIGTERM);
	(void)sigaddset(&run.signals, SIGHUP);
	(void)sigaddset(&run.signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &run.signals, NULL);
	code = prepare(&run, rest, err);
	if (!code)
		code = capture(&run, rest, err);
	if (!code)
		code = build_profile(&run, err);
	if (run.terminal && run.session)
		(void)fprintf(stderr, "\n");
	if (!code) {
		times = hl_session_times(run.session);
		render.instruction_lines = run.config->pprof_insn;
		code = hl_outputs_write(run.outputs, run.profile, &render, times.start_ns, times.elapsed_ns,
					err);
	}
	if (!code && run.terminal)
		hl_outputs_print(run.outputs, stderr);
	done(&run);
	return code;
}

const struct hl_command hl_command_record = {
	.name = "record",
	.summary = "profile this host once and write flame graphs that end in instructions",
	.usage = "[OPTION…] [-- COMMAND [ARGUMENT…]]",
	.description =
		"Samples every CPU and writes what ran, from the process down to the instruction that was\n"
		"executing. Without -o, a page is written to the current directory, named by host, start "
		"and\n"
		"length. Ctrl-C ends early and still writes. A COMMAND that outlives -d is asked to end "
		"(SIGTERM).",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.config_size = sizeof(struct record),
	.rest = "COMMAND",
	.rest_is_command = true,
	.run = run_record,
};
