/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_CAPTURE_EVENT_H
#define HL_CAPTURE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What is sampled: one event for all CPUs. Type and config as in perf_event_open(2). */
struct hl_event_choice {
	uint32_t type;
	uint64_t config;
	unsigned int precise; /* precise_ip, 0 to 3 */
	char name[32];        /* as perf spells it: "cycles:pp", "cpu-clock", "r01c2" */
	bool software_clock;  /* a timer, blind while interrupts are off */
	bool any_precise;     /* only from hl_event_parse(): ":P", the highest precise_ip that opens */
	const char *unit;     /* of sample periods; static */
};

/* What read(2) on an event's descriptor gives. A multiplexed event has run for less than it was enabled. */
struct hl_event_count {
	uint64_t value; /* in the event's unit */
	uint64_t enabled_ns, running_ns;
};

/*
 * Understands an event's name: cycles, cpu-cycles, instructions, cache-misses, branch-misses, cpu-clock,
 * task-clock or rHEX, the hardware ones with :p, :pp, :ppp or :P behind. 0 or -EINVAL; opens nothing.
 */
int hl_event_parse(const char *name, struct hl_event_choice *ret, struct hl_err *err);

/*
 * The event called @name, or with NULL the best there is: cycles with the highest precise_ip, else
 * cpu-clock. What it returns opened at @hz on every CPU that is online. 0 or as hl_event_parse() and
 * hl_event_open().
 */
int hl_event_choose(const char *name, unsigned int hz, struct hl_event_choice *ret, struct hl_err *err);

/*
 * Opens @choice for every process on @cpu, disabled, at about @hz samples a second. A BPF program is its
 * only reader, so it has no ring. Returns a descriptor, or -errno: -ENODEV when the CPU is not online,
 * -EACCES or -EPERM when privileges lack, -EMFILE, -ENOENT or -EOPNOTSUPP when this machine lacks the event,
 * -EINVAL at too high a frequency.
 */
int hl_event_open(const struct hl_event_choice *choice, unsigned int hz, int cpu, struct hl_err *err);

#endif
