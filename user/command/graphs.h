/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_GRAPHS_H
#define HL_COMMAND_GRAPHS_H

#include <stdint.h>

#include "base/cleanup.h"

/*
 * The flame graphs that an agent writes by itself, into the directory "flamegraphs" of its store: one of each hour, or
 * whatever `every_ns` says, and one of each incident, when CPUs are short. A child makes them, one at a time, from
 * the store: `hotleaf report`, as anyone may call it.
 */
struct hl_graphs_options {
	uint64_t every_ns; /* 0: none */
	uint64_t when;     /* thousandths of a percent, of hl_pressure_look(); 0: none */
	uint64_t quiet_ns; /* after an incident, before the next */
	uint64_t max_age_ns, max_bytes;
};

struct hl_graphs;

/* NULL without memory. hl_graphs_free() ends a child that still works, and accepts NULL. */
struct hl_graphs *hl_graphs_new(void);
void hl_graphs_free(struct hl_graphs *graphs);
HL_DEFINE_CLEANUP(struct hl_graphs, hl_graphs_free)

/*
 * To be called once a second: starts what is due and reaps what is done. Windows of the store in @dir are @window_ns
 * long. What goes wrong is logged.
 */
void hl_graphs_look(struct hl_graphs *graphs, const struct hl_graphs_options *options, const char *host,
		    const char *dir, uint64_t window_ns);

/* CPU time of all children that have ended. */
uint64_t hl_graphs_cpu_ns(const struct hl_graphs *graphs);

#endif
