/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_KEEPER_H
#define HL_COMMAND_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/capture.h"
#include "command/session.h"
#include "sample/align.h"
#include "sample/window.h"

struct hl_cache;
struct hl_code_files;
struct hl_event_choice;
struct hl_metrics;
struct hl_moved_code;
struct hl_selection;
struct hl_store;
struct hl_symd_options;

/*
 * A thread that names the samples of one window after the other and writes them to the store, while the next
 * ones are drained. It owns a symbolizer of its own.
 */
struct hl_keeper;

struct hl_keeper_options {
	struct hl_session *session;
	const struct hl_event_choice *event;
	const char *host; /* as hl_host_name() */
	bool intel;
	bool elsewhere; /* the store is another user's */
	const struct hl_symd_options *symd;
	struct hl_cache *cache;               /* of names; NULL: none */
	const struct hl_selection *selection; /* of what is kept */
	struct hl_store *store;               /* the thread's from its start to its end */
	struct hl_metrics *metrics;
};

/* A window and what belongs to it. */
struct hl_kept {
	struct hl_window window;
	struct hl_aligned when;
	uint64_t end_monotonic_ns;
	struct hl_capture_stats stats;    /* of this window only */
	uint64_t process_cpu_ns;          /* likewise */
	unsigned int frequency;           /* that it was sampled with */
	char note[160];                   /* on what was left out to stay below a cap; "": nothing was */
	struct hl_code_files *code_files; /* a copy, as the next */
	struct hl_moved_code *moved;
	uint64_t moved_refused; /* of this window only */
	/*
	 * What is known of files and their names is forgotten when this is another than before: file ids may
	 * mean others then, and the symbolizer's memory does not grow over weeks.
	 */
	uint32_t generation;
};
void hl_kept_done(struct hl_kept *kept);

/* All that @options point to must live longer. NULL without memory. */
struct hl_keeper *hl_keeper_new(const struct hl_keeper_options *options);
/* Starts the thread; windows that were handed over before wait for it. 0 or -errno. */
int hl_keeper_start(struct hl_keeper *keeper, struct hl_err *err);
/*
 * Hands a window over; @kept is empty afterwards. Where the thread is too far behind, the window is counted as
 * lost and noted as a gap.
 */
void hl_keeper_put(struct hl_keeper *keeper, struct hl_kept *kept);
/* How many windows were handed over, and how many of these are done with. */
void hl_keeper_progress(struct hl_keeper *keeper, uint64_t *ret_put, uint64_t *ret_done);
/* CPU time of its symbolizer, as of the last window; at any time. */
uint64_t hl_keeper_names_cpu_ns(struct hl_keeper *keeper);
/* Waits until all windows are written, if the thread was started. Accepts NULL. */
void hl_keeper_free(struct hl_keeper *keeper);

#endif
