// SPDX-License-Identifier: BSD-2-Clause
#include "command/caps.h"

#include <stdio.h>

enum { MOST_HALVINGS = 3, TABLE_STEPS = 2 };
#define MOST_HOLD_NS (3600 * UINT64_C(1000000000))
/* So many times the hold after a step was undone, one that is taken is the same trouble again. */
enum { SOON = 10 };

void hl_caps_init(struct hl_caps *caps, const struct hl_caps_limits *limits, unsigned int frequency,
		  unsigned int tables_mb)
{
	*caps = (struct hl_caps){
		.limits = *limits,
		.frequency = frequency,
		.tables_mb = tables_mb,
		.hold_ns = limits->hold_ns,
		.saved_ns = 1e18, /* cut to what fits when the number of CPUs is known */
		.since_undo_ns = UINT64_MAX / 2,
	};
	while (caps->halvings < MOST_HALVINGS && frequency >> (caps->halvings + 1))
		caps->halvings++;
}

static unsigned int table_steps(const struct hl_caps *caps)
{
	return caps->level > caps->halvings ? caps->level - caps->halvings : 0;
}

unsigned int hl_caps_frequency(const struct hl_caps *caps)
{
	return caps->frequency >> (caps->level < caps->halvings ? caps->level : caps->halvings);
}

unsigned int hl_caps_tables_mb(const struct hl_caps *caps)
{
	unsigned int steps = table_steps(caps), mb = caps->first_mb >> steps;

	if (!steps)
		return caps->tables_mb;
	return mb ? mb : 1;
}

const char *hl_cap_name(enum hl_cap cap)
{
	return cap == HL_CAP_CPU ? "cpu-max" : "memory-max";
}

void hl_caps_say(const struct hl_caps *caps, char *buf, size_t size)
{
	int n;

	buf[0] = '\0';
	if (!caps->level)
		return;
	n = snprintf(buf, size, HL_CAPS_NOTE "%s: sampled at %u Hz instead of %u", hl_cap_name(caps->over),
		     hl_caps_frequency(caps), caps->frequency);
	if (table_steps(caps) && n > 0 && (size_t)n < size)
		(void)snprintf(buf + n, size - (size_t)n, ", unwind tables below %u MB",
			       hl_caps_tables_mb(caps));
}

/* CPU time that may be used in @ns. */
static double allowance(const struct hl_caps *caps, const struct hl_caps_use *use, uint64_t ns)
{
	return (double)ns * use->cpus * (double)caps->limits.cpu / 1e5;
}

/* Fills the budget, and takes from it what was used. */
static bool is_over_cpu(struct hl_caps *caps, const struct hl_caps_use *use)
{
	double most = allowance(caps, use, caps->limits.hold_ns);

	if (!caps->limits.cpu)
		return false;
	caps->saved_ns += allowance(caps, use, use->elapsed_ns);
	if (caps->saved_ns > most)
		caps->saved_ns = most;
	caps->saved_ns -= (double)use->cpu_ns;
	return caps->saved_ns < 0;
}

static void step(struct hl_caps *caps, enum hl_cap over, const struct hl_caps_use *use)
{
	if (caps->since_undo_ns < SOON * caps->hold_ns && caps->hold_ns < MOST_HOLD_NS)
		caps->hold_ns *= 2;
	if (caps->level == caps->halvings) {
		caps->first_mb = (unsigned int)(use->table_bytes >> 20) + 1;
		if (caps->first_mb > caps->tables_mb)
			caps->first_mb = caps->tables_mb;
	}
	caps->level++;
	caps->over = over;
	caps->hit[over]++;
	caps->since_step_ns = 0;
	caps->saved_ns = 0; /* the next step only if this one does not help */
}

/* Whether what is used leaves room for what the last step has saved. */
static bool has_room(const struct hl_caps *caps, const struct hl_caps_use *use)
{
	struct hl_caps before = *caps;
	double cpu = (double)use->cpu_ns, most = allowance(caps, use, use->elapsed_ns) * 0.9;
	uint64_t bytes = use->bytes;

	before.level--;
	if (hl_caps_frequency(&before) != hl_caps_frequency(caps))
		cpu *= 2;
	if (table_steps(caps))
		bytes += (uint64_t)(caps->first_mb - hl_caps_tables_mb(caps)) << 20;
	if (caps->limits.cpu && cpu > most)
		return false;
	return !caps->limits.bytes || bytes < caps->limits.bytes / 10 * 9;
}

bool hl_caps_look(struct hl_caps *caps, const struct hl_caps_use *use)
{
	bool cpu = is_over_cpu(caps, use), bytes = caps->limits.bytes && use->bytes > caps->limits.bytes;

	caps->since_step_ns += use->elapsed_ns;
	caps->since_undo_ns += use->elapsed_ns;
	if (cpu || bytes) {
		if (caps->level == caps->halvings + TABLE_STEPS) {
			/* There is no further step; what is overspent need not be paid back. */
			caps->saved_ns = caps->saved_ns < 0 ? 0 : caps->saved_ns;
			caps->since_step_ns = 0;
			return false;
		}
		step(caps, bytes ? HL_CAP_MEMORY : HL_CAP_CPU, use);
		return true;
	}
	if (caps->level && caps->since_step_ns >= caps->hold_ns && has_room(caps, use)) {
		caps->level--;
		caps->since_step_ns = caps->since_undo_ns = 0;
		return true;
	}
	if (!caps->level && caps->since_step_ns > MOST_HOLD_NS)
		caps->hold_ns = caps->limits.hold_ns;
	return false;
}
