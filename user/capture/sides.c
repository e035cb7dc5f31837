// SPDX-License-Identifier: BSD-2-Clause
#include "capture/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/hotleaf.skel.h"
#include "sample/window.h"

enum { BATCH = 512, LEAST_SAMPLES = 8192, DEFAULT_PROCESSES = 8192 };

static size_t stack_value_size(const struct hl_capture *capture)
{
	unsigned int depth = capture->options.max_depth;

	/* A kernel stack may be deeper than the limit on user frames. */
	if (depth < capture->skel->rodata->max_kernel_frames)
		depth = capture->skel->rodata->max_kernel_frames;
	return sizeof(struct hl_stack_head) + depth * sizeof(uint64_t);
}

static int make_side(struct hl_capture *capture, struct hl_side *side)
{
	/* Stacks are allocated one by one: preallocated they would cost many times what is ever used. */
	LIBBPF_OPTS(bpf_map_create_opts, lazy, .map_flags = BPF_F_NO_PREALLOC);
	const struct hl_capture_options *o = &capture->options;

	side->counts = bpf_map_create(BPF_MAP_TYPE_HASH, "hl_counts", sizeof(struct hl_count_key),
				      sizeof(struct hl_count), o->map_samples, NULL);
	if (side->counts < 0)
		return side->counts;
	side->stacks = bpf_map_create(BPF_MAP_TYPE_HASH, "hl_stacks", sizeof(uint64_t),
				      (unsigned int)capture->batch.stack_size, o->map_stacks, &lazy);
	if (side->stacks < 0)
		return side->stacks;
	side->processes = bpf_map_create(BPF_MAP_TYPE_HASH, "hl_processes", sizeof(struct hl_process_key),
					 sizeof(struct hl_process), o->map_processes, &lazy);
	return side->processes < 0 ? side->processes : 0;
}

static int make_batch(struct hl_batch *batch)
{
	batch->keys = calloc(BATCH, sizeof(*batch->keys));
	batch->counts = calloc(BATCH, sizeof(*batch->counts));
	batch->stack_ids = calloc(BATCH, sizeof(*batch->stack_ids));
	batch->stacks = calloc(BATCH, batch->stack_size);
	batch->process_keys = calloc(BATCH, sizeof(*batch->process_keys));
	batch->processes = calloc(BATCH, sizeof(*batch->processes));
	if (!batch->keys || !batch->counts || !batch->stack_ids || !batch->stacks || !batch->process_keys ||
	    !batch->processes)
		return -ENOMEM;
	return 0;
}

/* What all CPUs can bring in two periods of one second, so that a late drain loses nothing. */
static void choose_sizes(struct hl_capture_options *o)
{
	unsigned long cpus = (unsigned long)libbpf_num_possible_cpus();
	unsigned long samples = cpus * o->frequency * 2;

	if (!o->map_samples)
		o->map_samples = samples < LEAST_SAMPLES ? LEAST_SAMPLES : (unsigned int)samples;
	if (!o->map_stacks)
		o->map_stacks = o->map_samples * 2;
	if (!o->map_processes)
		o->map_processes = DEFAULT_PROCESSES;
}

int hl_sides_make(struct hl_capture *capture, struct hl_err *err)
{
	struct bpf_map *outer[3] = { capture->skel->maps.counts, capture->skel->maps.stacks,
				     capture->skel->maps.processes };
	int code = 0, i;

	choose_sizes(&capture->options);
	capture->batch.stack_size = stack_value_size(capture);
	for (i = 0; i < 2 && code == 0; i++)
		code = make_side(capture, &capture->sides[i]);
	if (code == -EPERM)
		return hl_err_set(err, code,
				  "cannot create the sample maps: needs root, or CAP_BPF; in a container, "
				  "allow bpf in its seccomp profile");
	if (code)
		return hl_err_errno(err, code, "cannot create the sample maps");
	if (make_batch(&capture->batch))
		return hl_err_set(err, -ENOMEM, "no memory for draining the maps");
	/* A template only: libbpf neither keeps nor closes it. */
	for (i = 0; i < 3 && code == 0; i++) {
		const int fds[3] = { capture->sides[0].counts, capture->sides[0].stacks,
				     capture->sides[0].processes };

		code = bpf_map__set_inner_map_fd(outer[i], fds[i]);
	}
	return code ? hl_err_errno(err, code, "cannot describe the sample maps") : 0;
}

static int put_side(const struct hl_capture *capture, unsigned int index)
{
	const struct hl_side *side = &capture->sides[index];
	int code;

	code = bpf_map_update_elem(bpf_map__fd(capture->skel->maps.stacks), &index, &side->stacks, BPF_ANY);
	if (!code)
		code = bpf_map_update_elem(bpf_map__fd(capture->skel->maps.processes), &index,
					   &side->processes, BPF_ANY);
	if (!code)
		code = bpf_map_update_elem(bpf_map__fd(capture->skel->maps.counts), &index, &side->counts,
					   BPF_ANY);
	return code;
}

int hl_sides_publish(struct hl_capture *capture, struct hl_err *err)
{
	int code = put_side(capture, 0);

	if (!code)
		code = put_side(capture, 1);
	return code ? hl_err_errno(err, code, "cannot fill the outer maps") : 0;
}

void hl_sides_done(struct hl_capture *capture)
{
	struct hl_batch *batch = &capture->batch;

	for (int i = 0; i < 2; i++) {
		hl_cleanup_close(&capture->sides[i].counts);
		hl_cleanup_close(&capture->sides[i].stacks);
		hl_cleanup_close(&capture->sides[i].processes);
	}
	free(batch->keys);
	free(batch->counts);
	free(batch->stack_ids);
	free(batch->stacks);
	free(batch->process_keys);
	free(batch->processes);
	*batch = (struct hl_batch){ 0 };
}

/* Moves one map's entries out, batch by batch. @take is called for each batch of @n. */
static int drain_map(int fd, void *keys, void *values,
		     void (*take)(struct hl_capture *, struct hl_window *, size_t),
		     struct hl_capture *capture, struct hl_window *window)
{
	void *in = NULL;
	uint32_t cursor = 0, n;
	int code;

	do {
		n = BATCH;
		code = bpf_map_lookup_and_delete_batch(fd, in, &cursor, keys, values, &n, NULL);
		if (code && code != -ENOENT)
			return code;
		take(capture, window, n);
		in = &cursor;
	} while (!code);
	return 0;
}

static void take_counts(struct hl_capture *capture, struct hl_window *window, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hl_window_add_sample(window, &capture->batch.keys[i], &capture->batch.counts[i]);
}

static void take_stacks(struct hl_capture *capture, struct hl_window *window, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = capture->batch.stacks + i * capture->batch.stack_size;
		const struct hl_stack_head *head = (const void *)value;

		(void)hl_window_add_stack(window, capture->batch.stack_ids[i], head,
					  (const void *)(value + sizeof(*head)));
	}
}

static void take_processes(struct hl_capture *capture, struct hl_window *window, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)hl_window_add_process(window, &capture->batch.process_keys[i],
					    &capture->batch.processes[i]);
}

int hl_capture_drain(struct hl_capture *capture, struct hl_window *window, struct hl_err *err)
{
	volatile uint32_t *side = &capture->skel->bss->side;
	unsigned int old = *side & 1;
	struct hl_batch *batch = &capture->batch;
	const struct hl_side *idle = &capture->sides[old];
	int code;

	hl_epoch_advance(capture);
	*side = old ^ 1;
	/*
	 * Replacing an element of an outer map makes the kernel wait for an RCU grace period before it
	 * returns (maybe_wait_bpf_programs). A run that has read the old side lies in an RCU section, so it
	 * has ended by then, and nothing writes to the old side any more.
	 */
	code = bpf_map_update_elem(bpf_map__fd(capture->skel->maps.counts), &old, &idle->counts, BPF_ANY);
	if (!code)
		code = drain_map(idle->processes, batch->process_keys, batch->processes, take_processes,
				 capture, window);
	if (!code)
		code = drain_map(idle->stacks, batch->stack_ids, batch->stacks, take_stacks, capture, window);
	if (!code)
		code = drain_map(idle->counts, batch->keys, batch->counts, take_counts, capture, window);
	if (code)
		return hl_err_errno(err, code, "cannot drain the sample maps");
	__atomic_add_fetch(&capture->n_drains, 1, __ATOMIC_RELEASE);
	return capture->started ? hl_cpus_update(capture, err) : 0;
}
