/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_COST_H
#define HL_COMMAND_COST_H

#include <stdint.h>

struct hl_capture_stats;
struct hl_graphs;
struct hl_keeper;
struct hl_session;

/* What the agent has cost since its session began. */
struct hl_cost {
	uint64_t when_ns;             /* by the monotonic clock */
	uint64_t programs_ns;         /* CPU time of the programs in the kernel */
	uint64_t process_ns;          /* of this process, since its start */
	uint64_t tables_ns, names_ns; /* of the two symbolizers */
	uint64_t graphs_ns;           /* of children that wrote flame graphs */
	/* Now: */
	uint64_t resident_bytes; /* of this process, without what it maps of BPF maps */
	uint64_t map_bytes;      /* of all BPF maps */
	uint64_t table_bytes;    /* of these, unwind tables */
	unsigned int cpus;
};

/* @stats are the capture's as of now. */
void hl_cost_look(const struct hl_session *session, struct hl_keeper *keeper, const struct hl_graphs *graphs,
		  const struct hl_capture_stats *stats, struct hl_cost *ret);

/* Of CPU time in all. */
uint64_t hl_cost_cpu_ns(const struct hl_cost *cost);

#endif
