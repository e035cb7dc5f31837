/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_COVERAGE_H
#define HL_STORE_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "store/day_writer.h"

/* Which parts of a range of time windows cover, host by host. */

struct hl_span {
	uint64_t start_ns, end_ns;
	uint32_t host;
	uint32_t file; /* a number: in one file no window stands twice */
};

/* A gap of which it is not known whose it is. */
#define HL_ANY_HOST UINT32_MAX

struct hl_known_gap {
	struct hl_gap gap;
	uint32_t host;
};

struct hl_coverage {
	struct hl_span *spans;
	struct hl_known_gap *gaps; /* what is known of missing time */
	size_t n_spans, n_gaps, cap_spans, cap_gaps;
};

/* 0 or -ENOMEM. */
int hl_coverage_add(struct hl_coverage *coverage, const struct hl_span *span);
int hl_coverage_add_gap(struct hl_coverage *coverage, uint32_t host, const struct hl_gap *gap);
void hl_coverage_done(struct hl_coverage *coverage);

/*
 * Says on @out how many windows of host @host there are in the range and what is missing: "360 windows, none
 * missing", and how many cover time that others cover too, as where a store is given twice. @open_ns: so much may still be lacking at the end, as its window is not over. Sorts the spans.
 */
void hl_coverage_say(struct hl_coverage *coverage, uint32_t host, uint64_t since_ns, uint64_t until_ns,
		     uint64_t open_ns, struct hl_str *out);

#endif
