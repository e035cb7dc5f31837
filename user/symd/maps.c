// SPDX-License-Identifier: BSD-2-Clause
#include "symd/maps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "symbol/codelines.h"
#include "symbol/codemap.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"

enum { MAX_PROCESSES = 1 << 16 };

/* All maps together; one that has begun goes on to its own limits. */
#define MAX_MEMORY ((size_t)512 << 20)

struct hl_symd_process {
	struct hl_code_map *code[HL_SYMD_MAP_KINDS];
	struct hl_perf_map *perf_map;
	struct hl_jit_dump *jit_dump;
	struct hl_code_lines *lines; /* of the jitdump */
};

static void process_free(struct hl_symd_process *process)
{
	if (!process)
		return;
	for (int kind = 0; kind < HL_SYMD_MAP_KINDS; kind++)
		hl_code_map_free(process->code[kind]);
	hl_perf_map_free(process->perf_map);
	hl_jit_dump_free(process->jit_dump);
	hl_code_lines_free(process->lines);
	free(process);
}

void hl_symd_maps_done(struct hl_symd_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		process_free(maps->items[i]);
	free(maps->items);
	*maps = (struct hl_symd_maps){ 0 };
}

static struct hl_symd_process *process_new(void)
{
	struct hl_symd_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->code[HL_SYMD_PERF_MAP] = hl_code_map_new();
	process->code[HL_SYMD_JITDUMP] = hl_code_map_new();
	process->perf_map = hl_perf_map_new();
	process->jit_dump = hl_jit_dump_new();
	process->lines = hl_code_lines_new();
	if (process->code[0] && process->code[1] && process->perf_map && process->jit_dump && process->lines)
		return process;
	process_free(process);
	return NULL;
}

static struct hl_symd_process *get_process(struct hl_symd_maps *maps, uint32_t number)
{
	if (hl_grow(&maps->items, &maps->cap, (size_t)number + 1, sizeof(*maps->items), MAX_PROCESSES) < 0)
		return NULL;
	while (maps->n <= number)
		maps->items[maps->n++] = NULL;
	if (!maps->items[number])
		maps->items[number] = process_new();
	return maps->items[number];
}

int hl_symd_maps_read(struct hl_symd_maps *maps, uint32_t number, int fd, const struct hl_symd_map *map,
		      struct hl_symd_map_counts *ret, struct hl_err *err)
{
	struct hl_symd_process *process;
	struct hl_code_counts counts;
	struct hl_code_map *code;
	int r;

	if (map->kind >= HL_SYMD_MAP_KINDS)
		return hl_err_set(err, -EINVAL, "there is no kind %u of maps", map->kind);
	if (maps->memory > MAX_MEMORY)
		return hl_err_set(err, -EFBIG, "the names of generated code take %zu MB already",
				  maps->memory >> 20);
	process = get_process(maps, number);
	if (!process)
		return hl_err_set(err, -ENOMEM, "no room for the code of process %u", number);
	code = process->code[map->kind];
	maps->memory -= hl_code_map_memory(code) + hl_code_lines_memory(process->lines);
	r = map->kind == HL_SYMD_PERF_MAP
		    ? hl_perf_map_read(process->perf_map, fd, code, err)
		    : hl_jit_dump_read(process->jit_dump, fd, map->until_ns, code, process->lines, err);
	maps->memory += hl_code_map_memory(code) + hl_code_lines_memory(process->lines);
	counts = hl_code_map_counts(code);
	*ret = (struct hl_symd_map_counts){ counts.told, counts.damaged, counts.dropped, counts.left };
	return r;
}

bool hl_symd_maps_find(const struct hl_symd_maps *maps, uint32_t number, uint64_t address,
		       struct hl_code_symbol *ret, enum hl_symd_map_kind *ret_kind)
{
	const struct hl_symd_process *process = number < maps->n ? maps->items[number] : NULL;

	if (!process)
		return false;
	*ret_kind = HL_SYMD_JITDUMP;
	if (hl_code_map_find(process->code[HL_SYMD_JITDUMP], address, ret))
		return true;
	*ret_kind = HL_SYMD_PERF_MAP;
	return hl_code_map_find(process->code[HL_SYMD_PERF_MAP], address, ret);
}

bool hl_symd_maps_find_line(const struct hl_symd_maps *maps, uint32_t number, uint64_t start,
			    uint64_t address, struct hl_code_line *ret)
{
	const struct hl_symd_process *process = number < maps->n ? maps->items[number] : NULL;

	return process && hl_code_lines_find(process->lines, start, address, ret);
}
