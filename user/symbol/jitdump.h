/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMBOL_JITDUMP_H
#define HL_SYMBOL_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

struct hl_code_lines;
struct hl_code_map;
struct hl_err;
struct hl_jit_dump;

/*
 * A jitdump, jit-PID.dump: records of the code that a runtime makes, moves and throws away, with the times
 * of that (the kernel's tools/perf/Documentation/jitdump-specification.txt). NULL without memory.
 */
struct hl_jit_dump *hl_jit_dump_new(void);
void hl_jit_dump_free(struct hl_jit_dump *dump);

/*
 * Takes what was appended to @fd since the last call into @into and, of source lines, into @lines, up to the
 * first record made after @until_ns, of the clock CLOCK_MONOTONIC; 0, or times by another clock in the file:
 * all records. A last record that is not whole is left for the next call. Of a file that was written anew all
 * is read, and @into and @lines cleared before. 0 or -errno: -EBADMSG for what is no jitdump of this machine,
 * or is damaged; what stands before the damage is taken.
 */
int hl_jit_dump_read(struct hl_jit_dump *dump, int fd, uint64_t until_ns, struct hl_code_map *into,
		     struct hl_code_lines *lines, struct hl_err *err);

/*
 * Puts the @size bytes of code that is told to begin at @start, as they were told last up to @until_ns, at @ret; the
 * file is gone through from its beginning. -ENODATA: they are not in it. -EBADMSG, or what reading said.
 */
int hl_jit_dump_find_code(int fd, uint64_t until_ns, uint64_t start, uint8_t *ret, size_t size,
			  struct hl_err *err);

#endif
