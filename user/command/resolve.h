/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_RESOLVE_H
#define HL_COMMAND_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "command/code_names.h"
#include "command/debugfiles.h"
#include "command/lines.h"
#include "sample/reason.h"
#include "sample/window.h"

struct hl_cgroups;
struct hl_code_files;
struct hl_exes;
struct hl_files;
struct hl_identity;
struct hl_kernel_names;
struct hl_moved_code;
struct hl_profile;
struct hl_reach;
struct hl_selection;
struct hl_symd;
struct hl_cache;

/* From samples to a profile: each distinct place is looked up once, then every sample becomes a stack. */
struct hl_resolve {
	const struct hl_window *window;
	const struct hl_files *files;
	struct hl_reach *reach; /* opens debug files; NULL: in place */
	const struct hl_code_files *code_files;
	const struct hl_moved_code *moved;
	uint64_t until_ns; /* CLOCK_MONOTONIC: when sampling ended; code made later is none of ours */
	struct hl_symd *symd;
	struct hl_cache *cache;         /* of what is read for lines; NULL: none */
	struct hl_kernel_names *kernel; /* as `symd` has them */
	bool instructions;              /* leaves are instructions; else what stands above them */
	bool loops;                     /* the innermost loop stands above the instruction */
	bool line_tier;                 /* the source line does, below the loop */
	bool intel;
	uint32_t debuginfod_ms; /* for fetching debug files from servers; 0: none are fetched */
	uint64_t debug_memory;  /* bytes of debug information of one file */
	bool inlines, lines;    /* inlined functions are frames; function frames have file and line */
	bool software_clock;    /* the event is a timer */
	bool detailed;          /* makes a detailed profile, whose roots tell all that is known */
	bool again;             /* `named` is of the same window: what files are read for was read */
	bool foreign_ids;       /* hl_process_ids_are_the_hosts() does not hold: no file can be opened */
	const struct hl_selection *selection; /* NULL: all samples, by process */
	struct hl_cgroups *cgroups;           /* NULL, as `exes`: none are known */
	struct hl_exes *exes;
	const char *host, *event; /* as root frames */
	/* Kept from one window to the next, with `symd` and `files`; NULL: made for this one. */
	struct hl_named_files *named;
	/* Given each stack, root first, and whose it is, instead of hl_profile_add(); NULL: that. 0 or -errno. */
	int (*take)(void *ctx, const struct hl_sample *sample, const struct hl_identity *identity,
		    const uint32_t *frames, size_t n);
	void *take_ctx;
};

/* Samples that lack something, by what they lack. */
struct hl_resolve_counts {
	uint64_t not_asked;          /* --where does not hold for them: they are not shown */
	uint64_t excluded;           /* by --exclude: not shown */
	uint64_t no_cgroup;          /* their cgroup was gone before it was seen */
	uint64_t nameless;           /* no symbol covers the instruction */
	uint64_t textless;           /* no code bytes were there to decode */
	uint64_t undecoded;          /* no decoder knows the bytes */
	uint64_t unopened[HL_LACKS]; /* the file is not known, by what it lacks */
	uint64_t differs;            /* the file holds other bytes there than were sampled */
	uint64_t denied;             /* symd failed on the file */
	uint64_t unlisted;           /* no loop was looked for: the function's code was not there */
	uint64_t lineless;           /* the source line is not known, where it should be a tier */
	uint64_t irqs_off;           /* taken where interrupts were enabled again */
	uint64_t stacks_lost;        /* the stack map had no room */
	uint64_t walk[HL_WALK_MAX];  /* by how the user walk ended */
	struct hl_debug_counts debug;
	struct hl_lines_counts lines;
	struct hl_code_name_counts code_names;
};

/* Adds all samples of the window to @profile, unfinished. 0 or -errno. */
int hl_resolve_run(const struct hl_resolve *resolve, struct hl_profile *profile,
		   struct hl_resolve_counts *ret, struct hl_err *err);

#endif
