/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SAMPLE_WINDOW_H
#define HL_SAMPLE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include <hotleaf/abi.h>

/* A kernel address has all upper bits set; a raw user address bit 63 as its only mark above bit 56. */
static inline bool hl_frame_is_kernel(uint64_t frame)
{
	return frame >> 55 == 0x1ff;
}

static inline bool hl_frame_is_raw_user(uint64_t frame)
{
	return (frame & HL_FRAME_RAW) && !hl_frame_is_kernel(frame);
}

/* Samples with one key. */
struct hl_sample {
	struct hl_count_key key;
	struct hl_count count;
};

/* Callers, from the leaf's towards the thread's start; frames as in abi.h. */
struct hl_stack_row {
	uint64_t id;
	struct hl_stack_head head;
	const uint64_t *frames;
};

struct hl_process_row {
	struct hl_process_key key;
	struct hl_process process;
};

/*
 * What was sampled in a span of time. Equal keys are merged, so one window can take in many drains.
 * Zero-initialised is empty.
 */
struct hl_window {
	struct hl_sample *samples;
	struct hl_stack_row *stacks;
	struct hl_process_row *processes;
	size_t n_samples, n_stacks, n_processes;
	uint64_t lost; /* samples that found no room here */
	size_t cap_samples, cap_stacks, cap_processes;
	struct hl_index sample_index, stack_index, process_index;
	struct hl_arena frames;
};

/* At most this many distinct keys, stacks or processes; what comes after is lost and counted. */
#define HL_WINDOW_LIMIT (4u << 20)

/* Adds @count to the samples of @key. Code bytes are taken from whichever came first with any. */
void hl_window_add_sample(struct hl_window *window, const struct hl_count_key *key,
			  const struct hl_count *count);
/* Adds a stack of @head->n @frames unless it is known. False: no room. */
bool hl_window_add_stack(struct hl_window *window, uint64_t id, const struct hl_stack_head *head,
			 const uint64_t *frames);
bool hl_window_add_process(struct hl_window *window, const struct hl_process_key *key,
			   const struct hl_process *process);

/* NULL if unknown. Valid until the next addition. */
const struct hl_stack_row *hl_window_stack(const struct hl_window *window, uint64_t id);
const struct hl_process *hl_window_process(const struct hl_window *window, const struct hl_process_key *key);

/* Sum of samples over all keys. */
uint64_t hl_window_total(const struct hl_window *window);
/* Bytes of what it holds. */
uint64_t hl_window_bytes(const struct hl_window *window);
void hl_window_done(struct hl_window *window);

#endif
