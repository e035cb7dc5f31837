/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_PERFMAP_H
#define HL_SYMBOL_PERFMAP_H

struct hl_code_map;
struct hl_err;
struct hl_perf_map;

/*
 * A perf map: /tmp/perf-PID.map, to which a runtime appends a line "START SIZE NAME" for each piece of code
 * that it makes, numbers in hexadecimal (the kernel's tools/perf/Documentation/jit-interface.txt). Names may
 * hold blanks. NULL without memory.
 */
struct hl_perf_map *hl_perf_map_new(void);
void hl_perf_map_free(struct hl_perf_map *map);

/*
 * Takes what was appended to @fd since the last call into @into; a last line without its end is left for the
 * next one. Of a file that was written anew all is read, and @into cleared before. 0 or -errno.
 */
int hl_perf_map_read(struct hl_perf_map *map, int fd, struct hl_code_map *into, struct hl_err *err);

#endif
