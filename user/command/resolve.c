// SPDX-License-Identifier: BSD-2-Clause
#include "command/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "command/identity.h"
#include "command/places.h"
#include "command/selection.h"
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

/* Where root frames go. */
struct rooting {
	struct hl_profile *profile;
	struct stack *stack;
};

/* All that is known of whose sample it is, each under its key. */
static int push_details(struct hl_profile *profile, struct stack *stack, const struct hl_identity *identity)
{
	int code = 0;

	for (unsigned int key = 0; key < HL_BY_KEYS && !code; key++) {
		const char *value = identity->value[key], *name = hl_identity_names[key];
		struct hl_frame frame = {
			.kind = HL_FRAME_ROOT, .name = value, .module = name, .module_len = strlen(name)
		};
		_cleanup_str_ struct hl_str text = { 0 };
		uint32_t number;

		if (!value || !*value || key == HL_BY_HOST || key == HL_BY_EVENT)
			continue;
		/* Of other roots the value is what makes the frame; here it is the key, too. */
		hl_str_addf(&text, "%s=", name);
		hl_str_add_unmarked(&text, value, strlen(value));
		frame.name = text.data;
		frame.name_len = text.len;
		code = hl_str_status(&text);
		if (!code)
			code = hl_profile_frame(profile, &frame, &number);
		if (!code)
			code = push(stack, number);
	}
	return code;
}

static int push_root(void *ctx, const char *name, size_t len)
{
	const struct rooting *rooting = ctx;

	return push_named(rooting->profile, rooting->stack, HL_FRAME_ROOT, name, len);
}

static struct hl_identities identities_of(const struct hl_resolve *r)
{
	return (struct hl_identities){ .window = r->window,
				       .files = r->files,
				       .cgroups = r->cgroups,
				       .exes = r->exes,
				       .host = r->host,
				       .event = r->event };
}

/* Whose sample it is. */
static int push_roots(const struct hl_resolve *r, struct hl_profile *profile, struct stack *stack,
		      const struct hl_sample *sample, struct hl_identity *identity,
		      struct hl_resolve_counts *counts)
{
	const struct hl_identities from = identities_of(r);
	struct rooting rooting = { profile, stack };
	int code;

	hl_identify(&from, sample, identity);
	counts->no_cgroup += r->cgroups && identity->cgroup_unknown ? sample->count.samples : 0;
	code = r->detailed ? push_details(profile, stack, identity) : 0;
	if (!code)
		code = hl_selection_roots(r->selection, identity, push_root, &rooting);
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
	if (place->unopened && !place->denied)
		counts->unopened[place->lack] += samples;
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
	struct hl_identity identity;
	int code;

	stack->n = 0;
	code = push_roots(places->resolve, profile, stack, sample, &identity, counts);
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
	if (places->resolve->take)
		return places->resolve->take(places->resolve->take_ctx, sample, &identity, stack->frames,
					     stack->n);
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

/* Which samples are shown. NULL: no memory. */
static bool *select_samples(const struct hl_resolve *r, struct hl_resolve_counts *counts)
{
	const struct hl_identities from = identities_of(r);
	bool *selected = calloc(r->window->n_samples + 1, sizeof(*selected));
	struct hl_identity identity;

	for (size_t i = 0; i < r->window->n_samples && selected; i++) {
		const struct hl_sample *sample = &r->window->samples[i];
		enum hl_selected how = HL_SELECTED;

		if (!hl_selection_is_all(r->selection)) {
			hl_identify(&from, sample, &identity);
			how = hl_selection_check(r->selection, &identity);
		}
		selected[i] = how == HL_SELECTED;
		counts->not_asked += how == HL_SELECTED_NOT ? sample->count.samples : 0;
		counts->excluded += how == HL_SELECTED_EXCLUDED ? sample->count.samples : 0;
		/* Those are shown by nobody, but what is not known of them may be why. */
		counts->no_cgroup += how == HL_SELECTED_NOT && r->cgroups && identity.cgroup_unknown
					     ? sample->count.samples
					     : 0;
	}
	return selected;
}

/* Which stacks samples that are shown have, by position. NULL: no memory. */
static bool *select_stacks(const struct hl_window *w, const bool *selected)
{
	bool *ret = calloc(w->n_stacks + 1, sizeof(*ret));

	for (size_t i = 0; i < w->n_samples && ret; i++) {
		const struct hl_count_key *key = &w->samples[i].key;
		const struct hl_stack_row *rows[] = { hl_window_stack(w, key->user_stack),
						      hl_window_stack(w, key->kernel_stack) };

		for (int k = 0; k < 2 && selected[i]; k++)
			if (rows[k])
				ret[rows[k] - w->stacks] = true;
	}
	return ret;
}

static int collect(struct hl_places *places, const bool *selected)
{
	const struct hl_window *w = places->resolve->window;
	_cleanup_free_ bool *stacks = select_stacks(w, selected);
	int code = stacks ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->n_stacks && !code; i++)
		if (stacks[i])
			code = collect_callers(places, &w->stacks[i], NULL, false);
	for (size_t i = 0; i < w->n_samples && !code; i++) {
		const struct hl_sample *sample = &w->samples[i];
		const struct hl_stack_row *row = hl_window_stack(w, sample->key.user_stack);

		if (!selected[i])
			continue;
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
	_cleanup_free_ bool *selected = NULL;
	int code;

	memset(ret, 0, sizeof(*ret));
	selected = select_samples(resolve, ret);
	code = selected ? collect(&places, selected) : -ENOMEM;
	if (code)
		(void)hl_err_errno(err, code, "cannot keep the places of this profile");
	else
		code = hl_places_look_up(&places, profile, err);
	ret->debug = places.debug;
	ret->lines = places.lines;
	ret->code_names = places.code_names;
	for (size_t i = 0; i < resolve->window->n_samples && !code; i++) {
		if (!selected[i])
			continue;
		code = add_sample(&places, &resolve->window->samples[i], profile, &stack, ret);
		if (code)
			(void)hl_err_errno(err, code, "cannot keep the stacks of this profile");
	}
	free(stack.frames);
	hl_places_done(&places);
	return code;
}
