/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROCESS_PRESSURE_H
#define HL_PROCESS_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How much work waits for CPUs, in thousandths of a percent: the share of the last ten seconds in which something
 * did (pressure/cpu below /proc, kernels with PSI), else the busy share of all CPUs since the last call (stat).
 */
struct hl_pressure {
	uint64_t busy, total; /* clock ticks, of the last call; zero before the first */
};

/* @proc_fd is /proc. False: the kernel tells neither, or this is the first call and it tells the second only. */
bool hl_pressure_look(struct hl_pressure *pressure, int proc_fd, uint64_t *ret);

#endif
