/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_SANDBOX_H
#define HL_SYMD_SANDBOX_H

/* What the child does to itself before it reads a foreign byte; private to this folder and its tests. */

#include <stdint.h>

/*
 * Gives up, for this process and for good, all that parsing does not need; it may hold 1,024 descriptors and
 * @memory_mb MiB of address space (0: no limit). Returns the HL_GUARD_* of client.h that stand: a step that
 * these privileges do not permit is left out, the others are taken all the same.
 */
uint32_t hl_sandbox_enter(uint32_t memory_mb);

/* Installs the filter of system calls. 0 or -errno. */
int hl_sandbox_filter(void);

#endif
