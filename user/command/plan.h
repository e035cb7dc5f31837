/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_PLAN_H
#define HL_COMMAND_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "capture/event.h"
#include "cli/cli.h"
#include "command/caps.h"
#include "command/graphs.h"
#include "command/metrics.h"
#include "command/recording.h"
#include "store/days.h"
#include "symd/client.h"

struct hl_cache;
struct hl_selection;
struct hl_store;

/* The options of the agent. */
struct hl_agent_options {
	struct hl_settings settings;
	bool check_config;
	struct hl_recording_options recording;
	const char *store, *disabled;
	uint64_t window_ns, generation_ns;
	struct hl_store_limits limits;
	struct hl_caps_limits caps;
	struct hl_metrics_options metrics;
	struct hl_graphs_options graphs;
};

/*
 * The agent's options as they were read at one time, and what they lead to: all that can fail because of them. So
 * when they are read again, the old plan is left only for a new one that works.
 */
struct hl_plan {
	struct hl_agent_options options;
	struct hl_event_choice event;
	struct hl_symd_options names; /* of the symbolizer that names samples */
	struct hl_selection *selection;
	struct hl_store *store;
	struct hl_cache *cache; /* of unwind tables and names; NULL: none */
	bool elsewhere;         /* the store, or the folder of the metrics, is another user's */
	struct hl_arena arena;  /* of the options, where they were read again */
};

/* What can be said of @options before anything is opened. 0 or HL_EXIT_USAGE. */
int hl_plan_check(const struct hl_agent_options *options, struct hl_err *err);

/* 0; HL_EXIT_USAGE; or -errno. What @options point to must live longer. */
int hl_plan_new(const struct hl_agent_options *options, struct hl_plan **ret, struct hl_err *err);

/*
 * A plan by the options as they are now in the files; it shares the store of @before if that stays the same. Both are
 * there until one is freed. As hl_plan_new().
 */
int hl_plan_again(const struct hl_plan *before, struct hl_plan **ret, struct hl_err *err);

/* @plan holds from now on: others are told how long its windows are. */
void hl_plan_hold(const struct hl_plan *plan);
/* Frees @plan, but what @kept uses too. Both may be NULL. */
void hl_plan_free(struct hl_plan *plan, const struct hl_plan *kept);

#endif
