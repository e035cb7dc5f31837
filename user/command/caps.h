/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_CAPS_H
#define HL_COMMAND_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the agent may cost, enforced: over a cap it samples at half the frequency, up to three times, then it lets the
 * coldest unwind tables go, twice; a step is undone when there is room for it again. (The agent keeps no source
 * lines, so there are none to be left out.) Nothing here measures or acts: it is told, and asked.
 *
 * CPU time is a budget that fills steadily: a burst, as when many new programs are named, may spend what was saved
 * in `hold_ns`. A step is undone after `hold_ns` without another, if what is used leaves room for what the step has
 * saved; where it then has to be taken again soon, that time doubles, up to an hour.
 */
struct hl_caps_limits {
	uint64_t cpu;   /* thousandths of a percent of one CPU, for each CPU; 0: no cap */
	uint64_t bytes; /* resident memory and BPF maps; 0: no cap */
	uint64_t hold_ns;
};

/* What was used since the last look. */
struct hl_caps_use {
	uint64_t elapsed_ns;
	uint64_t cpu_ns; /* of programs in the kernel, the agent and its children */
	unsigned int cpus;
	uint64_t bytes, table_bytes; /* now; of these, unwind tables */
};

enum hl_cap { HL_CAP_CPU, HL_CAP_MEMORY, HL_N_CAPS };

struct hl_caps {
	struct hl_caps_limits limits;
	unsigned int frequency, tables_mb; /* without any step */
	unsigned int halvings;             /* that the frequency allows */
	unsigned int level;                /* steps that are taken */
	enum hl_cap over;                  /* for which the last one was */
	unsigned int first_mb;             /* of tables, when the first step was taken that drops some */
	double saved_ns;                   /* of CPU time, below 0 when too much was spent */
	uint64_t hold_ns, since_step_ns, since_undo_ns;
	uint64_t hit[HL_N_CAPS]; /* steps that were taken, ever */
};

/* @frequency and @tables_mb are those of the options. */
void hl_caps_init(struct hl_caps *caps, const struct hl_caps_limits *limits, unsigned int frequency,
		  unsigned int tables_mb);

/* To be called every few seconds. True if a step was taken or undone: frequency or tables are others now. */
bool hl_caps_look(struct hl_caps *caps, const struct hl_caps_use *use);

unsigned int hl_caps_frequency(const struct hl_caps *caps);
/* The most memory of unwind tables, in MiB. */
unsigned int hl_caps_tables_mb(const struct hl_caps *caps);

/* The option's name: "cpu-max". */
const char *hl_cap_name(enum hl_cap cap);
#define HL_CAPS_NOTE "over --"
/* A sentence, which begins so, about the steps that are taken now; "" if none is. */
void hl_caps_say(const struct hl_caps *caps, char *buf, size_t size);

#endif
