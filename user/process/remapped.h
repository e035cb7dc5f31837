/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_REMAPPED_H
#define HL_PROCESS_REMAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc.h"

/*
 * Programs that want their code in huge pages copy it to anonymous memory at the same addresses (node
 * --use-largepages, HHVM, MySQL). What is left of the file on both sides tells what lies between: anonymous
 * executable memory that fills a gap, to the byte, between two mappings of one file at one distance.
 */
struct hl_remapped {
	uint64_t start, end;
	uint64_t offset;                   /* of `start` in the file */
	uint64_t beside_start, beside_end; /* the mapping of the file in front of it */
	uint64_t device, inode;            /* of the file, as stat tells them; the finder leaves them 0 */
	uint32_t file;                     /* its id, likewise; 0: not known */
};

enum { HL_REMAPPED_MAX = 8 };

/* Finds the first HL_REMAPPED_MAX of a process from its mappings in order. Zero-initialised to begin. */
struct hl_remapped_finder {
	struct hl_remapped found[HL_REMAPPED_MAX];
	size_t n;
	struct hl_proc_mapping before; /* the last mapping of a file; its path is not valid */
	uint64_t end;                  /* of the anonymous code behind it; 0: there is none */
};

void hl_remapped_take(struct hl_remapped_finder *finder, const struct hl_proc_mapping *mapping);

#endif
