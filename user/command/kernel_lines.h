/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_KERNEL_LINES_H
#define HL_COMMAND_KERNEL_LINES_H

#include <stdint.h>

struct hl_cache;
struct hl_lines_counts;
struct hl_reach;
struct hl_symd;

/*
 * Has @symd read the debug information of the running kernel, from the file that has its build-id, if there is one
 * on this host; with @fetch_ms, else from debuginfod servers. @memory and @cache as for hl_lines_read(). What became
 * of it is added to @counts. Modules have none of it.
 */
void hl_kernel_lines_read(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
			  uint64_t memory, uint32_t fetch_ms, struct hl_lines_counts *counts);

#endif
