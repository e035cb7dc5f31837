// SPDX-License-Identifier: BSD-2-Clause
#include "command/cost.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "command/graphs.h"
#include "command/keeper.h"
#include "command/session.h"

/*
 * Resident memory. The slabs of unwind tables are mapped: their pages count as pages of files here, and again as
 * memory of BPF maps.
 */
static uint64_t resident_bytes(uint64_t table_bytes)
{
	_cleanup_free_ char *text = NULL;
	uint64_t resident, shared, page = (uint64_t)sysconf(_SC_PAGESIZE), anonymous;

	if (hl_read_file_at(AT_FDCWD, "/proc/self/statm", 256, &text, NULL) ||
	    sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2)
		return 0;
	anonymous = (resident - shared) * page;
	return shared * page > table_bytes ? anonymous + shared * page - table_bytes : anonymous;
}

void hl_cost_look(const struct hl_session *session, struct hl_keeper *keeper, const struct hl_graphs *graphs,
		  const struct hl_capture_stats *stats, struct hl_cost *ret)
{
	*ret = (struct hl_cost){
		.when_ns = hl_monotonic_ns(),
		.programs_ns = stats->program_ns,
		.process_ns = hl_process_cpu_ns(),
		.tables_ns = hl_session_tables_cpu_ns(session),
		.names_ns = hl_keeper_names_cpu_ns(keeper),
		.graphs_ns = hl_graphs_cpu_ns(graphs),
		.resident_bytes = resident_bytes(stats->table_bytes),
		.map_bytes = stats->map_bytes,
		.table_bytes = stats->table_bytes,
		.cpus = stats->cpus,
	};
}

uint64_t hl_cost_cpu_ns(const struct hl_cost *cost)
{
	return cost->programs_ns + cost->process_ns + cost->tables_ns + cost->names_ns + cost->graphs_ns;
}
