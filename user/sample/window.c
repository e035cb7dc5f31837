// SPDX-License-Identifier: BSD-2-Clause
#include "sample/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct sample_wanted {
	const struct hl_sample *samples;
	const struct hl_count_key *key;
};

static int same_sample(const void *ctx, uint32_t position)
{
	const struct sample_wanted *w = ctx;

	return memcmp(&w->samples[position].key, w->key, sizeof(*w->key)) == 0;
}

static void merge_count(struct hl_count *into, const struct hl_count *count)
{
	into->samples += count->samples;
	into->periods += count->periods;
	if (into->code_len >= count->code_len)
		return;
	memcpy(into->code, count->code, sizeof(into->code));
	memcpy(into->before, count->before, sizeof(into->before));
	into->code_len = count->code_len;
	into->before_len = count->before_len;
}

void hl_window_add_sample(struct hl_window *window, const struct hl_count_key *key,
			  const struct hl_count *count)
{
	struct sample_wanted wanted = { window->samples, key };
	uint64_t hash = hl_hash(key, sizeof(*key), 0);
	uint32_t at = hl_index_find(&window->sample_index, hash, same_sample, &wanted);

	if (at != HL_INDEX_NONE) {
		merge_count(&window->samples[at].count, count);
		return;
	}
	if (hl_grow(&window->samples, &window->cap_samples, window->n_samples + 1, sizeof(*window->samples),
		    HL_WINDOW_LIMIT) ||
	    hl_index_add(&window->sample_index, hash, (uint32_t)window->n_samples)) {
		window->lost += count->samples;
		return;
	}
	window->samples[window->n_samples++] = (struct hl_sample){ *key, *count };
}

struct stack_wanted {
	const struct hl_stack_row *stacks;
	uint64_t id;
};

static int same_stack(const void *ctx, uint32_t position)
{
	const struct stack_wanted *w = ctx;

	return w->stacks[position].id == w->id;
}

const struct hl_stack_row *hl_window_stack(const struct hl_window *window, uint64_t id)
{
	struct stack_wanted wanted = { window->stacks, id };
	uint32_t at = hl_index_find(&window->stack_index, id, same_stack, &wanted);

	return at == HL_INDEX_NONE ? NULL : &window->stacks[at];
}

bool hl_window_add_stack(struct hl_window *window, uint64_t id, const struct hl_stack_head *head,
			 const uint64_t *frames)
{
	uint64_t *copy;

	if (hl_window_stack(window, id))
		return true;
	copy = hl_arena_take(&window->frames, head->n * sizeof(*frames));
	if (!copy || hl_grow(&window->stacks, &window->cap_stacks, window->n_stacks + 1,
			     sizeof(*window->stacks), HL_WINDOW_LIMIT))
		return false;
	memcpy(copy, frames, head->n * sizeof(*frames));
	if (hl_index_add(&window->stack_index, id, (uint32_t)window->n_stacks))
		return false;
	window->stacks[window->n_stacks++] = (struct hl_stack_row){ id, *head, copy };
	return true;
}

struct process_wanted {
	const struct hl_process_row *processes;
	const struct hl_process_key *key;
};

static int same_process(const void *ctx, uint32_t position)
{
	const struct process_wanted *w = ctx;

	return memcmp(&w->processes[position].key, w->key, sizeof(*w->key)) == 0;
}

static uint32_t find_process(const struct hl_window *window, const struct hl_process_key *key)
{
	struct process_wanted wanted = { window->processes, key };

	return hl_index_find(&window->process_index, hl_hash(key, sizeof(*key), 1), same_process, &wanted);
}

const struct hl_process *hl_window_process(const struct hl_window *window, const struct hl_process_key *key)
{
	uint32_t at = find_process(window, key);

	return at == HL_INDEX_NONE ? NULL : &window->processes[at].process;
}

bool hl_window_add_process(struct hl_window *window, const struct hl_process_key *key,
			   const struct hl_process *process)
{
	uint32_t at = find_process(window, key);

	if (at != HL_INDEX_NONE) {
		window->processes[at].process = *process; /* a thread may have renamed it since */
		return true;
	}
	if (hl_grow(&window->processes, &window->cap_processes, window->n_processes + 1,
		    sizeof(*window->processes), HL_WINDOW_LIMIT) ||
	    hl_index_add(&window->process_index, hl_hash(key, sizeof(*key), 1),
			 (uint32_t)window->n_processes))
		return false;
	window->processes[window->n_processes++] = (struct hl_process_row){ *key, *process };
	return true;
}

uint64_t hl_window_total(const struct hl_window *window)
{
	uint64_t total = 0;

	for (size_t i = 0; i < window->n_samples; i++)
		total += window->samples[i].count.samples;
	return total;
}

uint64_t hl_window_bytes(const struct hl_window *window)
{
	uint64_t bytes = window->n_samples * sizeof(*window->samples) +
			 window->n_processes * sizeof(*window->processes) +
			 window->n_stacks * sizeof(*window->stacks);

	for (size_t i = 0; i < window->n_stacks; i++)
		bytes += window->stacks[i].head.n * sizeof(*window->stacks[i].frames);
	return bytes;
}

void hl_window_done(struct hl_window *window)
{
	free(window->samples);
	free(window->stacks);
	free(window->processes);
	hl_index_done(&window->sample_index);
	hl_index_done(&window->stack_index);
	hl_index_done(&window->process_index);
	hl_arena_done(&window->frames);
	*window = (struct hl_window){ 0 };
}
