/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_INTERNAL_H
#define HL_CAPTURE_INTERNAL_H

#include "capture/capture.h"

struct btf;
struct hotleaf_bpf;

/* The three maps of one side. */
struct hl_side {
	int counts, stacks, processes;
};

/* Memory for one batch of a drain, made once. */
struct hl_batch {
	struct hl_count_key *keys;
	struct hl_count *counts;
	uint64_t *stack_ids;
	char *stacks;
	struct hl_process_key *process_keys;
	struct hl_process *processes;
	size_t stack_size; /* bytes of a stack map's value */
};

/* A CPU's event; fd is -1 where it has none. */
struct hl_cpu_event {
	int fd;
	struct bpf_link *link;
	uint64_t enabled_ns; /* when it was last looked at */
};

struct hl_capture {
	struct hl_capture_options options;
	struct hotleaf_bpf *skel;
	struct hl_side sides[2];
	struct hl_batch batch;
	struct hl_tables *tables;
	struct hl_expired *expired; /* by file id; NULL: none was yet */
	uint64_t n_drains, n_reads; /* of sides, of file events; atomic */
	uint64_t started_ns;
	uint32_t epoch_seen;         /* since then */
	struct hl_cpu_event *events; /* by CPU number */
	size_t n_events;
	uint64_t gone_enabled_ns; /* enabled time of events that were closed */
	uint64_t slower_ns;       /* of the enabled time, until the frequency was last changed */
	double slower_expected;   /* samples that were due until then */
	struct ring_buffer *ring;
	int stats_fd;
	bool started;
	enum hl_capture_walk walk;
	char why[256];
	hl_capture_file_fn file_fn;
	void *file_ctx;
};

/* sides.c: makes the inner maps and tells the skeleton of them, before it is loaded; after: puts them in. */
int hl_sides_make(struct hl_capture *capture, struct hl_err *err);
int hl_sides_publish(struct hl_capture *capture, struct hl_err *err);
void hl_sides_done(struct hl_capture *capture);

/* tables.c: as for the sides. */
int hl_tables_make(struct hl_capture *capture, struct hl_err *err);
int hl_tables_publish(struct hl_capture *capture, struct hl_err *err);
void hl_tables_done(struct hl_capture *capture);
/* Memory of the slabs, in bytes. */
uint64_t hl_tables_bytes(const struct hl_capture *capture);
/* Makes programs forget what they remember of tables, and frees what is dead once they have. */
void hl_tables_bury(struct hl_capture *capture);

/* expire.c: begins a new epoch when it is time. */
void hl_epoch_advance(struct hl_capture *capture);
/* Whether @id is of no file now: what is said of it comes late. */
bool hl_files_is_expired(const struct hl_capture *capture, uint32_t id);

/* moved.c: forgets code that was moved out of files that are expired. */
void hl_moved_drop_expired(struct hl_capture *capture);

/* cpus.c: opens and closes events so that they match the CPUs online. */
int hl_cpus_update(struct hl_capture *capture, struct hl_err *err);
void hl_cpus_enable(struct hl_capture *capture, bool enable);
void hl_cpus_done(struct hl_capture *capture);
/* Nanoseconds for which events were enabled, summed over CPUs. */
uint64_t hl_cpus_enabled_ns(const struct hl_capture *capture);
/* Samples that were due by then, by the clock. */
double hl_cpus_expected(const struct hl_capture *capture);
/* Parses a list such as "0-3,5" into set[CPU] = true; -EINVAL if it is none or names a CPU >= @n. */
int hl_cpus_parse(const char *list, bool *set, size_t n);

/* Address ranges of the running kernel that the program must know. */
struct hl_kernel_ranges {
	uint64_t idle_start, idle_end;
	uint64_t irq_start[HL_MAX_IRQ_RANGES], irq_end[HL_MAX_IRQ_RANGES];
	unsigned int n_irq;
};
/* kernel_ranges.c: reads them from the open kallsyms @fd, which stays the caller's. What is missing is 0. */
int hl_kernel_ranges_read(int fd, struct hl_kernel_ranges *ret);

/* refusal.c: whether the kernel that @btf describes keeps its mappings in a tree that we can walk. */
bool hl_has_mapping_tree(const struct btf *btf);
/* Keeps what libbpf says from here on: the cause, should loading fail. */
void hl_refusal_listen(void);
/* Writes why loading failed with @code. Returns @code, or -ENOTSUP where the kernel lacks what we need. */
int hl_refusal_explain(int code, struct hl_err *err);

/*
 * selftest.c: proves mapping lookup and walk in a child process. True if both are right; else @why says
 * what was wrong.
 */
bool hl_selftest_run(struct hl_capture *capture, char *why, size_t why_len);

#endif
