/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_VDSO_H
#define HL_PROCESS_VDSO_H

/*
 * A copy of the 64-bit vDSO that the kernel maps into every process, as a file: an anonymous descriptor,
 * owned by the caller, or -errno. -ENOENT where there is none.
 */
int hl_vdso_open(void);

#endif
