/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_CAPTURE_H
#define HL_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include <hotleaf/abi.h>

struct hl_event_choice;
struct hl_window;

struct hl_capture_options {
	const struct hl_event_choice *event;
	unsigned int frequency;     /* Hz */
	unsigned int max_depth;     /* user frames a stack, at most HL_MAX_FRAMES */
	unsigned int map_samples;   /* distinct samples between two drains; 0: by CPUs and frequency */
	unsigned int map_stacks;    /* distinct stacks between two drains; 0: twice as many */
	unsigned int map_processes; /* 0: 8,192 */
	unsigned int unwind_mb;     /* most memory of unwind tables, MiB, at most 1,024; 0: 128 */
	bool only_targets;          /* sample only processes given by hl_capture_add_target() */
	bool kernel_walk;           /* do not walk in the program: as where the self-test fails */
	bool time_is_counted;       /* somebody holds hl_capture_count_time() */
	unsigned int slow_us;       /* tests: time that the program loses in each run */
};

/* How user stacks are walked, by the self-test's verdict. */
enum hl_capture_walk {
	HL_CAPTURE_WALK_OWN,    /* mappings looked up and stacks walked by our program */
	HL_CAPTURE_WALK_KERNEL, /* by the kernel, raw addresses; see hl_capture_options.kernel_walk */
};

struct hl_capture;

/*
 * Has the kernel count the time that programs take, of all of them, while the descriptor is open that it
 * returns; or -errno. It needs CAP_SYS_ADMIN, so who drops that and makes captures later holds one for them;
 * else each makes its own.
 */
int hl_capture_count_time(void);

/*
 * Loads the programs and opens the events, disabled, on every CPU that is online, after the self-test. Owned
 * by the caller. 0 or -errno with the reason. hl_capture_free() stops what runs and accepts NULL.
 */
int hl_capture_new(const struct hl_capture_options *options, struct hl_capture **ret, struct hl_err *err);
void hl_capture_free(struct hl_capture *capture);

/* What the self-test allowed, and why not more: "" or a sentence. Lives as long as the capture. */
enum hl_capture_walk hl_capture_walk(const struct hl_capture *capture, const char **ret_why);

/* Samples process @tgid and, from now on, its descendants. Before or after the start. */
int hl_capture_add_target(struct hl_capture *capture, pid_t tgid, struct hl_err *err);

int hl_capture_start(struct hl_capture *capture, struct hl_err *err);
/* Ends sampling. What was sampled stays in the maps for two more drains. No harm if it was ended already. */
void hl_capture_stop(struct hl_capture *capture);
/* Samples again after a stop. */
void hl_capture_resume(struct hl_capture *capture);

/*
 * Flips the side, waits until no program can still write to the old one, and moves what it holds into
 * @window. Also opens events on CPUs that came online and closes those of CPUs that went. Call it about once
 * a second, and twice after hl_capture_stop().
 */
int hl_capture_drain(struct hl_capture *capture, struct hl_window *window, struct hl_err *err);

/*
 * Samples at @hz from now on; periods of samples, the weights, say so by themselves. To be called by the thread
 * that drains. 0 or -errno: then events go on as they were, or, of some CPUs, as they shall be.
 */
int hl_capture_set_frequency(struct hl_capture *capture, unsigned int hz, struct hl_err *err);

/* A descriptor that polls readable while file events are waiting. */
int hl_capture_files_fd(const struct hl_capture *capture);
typedef void (*hl_capture_file_fn)(void *ctx, const struct hl_file_event *event);
/* Hands every waiting file event to @fn. May run in another thread than the rest. 0 or -errno. */
int hl_capture_read_files(struct hl_capture *capture, hl_capture_file_fn fn, void *ctx);
/*
 * Hands @fn an event for every file that running processes, or the targets, execute from and that was not
 * settled: before the start, so that tables can be there when the first sample comes. Waits for processes
 * whose mappings are being changed. 0 or -errno.
 */
int hl_capture_list_files(struct hl_capture *capture, hl_capture_file_fn fn, void *ctx);
/*
 * Hands @fn the event of the file that the process of thread @tid maps at @start, whether settled or not. 0 or
 * -errno: -ENOENT if there is no file.
 */
int hl_capture_list_file(struct hl_capture *capture, pid_t tid, uint64_t start, hl_capture_file_fn fn,
			 void *ctx);
/*
 * No more events for the file with this id: it was opened, or never will be. @state says whether an unwind
 * table may still come (PENDING) or not (NONE). A table that it has goes. From here to
 * hl_capture_reuse_file(), all calls must come from one thread; it may be another than that of the drains.
 */
void hl_capture_settle_file(struct hl_capture *capture, uint32_t id, enum hl_table_state state);

/*
 * Loads a file's unwind table, from @bytes as in hotleaf/unwind.h, which must have been checked; HL_FILE_VDSO
 * is a file, too. It takes the place of the one before. The file counts as settled. Where memory is short, the
 * tables that were not used for longest go, which may take some milliseconds. 0 or -errno: then it goes on
 * without a table. -ENOSPC: there was no room, as those that are there are in use now; when the file is sampled
 * again, after some seconds, there will be another event of it.
 */
int hl_capture_load_table(struct hl_capture *capture, uint32_t id, const void *bytes, struct hl_err *err);

/*
 * From now on the memory of unwind tables is at most @mb MiB, but no more than unwind_mb and no less than what is in
 * use now: the tables that were not used for longest go, which may take some milliseconds.
 */
void hl_capture_limit_tables(struct hl_capture *capture, unsigned int mb);

/* HL_TABLE_FIRST: it is loaded. An event of a file that is open and DROPPED asks for its table. */
enum hl_table_state hl_capture_table_state(const struct hl_capture *capture, uint32_t id);

/*
 * Says where the code of a mapping in no file comes from, or of start 0 when to ask again: see struct hl_moved. It
 * takes the place of what was said before. 0 or -errno: -ENOSPC if there is no room, -ESTALE if the file expired.
 */
int hl_capture_add_moved(struct hl_capture *capture, const struct hl_moved_key *key,
			 const struct hl_moved *moved);
/* Forgets it all of the processes that @is_gone says have ended. How many elements that were. */
typedef bool (*hl_capture_gone_fn)(void *ctx, const struct hl_process_key *key);
unsigned int hl_capture_sweep_moved(struct hl_capture *capture, hl_capture_gone_fn is_gone, void *ctx);

/*
 * For captures without an end: forgets the files that no program has met in the last @unused_s seconds, their
 * tables too, and hands the id of each to @fn. A file that is met again has another id from now on. An id may
 * still stand in what was sampled: the caller keeps what it knows of the file until hl_capture_reuse_file()
 * has succeeded. Takes some milliseconds. 0 or -errno.
 */
typedef void (*hl_capture_expired_fn)(void *ctx, uint32_t id);
int hl_capture_expire_files(struct hl_capture *capture, unsigned int unused_s, hl_capture_expired_fn fn,
			    void *ctx, struct hl_err *err);
/*
 * Lets programs give the expired @id to another file. To be called when every window that it may stand in was
 * resolved: those that were filled up to the third drain after it expired. -EBUSY before that drain, or before
 * file events were read twice: try again later.
 */
int hl_capture_reuse_file(struct hl_capture *capture, uint32_t id);
/* Whether that would succeed now. */
bool hl_capture_can_reuse_file(const struct hl_capture *capture, uint32_t id);

struct hl_capture_stats {
	struct hl_counters counters; /* since the start, all CPUs */
	uint64_t expected;           /* samples due by the clock; 0 where the event does not tell */
	uint64_t program_ns;         /* spent in the sampling program; 0 where the kernel does not tell */
	uint64_t map_bytes;          /* memory of all BPF maps, as the kernel accounts it */
	uint64_t table_bytes;        /* of these the slabs of unwind tables, which the cap is for */
	uint64_t tables_dropped;     /* unwind tables that had to go for others */
	uint64_t tables_refused;     /* that found no room: once for each try */
	unsigned int cpus;           /* with an event now */
	bool program_ns_known;
};
void hl_capture_stats(struct hl_capture *capture, struct hl_capture_stats *ret);

#endif
