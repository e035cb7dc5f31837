// SPDX-License-Identifier: BSD-2-Clause
#include "command/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "command/places.h"
#include "profile/profile.h"
#include "sample/reason.h"

/* A stack of a profile, root first. Marks are few and are interned as they come. */
struct stack {
	uint32_t *frames;
	size_t n, cap;
};

static int push(struct stack *stack, uint32_t frame)
{
	int code = hl_grow(&stack->frames, &stack->cap, stack->n + 1, sizeof(*stack->frames), UINT32_MAX);

	if (!code)
		stack->frames[stack->n++] = frame;
	return code;
}

/* A function, and what was inlined in it there. */
static int push_place(const struct hl_places *places, struct stack *stack, const struct hl_place *place)
{
	int code = push(stack, place->function);

	for (uint32_t i = 0; i < place->n_inlined && !code; i++)
		code = push(stack, places->inlined[place->first_inlined + i]);
	return code;
}

static int push_named(struct hl_profile *profile, struct stack *stack, uint8_t kind, const char *name,
		      size_t len)
{
	struct hl_frame frame = { .kind = kind, .name = name, .name_len = len, .module = "" };

	uint32_t number;
	int code = hl_profile_frame(profile, &frame, &number);

	return code ? code : push(stack, number);
}

static int push_mark(struct hl_profile *profile, struct stack *stack, const char *name)
{
	return push_named(profile, stack, HL_FRAME_MARK, name, strlen(name));
}

static int push_walk_end(struct hl_profile *profile, struct stack *stack, uint8_t end)
{
	const struct hl_reason *reason = hl_reason_of_walk(end);
	char text[64];

	if (!reason)
		return 0;
	if (end == HL_WALK_DEPTH || end == HL_WALK_KERNEL_LIMIT)
		return push_mark(profile, stack, "[truncated]");
	(void)snprintf(text, sizeof(text), "[unwind: %s]", reason->name);
	return push_mark(profile, stack, text);
}

static int push_process(const struct hl_resolve *r, struct hl_profile *profile, struct stack *stack,
			const struct hl_sample *sample)
{
	const struct hl_process *process = hl_window_process(r->window, &sample->key.process);
	const char *name = process ? process->comm : sample->key.comm;
	_cleanup_str_ struct hl_str text = { 0 };

	hl_str_add_unmarked(&text, name, strnlen(name, HL_COMM_LEN));
	if (hl_str_status(&text))
		return -ENOMEM;
	return push_named(profile, stack, HL_FRAME_ROOT, text.data, text.len);
}

/* Whose sample it is: the process by the name of its first thread, or what runs without a process. */
static int push_root(const struct hl_resolve *r, struct hl_profile *profile, struct stack *stack,
		     const struct hl_sample *sample)
{
	int code = 0;

	if (sample->key.flags & HL_FLAG_IDLE) {
		code = push_named(profile, stack, HL_FRAME_ROOT, "[idle task]", strlen("[idle task]"));
	} else {
		if (sample->key.flags & HL_FLAG_KTHREAD)
			code = push_named(profile, stack, HL_FRAME_ROOT, "[kernel threads]",
					  strlen("[kernel threads]"));
		if (!code)
			code = push_process(r, profile, stack, sample);
	}
	if (!code && (sample->key.flags & HL_FLAG_IRQ))
		code = push_mark(profile, stack, "[irq]");
	return code;
}

/* The callers of a stack, from the thread's start towards the leaf, behind the mark of a walk that was cut. */
static int push_callers(const struct hl_places *places, struct hl_profile *profile, struct stack *stack,
			const struct hl_sample *sample, uint64_t id, struct hl_resolve_counts *counts)
{
	uint64_t samples = sample->count.samples;
	const struct hl_stack_row *row = hl_window_stack(places->resolve->window, id);
	int code;

	if (id == HL_STACK_NONE)
		return 0;
	if (!row) {
		counts->stacks_lost += samples;
		return push_mark(profile, stack, "[unwind: stack lost]");
	}
	if (row->head.end < HL_WALK_MAX)
		counts->walk[row->head.end] += samples;
	code = push_walk_end(profile, stack, row->head.end);
	for (uint32_t i = row->head.n; i > 0 && !code; i--)
		code = push_place(places, stack,
				  hl_places_caller(places, row->frames[i - 1], &sample->key.process));
	return code;
}

/* Where another sample of the same instruction brought its text, that is shown, and nothing is lacking. */
static void count_lacks(const struct hl_place *place, const struct hl_resolve *r,
			const struct hl_profile *profile, uint64_t samples, struct hl_resolve_counts *counts)
{
	const struct hl_frame *shown;

	counts->nameless += place->flags & HL_SYMD_NAMED ? 0 : samples;
	counts->unopened += place->unopened && !place->denied ? samples : 0;
	counts->denied += place->denied ? samples : 0;
	counts->unlisted += place->unlisted ? samples : 0;
	counts->lineless += r->line_tier && place->line == HL_INDEX_NONE ? samples : 0;
	if (!r->instructions)
		return;
	shown = hl_profile_get_frame(profile, place->insn);
	counts->textless += hl_starts_with(shown->name, "(no code bytes)") ? samples : 0;
	counts->undecoded += hl_starts_with(shown->name, ".byte ") ? samples : 0;
	counts->differs += place->flags & HL_SYMD_DIFFERS ? samples : 0;
	counts->irqs_off += place->flags & HL_SYMD_IRQS_OFF ? samples : 0;
}

static int add_sample(const struct hl_places *places, const struct hl_sample *sample,
		      struct hl_profile *profile, struct stack *stack, struct hl_resolve_counts *counts)
{
	const struct hl_place *leaf = hl_places_sample(places, sample);
	uint64_t samples = sample->count.samples;
	int code;

	stack->n = 0;
	code = push_root(places->resolve, profile, stack, sample);
	if (!code)
		code = push_callers(places, profile, stack, sample, sample->key.user_stack, counts);
	if (!code)
		code = push_callers(places, profile, stack, sample, sample->key.kernel_stack, counts);
	if (!code)
		code = push_place(places, stack, leaf);
	if (!code && leaf->loop != HL_INDEX_NONE)
		code = push(stack, leaf->loop);
	if (!code && leaf->line != HL_INDEX_NONE)
		code = push(stack, leaf->line);
	if (!code && places->resolve->instructions)
		code = push(stack, leaf->insn);
	if (code)
		return code;
	count_lacks(leaf, places->resolve, profile, samples, counts);
	return hl_profile_add(profile, stack->frames, stack->n, samples, sample->count.periods);
}

/* The callers of one stack that are raw user addresses, or all others: of those the process does not matter. */
static int collect_callers(struct hl_places *places, const struct hl_stack_row *row,
			   const struct hl_process_key *process, bool raw)
{
	int code = 0;

	for (uint32_t i = 0; i < row->head.n && !code; i++)
		if (hl_frame_is_raw_user(row->frames[i]) == raw)
			code = hl_places_add_caller(places, row->frames[i], process);
	return code;
}

static int collect(struct hl_places *places)
{
	const struct hl_window *w = places->resolve->window;
	int code = 0;

	for (size_t i = 0; i < w->n_stacks && !code; i++)
		code = collect_callers(places, &w->stacks[i], NULL, false);
	for (size_t i = 0; i < w->n_samples && !code; i++) {
		const struct hl_sample *sample = &w->samples[i];
		const struct hl_stack_row *row = hl_window_stack(w, sample->key.user_stack);

		code = hl_places_add_sample(places, sample);
		if (row && !code)
			code = collect_callers(places, row, &sample->key.process, true);
	}
	return code;
}

int hl_resolve_run(const struct hl_resolve *resolve, struct hl_profile *profile,
		   struct hl_resolve_counts *ret, struct hl_err *err)
{
	struct hl_places places = { .resolve = resolve };
	struct stack stack = { .n = 0 };
	int code = collect(&places);

	memset(ret, 0, sizeof(*ret));
	if (code)
		(void)hl_err_errno(err, code, "cannot keep the places of this profile");
	else
		code = hl_places_look_up(&places, profile, err);
	ret->debug = places.debug;
	ret->lines = places.lines;
	ret->code_names = places.code_names;
	for (size_t i = 0; i < resolve->window->n_samples && !code; i++) {
		code = add_sample(&places, &resolve->window->samples[i], profile, &stack, ret);
		if (code)
			(void)hl_err_errno(err, code, "cannot keep the stacks of this profile");
	}
	free(stack.frames);
	hl_places_done(&places);
	return code;
}
