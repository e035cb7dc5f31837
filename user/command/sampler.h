/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SAMPLER_H
#define HL_COMMAND_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hl_graphs;
struct hl_metrics;
struct hl_plan;

/*
 * One plan of the agent at work: a session of capture, which is drained once a second, and the keeper that is handed
 * what was drained when a window ends. A sampler goes through it once: it is prepared, samples, is stopped, and writes
 * until all is in the store, while the next one samples already.
 */
struct hl_sampler;

/*
 * Loads all and begins to prepare. All that it is given must live longer. @time_is_counted: as in struct
 * hl_capture_options. 0 or -errno.
 */
int hl_sampler_new(const struct hl_plan *plan, struct hl_metrics *metrics, struct hl_graphs *graphs,
		   bool time_is_counted, struct hl_sampler **ret, struct hl_err *err);
/* Waits until its windows are written, if any are. Accepts NULL. */
void hl_sampler_free(struct hl_sampler *sampler);

bool hl_sampler_is_prepared(const struct hl_sampler *sampler);
/* Begins sampling, when all is prepared. 0 or -errno. */
int hl_sampler_start(struct hl_sampler *sampler, struct hl_err *err);
/*
 * From now on its windows are written: no other may write to the store of its plan any more. Until then they wait.
 * 0 or -errno.
 */
int hl_sampler_write(struct hl_sampler *sampler, struct hl_err *err);

/*
 * To be called once a second while it samples: drains, and at the end of a window hands it over and looks at the caps.
 * 0 or -errno.
 */
int hl_sampler_look(struct hl_sampler *sampler, struct hl_err *err);

/*
 * Samples nothing any more: until it is resumed, or stopped, which hands the last window over. That ends where the
 * pause began. hl_sampler_stop(): 0 or -errno; the window is handed over all the same.
 */
void hl_sampler_pause(struct hl_sampler *sampler);
void hl_sampler_resume(struct hl_sampler *sampler);
int hl_sampler_stop(struct hl_sampler *sampler, struct hl_err *err);

/* Whether all windows that were handed over are written, or lost. */
bool hl_sampler_has_written(const struct hl_sampler *sampler);

#endif
