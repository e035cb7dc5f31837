// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include "capture/capture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "capture/event.h"
#include "harness.h"
#include "sample/window.h"

/* These tests count: every sample that the programs saw is in a window or in a counter, not one more. */

static struct hl_event_choice event;
static unsigned int precise; /* asked of the clock, which accepts it and stays as it is */
static struct hl_err err;

static struct hl_capture *start(struct hl_capture_options *options)
{
	struct hl_capture *capture = NULL;

	if (geteuid() != 0)
		SKIP("needs root");
	CHECK_INT(hl_event_choose("cpu-clock", options->frequency, &event, &err), 0);
	event.precise = precise;
	options->event = &event;
	if (!options->max_depth)
		options->max_depth = 127;
	if (hl_capture_new(options, &capture, &err) || hl_capture_start(capture, &err))
		FAIL("%s", err.text);
	return capture;
}

static bool has_stack(const struct hl_window *window, uint64_t id)
{
	return id == HL_STACK_NONE || id == HL_STACK_LOST || hl_window_stack(window, id);
}

static uint64_t total;

/*
 * One drain is a window of its own. A run that still writes to a side that is being drained puts its stack
 * into one window and its count into another.
 */
static void drain(struct hl_capture *capture)
{
	struct hl_window window = { 0 };

	if (hl_capture_drain(capture, &window, &err))
		FAIL("%s", err.text);
	for (size_t i = 0; i < window.n_samples; i++)
		if (!has_stack(&window, window.samples[i].key.user_stack) ||
		    !has_stack(&window, window.samples[i].key.kernel_stack) ||
		    !hl_window_process(&window, &window.samples[i].key.process))
			FAIL("a sample's stack or process is in another window");
	CHECK(window.lost == 0);
	total += hl_window_total(&window);
	hl_window_done(&window);
}

/* Ends the capture and compares all that was counted on both ways. Returns the number of lost samples. */
static uint64_t settle(struct hl_capture *capture)
{
	struct hl_capture_stats stats;
	const __u64 *v = stats.counters.value;
	uint64_t lost = 0;

	hl_capture_stop(capture);
	drain(capture);
	drain(capture);
	hl_capture_stats(capture, &stats);
	for (int i = HL_COUNTER_NO_SIDE; i <= HL_COUNTER_COUNTS_OTHER; i++)
		lost += v[i];
	NOTE("seen %llu, idle %llu, filtered %llu, kept %llu, lost %llu",
	     (unsigned long long)v[HL_COUNTER_SEEN], (unsigned long long)v[HL_COUNTER_IDLE],
	     (unsigned long long)v[HL_COUNTER_FILTERED], (unsigned long long)total, (unsigned long long)lost);
	CHECK_INT(v[HL_COUNTER_SEEN], v[HL_COUNTER_IDLE] + v[HL_COUNTER_FILTERED] + total + lost);
	return lost;
}

/* A busy child for every CPU, so that there is something to count. */
static pid_t burn(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		volatile uint64_t x = 1;

		for (;;)
			x = x * 3 + 1;
	}
	CHECK(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static uint64_t run_for(unsigned int drains, unsigned int milliseconds, struct hl_capture_options *options)
{
	struct hl_capture *capture = start(options);
	pid_t child = burn();
	uint64_t lost;

	for (unsigned int i = 0; i < drains; i++) {
		(void)usleep(milliseconds * 1000);
		drain(capture);
	}
	lost = settle(capture);
	CHECK(total > 0);
	end(child);
	hl_capture_free(capture);
	return lost;
}

HL_TEST(self_test_passes_here)
{
	struct hl_capture_options options = { .frequency = 99 };
	struct hl_capture *capture = start(&options);
	const char *why;

	if (hl_capture_walk(capture, &why) != HL_CAPTURE_WALK_OWN)
		FAIL("%s", why);
	hl_capture_free(capture);
}

/* Instructions that the verifier looked at, of the loaded program of that name. */
static unsigned int verified_insns(const char *name)
{
	uint32_t id = 0, verified = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = { 0 };
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && strcmp(info.name, name) == 0)
			verified = info.verified_insns;
		(void)close(fd);
	}
	return verified;
}

HL_TEST(the_program_is_cheap_to_verify)
{
	struct hl_capture_options options = { .frequency = 99 };
	struct hl_capture *capture = start(&options);
	unsigned int n = verified_insns("on_sample");

	NOTE("%u instructions verified", n);
	CHECK(n > 0 && n <= 30000);
	hl_capture_free(capture);
}

HL_TEST(windows_add_up_to_what_was_seen)
{
	struct hl_capture_options options = { .frequency = 1999 };

	CHECK_INT(run_for(20, 100, &options), 0);
}

HL_TEST(windows_add_up_with_a_slow_program)
{
	/* A drain that does not wait for running programs loses some of these in nearly every flip. */
	struct hl_capture_options options = { .frequency = 1999, .slow_us = 200 };

	CHECK_INT(run_for(40, 50, &options), 0);
}

/* No hardware is needed to load and run the program in the form that precise events get. */
HL_TEST(windows_add_up_with_a_precise_event)
{
	struct hl_capture_options options = { .frequency = 999 };

	precise = 1;
	CHECK_INT(run_for(10, 100, &options), 0);
}

HL_TEST(windows_add_up_with_the_kernels_walk)
{
	struct hl_capture_options options = { .frequency = 999, .kernel_walk = true };

	CHECK_INT(run_for(10, 100, &options), 0);
}

HL_TEST(a_full_map_loses_only_what_it_counts)
{
	struct hl_capture_options options = { .frequency = 4999, .map_samples = 8, .map_stacks = 8 };

	CHECK(run_for(4, 500, &options) > 0);
}

HL_TEST_TIMEOUT(a_stopped_drain_loses_only_what_it_counts, 90)
{
	struct hl_capture_options options = { .frequency = 499 };

	(void)run_for(1, 10000, &options);
}

/* Weights are right at any frequency: the periods of all samples add up to the time that they stand for. */
HL_TEST(the_frequency_may_change)
{
	static const unsigned int steps[] = { 500, 250, 125, 997 };
	struct hl_capture_options options = { .frequency = 997 };
	struct hl_capture *capture = start(&options);
	struct hl_capture_stats before = { 0 }, now;
	pid_t load[2] = { burn(), burn() };

	for (int i = 0; i < 4; i++) {
		double seen, due, periods;

		if (hl_capture_set_frequency(capture, steps[i], &err))
			FAIL("%s", err.text);
		hl_capture_stats(capture, &before);
		(void)usleep(1500 * 1000);
		drain(capture);
		hl_capture_stats(capture, &now);
		CHECK_INT(now.cpus, sysconf(_SC_NPROCESSORS_ONLN));
		seen = (double)(now.counters.value[HL_COUNTER_SEEN] - before.counters.value[HL_COUNTER_SEEN]);
		periods = (double)(now.counters.value[HL_COUNTER_PERIODS] -
				   before.counters.value[HL_COUNTER_PERIODS]);
		due = (double)(now.expected - before.expected);
		NOTE("%u Hz: %.0f of %.0f, each for %.0f ns", steps[i], seen, due, periods / seen);
		CHECK(due > 1.4 * steps[i] * now.cpus && due < 30.0 * steps[i] * now.cpus);
		CHECK(seen <= due + 2 * now.cpus);
		CHECK(periods / seen > 0.999e9 / steps[i] && periods / seen < 1.001e9 / steps[i]);
	}
	end(load[0]);
	end(load[1]);
	(void)settle(capture);
	hl_capture_free(capture);
}

HL_TEST(only_targets_and_their_children_are_kept)
{
	struct hl_capture_options options = { .frequency = 999, .only_targets = true };
	struct hl_capture *capture = start(&options);
	struct hl_window window = { 0 };
	int ends[2], go[2];
	pid_t other = burn(), target, grandchild = 0;

	CHECK_INT(pipe(ends), 0);
	CHECK_INT(pipe(go), 0);
	target = fork();
	if (target == 0) {
		pid_t pid;

		(void)!read(go[0], &pid, 1);
		pid = burn();
		(void)!write(ends[1], &pid, sizeof(pid));
		for (;;)
			(void)pause();
	}
	CHECK_INT(hl_capture_add_target(capture, target, &err), 0);
	CHECK_INT(write(go[1], "", 1), 1);
	CHECK_INT(read(ends[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	(void)usleep(500 * 1000);
	hl_capture_stop(capture);
	CHECK_INT(hl_capture_drain(capture, &window, &err), 0);
	for (size_t i = 0; i < window.n_samples; i++)
		CHECK(window.samples[i].key.process.tgid == (uint32_t)target ||
		      window.samples[i].key.process.tgid == (uint32_t)grandchild);
	CHECK(hl_window_total(&window) > 0);
	end(grandchild);
	end(target);
	end(other);
	hl_window_done(&window);
	hl_capture_free(capture);
}

/* What a list of files said of this test's own program. */
struct listed {
	struct hl_capture *capture;
	struct stat st;
	unsigned int n, n_own;
	uint32_t tgid, id;
	bool settle;
};

static void on_listed(void *ctx, const struct hl_file_event *e)
{
	struct listed *listed = ctx;

	listed->n++;
	listed->tgid = e->tgid;
	CHECK(e->id >= HL_FILE_FIRST && e->start < e->end && e->name[0]);
	if (e->key.inode == listed->st.st_ino && e->key.size == (uint64_t)listed->st.st_size &&
	    e->key.mtime_nsec == listed->st.st_mtim.tv_nsec) {
		listed->n_own++;
		listed->id = e->id;
	}
	if (listed->settle)
		hl_capture_settle_file(listed->capture, e->id, HL_TABLE_NONE);
}

HL_TEST(files_in_use_are_listed_as_samples_will_name_them)
{
	struct hl_capture_options options = { .frequency = 999, .only_targets = true };
	struct listed listed = { .settle = true };
	struct hl_window window = { 0 };
	pid_t child = burn();
	uint64_t own = 0;

	listed.capture = start(&options);
	CHECK_INT(stat("/proc/self/exe", &listed.st), 0);
	/* Of the targets only, and of those that live. */
	CHECK_INT(hl_capture_list_files(listed.capture, on_listed, &listed), 0);
	CHECK_INT(listed.n, 0);
	CHECK_INT(hl_capture_add_target(listed.capture, child, &err), 0);
	CHECK_INT(hl_capture_list_files(listed.capture, on_listed, &listed), 0);
	CHECK(listed.n_own == 1 && listed.tgid == (uint32_t)child);
	/* A settled file is not listed again. */
	listed.n = 0;
	CHECK_INT(hl_capture_list_files(listed.capture, on_listed, &listed), 0);
	CHECK_INT(listed.n, 0);
	(void)usleep(300 * 1000);
	hl_capture_stop(listed.capture);
	CHECK_INT(hl_capture_drain(listed.capture, &window, &err), 0);
	for (size_t i = 0; i < window.n_samples; i++)
		own += window.samples[i].key.ip >> HL_FRAME_FILE_SHIFT == listed.id;
	CHECK(own > 0);
	end(child);
	hl_window_done(&window);
	hl_capture_free(listed.capture);
}
