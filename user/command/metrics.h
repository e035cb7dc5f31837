/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_METRICS_H
#define HL_COMMAND_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"

struct hl_caps;
struct hl_cost;
struct hl_profile_meta;

/*
 * What the agent tells Prometheus of itself: sums since it was started, in the text format 0.0.4. Safe in threads.
 * hl_metrics_free() accepts NULL.
 */
struct hl_metrics;

struct hl_metrics *hl_metrics_new(void);
void hl_metrics_free(struct hl_metrics *metrics);
HL_DEFINE_CLEANUP(struct hl_metrics, hl_metrics_free)

/* Where it is told; strings are NULL for nowhere. */
struct hl_metrics_options {
	const char *address; /* as hl_listen() has it */
	bool anywhere;
	const char *file; /* written anew with each window */
};

/* From now on it is told there, and no longer where it was before. 0; or -errno: then all stays as it was. */
int hl_metrics_set(struct hl_metrics *metrics, const struct hl_metrics_options *options, struct hl_err *err);

/*
 * Samples of @service in the window that is being named, NULL for none: @ns of CPU time. The fifty services that
 * come first have a series of their own, until one was idle for a day; all others are "other".
 */
void hl_metrics_add_service(struct hl_metrics *metrics, const char *service, uint64_t ns);
/* The window that @meta describes is in the store, or, if not @stored, lost with its samples. */
void hl_metrics_add_window(struct hl_metrics *metrics, const struct hl_profile_meta *meta, bool stored);
/* One that came to nothing before, with so many samples. */
void hl_metrics_lose_window(struct hl_metrics *metrics, uint64_t samples);

/* What was used since @before, and where the caps stand. */
void hl_metrics_add_cost(struct hl_metrics *metrics, const struct hl_cost *before, const struct hl_cost *now,
			 uint64_t tables_dropped, uint64_t tables_refused);
void hl_metrics_set_caps(struct hl_metrics *metrics, const struct hl_caps *caps);
/* Whether it samples; else it is disabled. */
void hl_metrics_set_sampling(struct hl_metrics *metrics, bool sampling);

/* Tells it: to be called after a window, and when something else changed, as hl_metrics_set() by one thread. */
void hl_metrics_publish(struct hl_metrics *metrics);

#endif
