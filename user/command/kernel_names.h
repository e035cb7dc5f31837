/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_KERNEL_NAMES_H
#define HL_COMMAND_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct hl_symd;

/*
 * The kernel's names as symd has them. Modules and BPF programs come and go: who misses a name reads them
 * again, but not more often than every five seconds. Zero-initialised, kept as long as the symd it is for.
 */
struct hl_kernel_names {
	uint64_t read_ns; /* when they were last read; 0: never */
	int error;        /* of that: 0 or -errno */
	char why[240];    /* in a sentence */
};

/* Gives /proc/kallsyms to @symd, unless that was done less than five seconds before @now_ns. True if it was. */
bool hl_kernel_names_read(struct hl_kernel_names *names, struct hl_symd *symd, uint64_t now_ns);

#endif
