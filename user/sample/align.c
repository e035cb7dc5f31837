// SPDX-License-Identifier: BSD-2-Clause
#include "sample/align.h"

#define SECOND_NS UINT64_C(1000000000)
/* By more than this the wall clock does not drift between two looks: it was set, or the host slept. */
#define STEP_NS   UINT64_C(500000000)

void hl_align_start(struct hl_align *align, uint64_t length_ns, uint64_t wall_ns, uint64_t monotonic_ns)
{
	*align = (struct hl_align){
		.length_ns = length_ns,
		.start_ns = wall_ns,
		.wall_ns = wall_ns,
		.monotonic_ns = monotonic_ns,
		.begun_ns = monotonic_ns,
	};
}

uint64_t hl_align_wait(uint64_t wall_ns)
{
	return SECOND_NS - wall_ns % SECOND_NS;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The first multiple of the length behind the window's start. */
static uint64_t boundary(const struct hl_align *align)
{
	return (align->start_ns / align->length_ns + 1) * align->length_ns;
}

struct hl_aligned hl_align_end(const struct hl_align *align, uint64_t monotonic_ns)
{
	uint64_t length = monotonic_ns - align->begun_ns;

	return (struct hl_aligned){ align->start_ns, align->start_ns + (length ? length : 1) };
}

bool hl_align_look(struct hl_align *align, uint64_t wall_ns, uint64_t monotonic_ns, struct hl_aligned *ret)
{
	uint64_t end = boundary(align), expected = align->wall_ns + (monotonic_ns - align->monotonic_ns);
	bool stepped = distance(wall_ns, expected) > STEP_NS;

	if (!stepped && wall_ns < end) {
		align->wall_ns = wall_ns;
		align->monotonic_ns = monotonic_ns;
		return false;
	}
	if (stepped) {
		/* As long as was seen before the step; what came since belongs to neither side of it for sure. */
		*ret = hl_align_end(align, monotonic_ns);
		hl_align_start(align, align->length_ns, wall_ns, monotonic_ns);
	} else if (wall_ns - end < STEP_NS) {
		/* The drain is a little late, as it always is. */
		*ret = (struct hl_aligned){ align->start_ns, end };
		hl_align_start(align, align->length_ns, wall_ns, monotonic_ns);
		align->start_ns = end;
	} else {
		*ret = (struct hl_aligned){ align->start_ns, wall_ns };
		hl_align_start(align, align->length_ns, wall_ns, monotonic_ns);
	}
	return true;
}
