/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_OPENER_H
#define HL_COMMAND_OPENER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/id_list.h"
#include "command/session.h"

struct hl_cgroup_thread;
struct hl_maps;
struct hl_reach;
struct hl_moved_watch;
struct hl_symd;
struct hl_table_thread;

/* The inside of a session, for session.c and the thread of it that opens files only. */
struct hl_session {
	struct hl_capture *capture;
	struct hl_reach *reach;
	struct hl_files *files;
	/* Held by who changes files, and by who reads them while the opener runs. */
	pthread_mutex_t files_lock;
	struct hl_code_files *code_files;
	struct hl_cgroups *cgroups; /* NULL, as `exes`: nobody asks */
	struct hl_cgroup_thread *cgroup_thread;
	struct hl_exes *exes;
	struct hl_maps *maps; /* only where the kernel walks: addresses are raw then */
	/* The other thread's. */
	struct hl_symd *symd;   /* compiles unwind tables, by `tables` only while that thread runs */
	struct hl_cache *cache; /* of tables, borrowed; NULL: none; the same */
	struct hl_table_thread *tables;
	struct hl_id_list waiting; /* open files whose table is to be loaded */
	struct hl_id_list lost;    /* files that could not be opened yet */
	struct hl_id_list expired; /* files that nobody runs any more, and whose ids are not free yet */
	bool lost_again;           /* one of them was sampled again */
	atomic_uint expire_s;      /* asked for; 0: nothing is */
	atomic_bool reuse;         /* asked for */
	atomic_uint limit_mb;      /* of tables, asked for; 0: nothing is */
	_Atomic uint64_t tables_cpu_ns;
	struct hl_moved_watch *moved;
	uint64_t searched_ns;
	pthread_t opener;
	bool opener_runs;
	int proc_fd, stop_fd, ready_fd;
	size_t table_bytes; /* of all tables so far; the opener's */
	size_t early_bytes; /* up to which tables are made before the start */
	struct hl_session_times times;
	uint64_t prepared_by_ns; /* by then it starts */
	uint64_t started_ns, started_cpu_ns;
};

/* The thread; @ctx is a struct hl_session; it ends when stop_fd is written to. */
void *hl_opener_run(void *ctx);
/* What it does of an event. */
void hl_opener_on_file(void *ctx, const struct hl_file_event *event);

#endif
