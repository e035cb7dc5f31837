// SPDX-License-Identifier: BSD-2-Clause
/* needs: base sample capture */
#include "capture/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/hotleaf.skel.h"
#include "capture/event.h"
#include "capture/tables.h"
#include "harness.h"
#include "sample/window.h"

/* Files that nobody runs any more, and their ids. */

static struct hl_event_choice event;
static struct hl_err err;

/* A busy child: this program, or a shell, whose file the self-test has not met. */
static pid_t start_child(bool shell)
{
	pid_t pid = fork();

	if (pid == 0) {
		volatile uint64_t x = 1;

		if (shell) {
			(void)execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
			_exit(127);
		}
		for (;;)
			x = x * 3 + 1;
	}
	CHECK(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void see(bool *seen, uint64_t frame)
{
	if (!(frame & HL_FRAME_RAW))
		seen[frame >> HL_FRAME_FILE_SHIFT] = true;
}

/* The ids of all frames and executables that were sampled since the last call. */
static void sampled_ids(struct hl_capture *capture, bool *seen)
{
	struct hl_window window = { 0 };

	memset(seen, 0, HL_FILE_LIMIT);
	if (hl_capture_drain(capture, &window, &err))
		FAIL("%s", err.text);
	for (size_t i = 0; i < window.n_samples; i++)
		if (window.samples[i].key.mode != HL_MODE_KERNEL)
			see(seen, window.samples[i].key.ip);
	for (size_t i = 0; i < window.n_stacks; i++)
		for (uint32_t k = 0; k < window.stacks[i].head.n && !window.stacks[i].head.is_kernel; k++)
			see(seen, window.stacks[i].frames[k]);
	for (size_t i = 0; i < window.n_processes; i++)
		seen[window.processes[i].process.exe] = true;
	hl_window_done(&window);
}

struct gone {
	uint32_t ids[64];
	unsigned int n;
};

static bool has(const struct gone *gone, uint32_t id)
{
	for (unsigned int i = 0; i < gone->n; i++)
		if (gone->ids[i] == id)
			return true;
	return false;
}

static void on_expired(void *ctx, uint32_t id)
{
	struct gone *gone = ctx;

	CHECK(gone->n < 64);
	gone->ids[gone->n++] = id;
}

static void settle_all(void *ctx, const struct hl_file_event *e)
{
	hl_capture_settle_file(ctx, e->id, HL_TABLE_NONE);
}

struct met {
	struct hl_capture *capture;
	struct gone files;
};

static void settle_and_note(void *ctx, const struct hl_file_event *e)
{
	struct met *met = ctx;

	on_expired(&met->files, e->id);
	hl_capture_settle_file(met->capture, e->id, HL_TABLE_NONE);
}

static void sample_for(struct hl_capture *capture, unsigned int ms, bool *seen)
{
	(void)usleep(ms * 1000);
	sampled_ids(capture, seen);
}

static uint64_t table_bytes(struct hl_capture *capture)
{
	struct hl_capture_stats stats;

	hl_capture_stats(capture, &stats);
	return stats.table_bytes;
}

/* A capture of @child alone, which is not started. */
static struct hl_capture *capture_of(pid_t child)
{
	struct hl_capture_options options = {
		.frequency = 997, .max_depth = 127, .only_targets = true, .event = &event
	};
	struct hl_capture *capture = NULL;

	if (geteuid() != 0)
		SKIP("needs root");
	CHECK_INT(hl_event_choose("cpu-clock", options.frequency, &event, &err), 0);
	if (hl_capture_new(&options, &capture, &err) || hl_capture_add_target(capture, child, &err))
		FAIL("%s", err.text);
	return capture;
}

/* The table of a file whose code is 16 MiB. */
static struct hl_unwind_table *make_table(void)
{
	const uint32_t pages = 16 << 10;
	struct hl_unwind_table *table =
		calloc(1, sizeof(*table) + sizeof(struct hl_unwind_rule) +
				  pages * (sizeof(struct hl_unwind_page) + sizeof(uint32_t)));
	struct hl_unwind_rule *rule = (void *)(table + 1);
	struct hl_unwind_page *page = (void *)(rule + 1);

	CHECK(table);
	*table = (struct hl_unwind_table){
		.version = HL_UNWIND_VERSION, .n_rules = 1, .n_pages = pages, .n_rows = pages
	};
	rule->cfa_kind = HL_CFA_STOP;
	for (uint32_t i = 0; i < pages; i++)
		page[i] = (struct hl_unwind_page){ i, 1 };
	return table;
}

/* Ends in a state where all that expired may be given again. */
static void wait_for_reuse(struct hl_capture *capture, uint32_t id)
{
	static bool seen[HL_FILE_LIMIT];

	CHECK_INT(hl_capture_reuse_file(capture, id), -EBUSY);
	for (int i = 0; i < 3; i++)
		sampled_ids(capture, seen);
	CHECK_INT(hl_capture_reuse_file(capture, id), -EBUSY);
	for (int i = 0; i < 2; i++)
		CHECK_INT(hl_capture_read_files(capture, settle_all, capture), 0);
}

HL_TEST(files_in_use_stay)
{
	static bool seen[HL_FILE_LIMIT];
	pid_t child = start_child(false);
	struct hl_capture *capture = capture_of(child);
	struct gone gone = { .n = 0 };

	CHECK_INT(hl_capture_start(capture, &err), 0);
	sample_for(capture, 300, seen);
	CHECK_INT(hl_capture_read_files(capture, settle_all, capture), 0);
	CHECK(seen[HL_FILE_FIRST]); /* the self-test was the first to meet this program */
	for (int i = 0; i < 3; i++) {
		/* A CPU that remembers the mapping must say again that it is used. */
		capture->skel->data->epoch += 1000;
		sample_for(capture, 300, seen);
		CHECK_INT(hl_capture_expire_files(capture, 10, on_expired, &gone, &err), 0);
	}
	CHECK(!has(&gone, HL_FILE_FIRST));
	CHECK(seen[HL_FILE_FIRST]);
	end_child(child);
	hl_capture_free(capture);
}

HL_TEST(ids_of_files_not_used_for_long_are_given_again)
{
	static bool seen[HL_FILE_LIMIT];
	pid_t child = start_child(false), other;
	struct hl_capture *capture = capture_of(child);
	struct hl_unwind_table *table = make_table();
	struct met met = { .capture = capture };
	struct gone gone = { .n = 0 };

	CHECK_INT(hl_capture_start(capture, &err), 0);
	sample_for(capture, 300, seen);
	CHECK_INT(hl_capture_read_files(capture, settle_all, capture), 0);
	for (int i = 0; i < 6; i++) /* more than one slab */
		CHECK_INT(hl_capture_load_table(capture, HL_FILE_FIRST + i, table, &err), 0);
	end_child(child);
	sampled_ids(capture, seen);
	capture->skel->data->epoch += 1000;
	CHECK(table_bytes(capture) > 1 << 20);
	CHECK_INT(hl_capture_expire_files(capture, 10, on_expired, &gone, &err), 0);
	CHECK(gone.n >= 6);
	CHECK_INT(gone.n, capture->skel->bss->ids_taken);
	CHECK_INT(table_bytes(capture), 1 << 20);
	/* What is said of it now comes late. */
	CHECK_INT(hl_capture_load_table(capture, gone.ids[0], table, &err), -ESTALE);
	hl_capture_settle_file(capture, gone.ids[0], HL_TABLE_NONE);
	CHECK_INT(capture->tables->states[gone.ids[0]].settled, 0);
	wait_for_reuse(capture, gone.ids[0]);
	/* As if all others were taken: the next files get these, in the order in which they come back. */
	capture->skel->bss->ids_taken = HL_FILE_LIMIT - HL_FILE_FIRST;
	for (unsigned int i = 0; i < gone.n; i++) {
		CHECK_INT(hl_capture_reuse_file(capture, gone.ids[i]), 0);
		CHECK_INT(hl_capture_reuse_file(capture, gone.ids[i]), -EBUSY);
	}
	other = start_child(true);
	CHECK_INT(hl_capture_add_target(capture, other, &err), 0);
	sample_for(capture, 500, seen);
	CHECK(seen[gone.ids[0]]);
	CHECK_INT(hl_capture_read_files(capture, settle_and_note, &met), 0);
	CHECK(met.files.n >= 1);
	for (unsigned int i = 0; i < met.files.n; i++)
		CHECK(has(&gone, met.files.ids[i]));
	end_child(other);
	free(table);
	hl_capture_free(capture);
}

HL_TEST(files_beyond_the_last_id_are_counted)
{
	static bool seen[HL_FILE_LIMIT];
	pid_t child = start_child(true);
	struct hl_capture *capture = capture_of(child);
	struct hl_capture_stats stats;

	capture->skel->bss->ids_taken = capture->skel->data->ids_given;
	CHECK_INT(hl_capture_start(capture, &err), 0);
	sample_for(capture, 300, seen);
	hl_capture_stats(capture, &stats);
	CHECK(stats.counters.value[HL_COUNTER_FILES_FULL] > 0);
	CHECK_INT(capture->skel->bss->ids_taken, capture->skel->data->ids_given);
	end_child(child);
	hl_capture_free(capture);
}
