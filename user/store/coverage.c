// SPDX-License-Identifier: BSD-2-Clause
#include "store/coverage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

/* Windows follow each other without a gap; clocks are corrected by less than this at a time. */
#define TOLERANCE_NS UINT64_C(1000000000)

/* Of a window that began before the range and reaches into it, a minute goes unsaid: reports before have it. */
#define UNSAID_NS (UINT64_C(60) * 1000000000)

static const char did_not_run[] = "the agent did not run";

enum { MAX_SPANS = 1 << 24, MAX_SAID = 8 };

int hl_coverage_add(struct hl_coverage *coverage, const struct hl_span *span)
{
	int code = hl_grow(&coverage->spans, &coverage->cap_spans, coverage->n_spans + 1, sizeof(*span),
			   MAX_SPANS);

	if (!code)
		coverage->spans[coverage->n_spans++] = *span;
	return code;
}

int hl_coverage_add_gap(struct hl_coverage *coverage, uint32_t host, const struct hl_gap *gap)
{
	int code = hl_grow(&coverage->gaps, &coverage->cap_gaps, coverage->n_gaps + 1,
			   sizeof(*coverage->gaps), MAX_SPANS);

	if (!code)
		coverage->gaps[coverage->n_gaps++] = (struct hl_known_gap){ *gap, host };
	return code;
}

void hl_coverage_done(struct hl_coverage *coverage)
{
	free(coverage->spans);
	free(coverage->gaps);
	*coverage = (struct hl_coverage){ 0 };
}

static int compare_spans(const void *a, const void *b)
{
	const struct hl_span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* Why there is nothing from @start on, as far as that was noted. */
static const char *reason_of(const struct hl_coverage *coverage, uint32_t host, uint64_t start_ns,
			     uint64_t end_ns)
{
	for (size_t i = 0; i < coverage->n_gaps; i++) {
		const struct hl_known_gap *known = &coverage->gaps[i];

		if ((known->host == host || known->host == HL_ANY_HOST) && known->gap.start_ns < end_ns &&
		    known->gap.end_ns > start_ns)
			return known->gap.reason;
	}
	return NULL;
}

/* The time that is missing, in the order of time. */
struct missing {
	uint32_t host;
	struct hl_str text;
	uint64_t total_ns;
	size_t n;
};

/* @otherwise: why it is missing if nothing was noted. */
static void add_missing(const struct hl_coverage *coverage, struct missing *m, uint64_t start_ns,
			uint64_t end_ns, const char *otherwise)
{
	const char *reason = reason_of(coverage, m->host, start_ns, end_ns);
	char from[HL_TIME_SIZE], to[HL_TIME_SIZE];

	if (end_ns < start_ns + TOLERANCE_NS)
		return;
	m->total_ns += end_ns - start_ns;
	if (m->n++ < MAX_SAID)
		hl_str_addf(&m->text, "%s%s to %s (%s)", m->n > 1 ? ", " : "", hl_time_text(start_ns, from),
			    hl_time_text(end_ns, to), reason ? reason : otherwise);
}

/*
 * What lies before the first window of the range. Windows follow each other, so where it is shorter than that
 * window, it is the rest of one that began before the range.
 */
static void add_before(const struct hl_coverage *coverage, struct missing *m, uint64_t since_ns,
		       const struct hl_span *first)
{
	uint64_t length = first->start_ns - since_ns;

	if (length >= first->end_ns - first->start_ns)
		add_missing(coverage, m, since_ns, first->start_ns, did_not_run);
	else if (length > UNSAID_NS || reason_of(coverage, m->host, since_ns, first->start_ns))
		add_missing(coverage, m, since_ns, first->start_ns, "in a window that began before");
}

void hl_coverage_say(struct hl_coverage *coverage, uint32_t host, uint64_t since_ns, uint64_t until_ns,
		     uint64_t open_ns, struct hl_str *out)
{
	struct missing missing = { .host = host };
	uint64_t at = since_ns, windows = 0, doubled = 0, set_back = 0;
	uint32_t file = 0; /* of the window that ends at @at */

	if (coverage->n_spans)
		qsort(coverage->spans, coverage->n_spans, sizeof(*coverage->spans), compare_spans);
	for (size_t i = 0; i < coverage->n_spans; i++) {
		const struct hl_span *span = &coverage->spans[i];

		if (span->host != host)
			continue;
		if (span->start_ns > at && !windows)
			add_before(coverage, &missing, since_ns, span);
		else if (span->start_ns > at)
			add_missing(coverage, &missing, at, span->start_ns, did_not_run);
		if (windows && at > span->start_ns + TOLERANCE_NS)
			*(span->file == file ? &set_back : &doubled) += 1;
		windows++;
		if (span->end_ns >= at) {
			at = span->end_ns;
			file = span->file;
		}
	}
	if (until_ns > at + open_ns)
		add_missing(coverage, &missing, at, until_ns, did_not_run);
	hl_str_addf(out, "%" PRIu64 " window%s, ", windows, windows == 1 ? "" : "s");
	if (!missing.n)
		hl_str_adds(out, "none missing");
	else
		hl_str_addf(out, "%" PRIu64 " s missing: ", (missing.total_ns + 500000000) / 1000000000);
	if (missing.text.len)
		hl_str_add(out, missing.text.data, missing.text.len);
	if (missing.n > MAX_SAID)
		hl_str_addf(out, " and %zu more", missing.n - MAX_SAID);
	if (doubled)
		hl_str_addf(out,
			    "; %" PRIu64
			    " window%s of a time that others have too, whose samples COUNT TWICE: "
			    "leave out the store that is given twice, or is a copy",
			    doubled, doubled == 1 ? "" : "s");
	if (set_back)
		hl_str_addf(out,
			    "; %" PRIu64 " window%s of a time that others have too: the clock was set back",
			    set_back, set_back == 1 ? "" : "s");
	out->failed |= missing.text.failed;
	hl_str_done(&missing.text);
}
