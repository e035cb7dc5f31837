/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_HEADER_H
#define HL_COMMAND_HEADER_H

#include "capture/capture.h"
#include "capture/event.h"
#include "command/host_name.h"
#include "command/resolve.h"
#include "command/session.h"
#include "process/cgroup.h"
#include "process/reach.h"
#include "profile/profile.h"

struct hl_cache;
struct hl_kernel_names;
struct hl_symd;

/* The header of an output and all that its strings live in. Not to be copied or moved. */
struct hl_header {
	struct hl_profile_meta meta;
	struct hl_loss losses[HL_COUNTER_MAX + HL_WALK_MAX + 24];
	const char *notes[32];
	char host[HL_HOST_NAME_SIZE], kernel[256], walk_note[400], room_note[200], moved_note[200];
	char refused_note[400], missing_note[400], damaged_note[120], kernel_note[400], symd_note[300];
	char lines_note[640], lines_missing_note[400], code_note[700], fetch_note[560];
	char selection_note[160], containers_note[400], sockets_note[400], cache_note[160], far_note[120];
	char reach_note[400], roots_note[200];
};

/* What a recording, or a part of one, knows about itself. */
struct hl_header_facts {
	const struct hl_capture *capture;
	const struct hl_session *session; /* that has ended; NULL: it goes on */
	const struct hl_event_choice *event;
	unsigned int frequency;
	const struct hl_window *window;
	const struct hl_resolve_counts *counts;
	const struct hl_kernel_names *kernel;
	const struct hl_symd *names;
	struct hl_cache *cache;        /* NULL: none, or it is told of elsewhere */
	struct hl_capture_stats stats; /* of this time only */
	struct hl_session_times times;
	struct hl_reach_stats reach; /* likewise, as the next */
	struct hl_cgroups_stats cgroups;
	uint64_t unrooted;      /* of hl_files_unrooted() */
	const char *host;       /* as hl_host_name() */
	uint64_t moved_refused; /* of hl_session_moved_code(), in this time */
	/* One of many windows: notes are sentences that stay the same from one to the next. */
	bool of_many;
};

/* All of it in the form that every output shows. */
void hl_header_fill(struct hl_header *header, const struct hl_header_facts *facts);

/* Adds a note, which the header borrows. */
void hl_header_note(struct hl_header *header, const char *note);

/* Samples that were seen but are in no output: the sum of the counted losses. */
uint64_t hl_header_lost(const struct hl_counters *counters, const struct hl_window *window);

#endif
