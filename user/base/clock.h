/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_BASE_CLOCK_H
#define HL_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since boot, without time asleep: for durations. BPF's bpf_ktime_get_ns() is the same clock. */
uint64_t hl_monotonic_ns(void);
/* Nanoseconds since the epoch. */
uint64_t hl_realtime_ns(void);

/* CPU time that this process has used, of all its threads. */
uint64_t hl_process_cpu_ns(void);

/* Room for either form below, of any 64-bit time. */
enum { HL_TIME_SIZE = 24 };

/* @ns since the epoch, cut to the second, in UTC as in RFC 3339: 2026-11-30T12:00:00Z. Returns @buf. */
char *hl_time_text(uint64_t ns, char buf[static HL_TIME_SIZE]);
/* The same for file names, ISO 8601's basic form: 20261130T120000Z. Returns @buf. */
char *hl_time_file_name(uint64_t ns, char buf[static HL_TIME_SIZE]);

#endif
