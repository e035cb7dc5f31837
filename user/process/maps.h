/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_MAPS_H
#define HL_PROCESS_MAPS_H

#include "sample/window.h"

struct hl_files;
struct hl_reach;

/*
 * Translates raw user addresses by /proc/PID/maps, for kernels where the program cannot look mappings up
 * itself. Its weakness is why the program does: a process that ends before it is read stays raw, and one
 * that maps or execs in between can be misread.
 */
struct hl_maps;

/* Opens the files it meets into @files, which stays the caller's. NULL: no memory. */
struct hl_maps *hl_maps_new(int proc_fd, struct hl_reach *reach, struct hl_files *files);
void hl_maps_free(struct hl_maps *maps);

/*
 * Moves the samples, stacks and processes of @raw into @into, with every raw user address that lies in a
 * file turned into a frame of that file. Each process is read anew, once a call.
 */
void hl_maps_translate(struct hl_maps *maps, const struct hl_window *raw, struct hl_window *into);

#endif
