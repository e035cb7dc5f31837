/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_RECORDING_H
#define HL_COMMAND_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/cli.h"
#include "command/selection.h"
#include "command/session.h"

struct hl_cache;
struct hl_profile;
struct hl_symd;

/* One recording, from the first event to a finished profile: what `record` and `annotate` share. */

/* What is sampled, and how: the options below fill it. */
struct hl_recording_options {
	bool all_cpus, call_graph, kernel_walk;
	struct hl_numbers pids;
	struct hl_words by, where, exclude; /* see command/selection.h */
	struct hl_words container_sockets;  /* at which runtimes are asked */
	bool flat;                          /* each key of @by has one frame */
	uint64_t duration_ns, leave_out_ns;
	uint32_t frequency, max_depth, map_samples, map_stacks, map_processes, unwind_mb, symd_mb, slow_us;
	const char *event;
	int syntax;           /* HL_SYNTAX_ATT, HL_SYNTAX_INTEL */
	bool no_instructions; /* stacks end in functions, or their loops */
	bool loops;           /* the innermost loop around the instruction stands above it */
	bool line_tier;       /* and its source line, by debug information, between them */
	bool elsewhere;       /* outputs lie where only root may write: keep what that takes */
	bool detailed;        /* a detailed profile is wanted, too */
	bool inlines, lines; /* by debug information: frames of inlined functions; functions by source line */
	uint32_t debug_mb;   /* of debug information of one file, inflated */
	const char *host;    /* instead of this host's name; NULL: that */
	const char *cache;   /* directory, or "none" */
	uint32_t cache_mb;
	bool debuginfod;        /* debug files that are not on this host are fetched */
	uint64_t debuginfod_ns; /* for that, in all; 0: the default */
};

enum { HL_SYNTAX_ATT, HL_SYNTAX_INTEL };
extern const char *const hl_recording_syntaxes[];

/*
 * Rows of a command whose config struct has a field `recording` of the struct above; @operands that -p
 * excludes, or NULL.
 */
/* clang-format off */
#define HL_RECORDING_WHAT(config, operands)  \
	HL_HEADING("What is sampled"),  \
	{ "pid", 'p', HL_NUMBERS(config, recording.pids), .min = 1, .max = 4194304, .rejects = operands,  \
	  .metavar = "PID,…", .help = "these processes and their descendants only" },  \
	{ "duration", 'd', HL_SECONDS(config, recording.duration_ns), .min = 1000000,  \
	  .max = 86400 * HL_SECOND_NS, .metavar = "SECONDS",  \
	  .help = "how long; without it 10 s, or until COMMAND ends" },  \
	{ "frequency", 'F', HL_UINT(config, recording.frequency), .min = 1, .max = 20000, .default_text = "99",  \
	  .metavar = "HZ", .help = "samples a second on each CPU" },  \
	{ "event", 'e', HL_STRING(config, recording.event), .metavar = "EVENT",  \
	  .help = "what to count; without it the best that opens: cycles, as precise as can be, else "  \
		  "cpu-clock" },  \
	{ "all-cpus", 'a', HL_FLAG(config, recording.all_cpus), .rejects = "pid",  \
	  .help = "the whole host, as it is without -p and COMMAND; accepted as perf's spelling" },  \
	{ "call-graph", 'g', HL_FLAG(config, recording.call_graph),  \
	  .help = "stacks, which are always recorded; accepted as perf's spelling" }
#define HL_RECORDING_WHO(config) HL_SELECTION_ROWS(config, recording.where, recording.exclude)
#define HL_RECORDING_SOCKETS(config)  \
	{ "container-socket", 0, HL_STRINGS(config, recording.container_sockets), .metavar = "PATH",  \
	  .help = "ask the runtime at the socket PATH, as /run/docker.sock, by Docker's API, for names, images and "  \
		  "labels of containers that no file on disk describes; may be given several times" }
#define HL_RECORDING_HOST(config)  \
	{ "host", 0, HL_STRING(config, recording.host), .metavar = "NAME",  \
	  .help = "what this host is called in results, in a container the node's name; without it the host's name" }
#define HL_RECORDING_SYNTAX(config)  \
	{ "syntax", 0, HL_CHOICE(config, recording.syntax), .choices = hl_recording_syntaxes, .default_text = "att",  \
	  .metavar = "SYNTAX", .help = "of instructions" }
#define HL_RECORDING_DEBUGINFOD(config)  \
	{ "debuginfod", 0, HL_FLAG(config, recording.debuginfod),  \
	  .help = "debug files that are not on this host are fetched, when recording ends, from the servers "  \
		  "in DEBUGINFOD_URLS, as nobody, for 20 s at most" },  \
	{ "debuginfod-time", 0, HL_SECONDS(config, recording.debuginfod_ns), .min = 1000000,  \
	  .max = 86400 * HL_SECOND_NS, .hidden = true, .metavar = "SECONDS", .help = "instead of 20 s, for tests" }
#define HL_RECORDING_LIMITS(config)  \
	HL_HEADING("Limits"),  \
	{ "max-depth", 0, HL_UINT(config, recording.max_depth), .min = 1, .max = HL_MAX_FRAMES,  \
	  .default_text = "255", .metavar = "N",  \
	  .help = "callers in a user stack, 512 at most; what is deeper is cut and counted" },  \
	{ "map-samples", 0, HL_UINT(config, recording.map_samples), .max = 2 << 20, .metavar = "N",  \
	  .help = "distinct samples a second; without it by CPUs and frequency" },  \
	{ "map-stacks", 0, HL_UINT(config, recording.map_stacks), .max = 2 << 20, .metavar = "N",  \
	  .help = "distinct stacks a second; without it twice the samples" },  \
	{ "map-processes", 0, HL_UINT(config, recording.map_processes), .max = 1 << 20, .metavar = "N",  \
	  .help = "processes a second; without it 8192" },  \
	{ "unwind-memory", 0, HL_UINT(config, recording.unwind_mb), .min = 1, .max = HL_SLABS,  \
	  .default_text = "128", .metavar = "MB",  \
	  .help = "memory of unwind tables; beyond it those unused for longest go, and are counted" },  \
	{ "cache", 0, HL_STRING(config, recording.cache), .default_text = "/var/cache/hotleaf",  \
	  .metavar = "DIR",  \
	  .help = "keep unwind tables, names, and what --inlines and --lines read, in DIR; none: nothing" },  \
	{ "cache-size", 0, HL_UINT(config, recording.cache_mb), .min = 1, .max = 1 << 20,  \
	  .default_text = "1024", .metavar = "MB",  \
	  .help = "beyond it, what was not used for longest goes" },  \
	{ "symd-memory", 0, HL_UINT(config, recording.symd_mb), .min = 64, .max = 1 << 20,  \
	  .default_text = "4096", .metavar = "MB",  \
	  .help = "address space of symd, which parses files: one that needs more has no names" },  \
	{ "kernel-walk", 0, HL_FLAG(config, recording.kernel_walk), .hidden = true,  \
	  .help = "walk user stacks as where the self-test fails" },  \
	{ "leave-out", 0, HL_SECONDS(config, recording.leave_out_ns), .max = 86400 * HL_SECOND_NS,  \
	  .hidden = true, .metavar = "SECONDS",  \
	  .help = "throw away what is sampled in the first SECONDS, for benchmarks" },  \
	{ "slow-program", 0, HL_UINT(config, recording.slow_us), .max = 10000, .hidden = true,  \
	  .metavar = "MICROSECONDS", .help = "time that the sampling program loses, for tests" }
/* clang-format on */

/* Whether each of their sockets can be one. 0 or HL_EXIT_USAGE. */
int hl_recording_check_sockets(const struct hl_recording_options *options, struct hl_err *err);

/* How long symd may take for one request. While one table is made, other files wait for theirs. */
enum { HL_TABLES_MS = 10000, HL_NAMES_MS = 30000 };

/* What the capture needs of them. */
struct hl_capture_options hl_recording_capture(const struct hl_recording_options *options,
					       const struct hl_event_choice *event);

/* Opens the cache that they name, to be closed with hl_cache_close(); NULL for "none". 0 or -errno. */
int hl_recording_open_cache(const struct hl_recording_options *options, struct hl_cache **ret,
			    struct hl_err *err);

struct hl_living_code;
struct hl_recording;

/*
 * Records what @options say, or @command (ending with NULL; NULL or empty: none) and its descendants, and
 * makes a finished profile of it. 0; -errno; or HL_EXIT_USAGE for an event that does not exist. To be released
 * with hl_recording_free(), which accepts NULL.
 */
int hl_recording_make(const struct hl_recording_options *options, char **command, struct hl_recording **ret,
		      struct hl_err *err);
void hl_recording_free(struct hl_recording *run);

/* What belongs to a recording, as long as it lives; the symbolizer knows its files by hl_binary.number. */
const struct hl_profile *hl_recording_profile(const struct hl_recording *recording);
/* NULL unless it was wanted. */
const struct hl_profile *hl_recording_detailed(const struct hl_recording *recording);
/* What is in no file; see its header. */
struct hl_living_code hl_recording_living_code(const struct hl_recording *recording);
struct hl_symd *hl_recording_symd(const struct hl_recording *recording);
struct hl_session_times hl_recording_times(const struct hl_recording *recording);
/* Standard error is a terminal: progress was shown there, and a result may be. */
bool hl_recording_on_terminal(const struct hl_recording *recording);

#endif
