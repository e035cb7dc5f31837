// SPDX-License-Identifier: BSD-2-Clause
#include "store/coverage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

/* Windows follow each other without a gap; clocks are corrected by less than this at a time. */
#define TOLERANCE_NS UINT64_C(1000000000)

enum { MAX_SPANS = 1 << 24, MAX_SAID = 8 };

int hl_coverage_add(struct hl_coverage *coverage, const struct hl_span *span)
{
	int code = hl_grow(&coverage->spans, &coverage->cap_spans, coverage->n_spans + 1, sizeof(*span),
			   MAX_SPANS);

	if (!code)
		coverage->spans[coverage->n_spans++] = *span;
	return code;
}

int hl_coverage_add_gap(struct hl_coverage *coverage, const struct hl_gap *gap)
{
	int code =
		hl_grow(&coverage->gaps, &coverage->cap_gaps, coverage->n_gaps + 1, sizeof(*gap), MAX_SPANS);

	if (!code)
		coverage->gaps[coverage->n_gaps++] = *gap;
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
static const char *reason_of(const struct hl_coverage *coverage, uint64_t start_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < coverage->n_gaps; i++) {
		const struct hl_gap *gap = &coverage->gaps[i];

		if (gap->start_ns < end_ns && gap->end_ns > start_ns)
			return gap->reason;
	}
	return "the agent did not run";
}

/* The time that is missing, in the order of time. */
struct missing {
	struct hl_str text;
	uint64_t total_ns;
	size_t n;
};

static void add_missing(const struct hl_coverage *coverage, struct missing *m, uint64_t start_ns,
			uint64_t end_ns)
{
	char from[HL_TIME_SIZE], to[HL_TIME_SIZE];

	if (end_ns < start_ns + TOLERANCE_NS)
		return;
	m->total_ns += end_ns - start_ns;
	if (m->n++ < MAX_SAID)
		hl_str_addf(&m->text, "%s%s to %s (%s)", m->n > 1 ? ", " : "", hl_time_text(start_ns, from),
			    hl_time_text(end_ns, to), reason_of(coverage, start_ns, end_ns));
}

void hl_coverage_say(struct hl_coverage *coverage, uint32_t host, uint64_t since_ns, uint64_t until_ns,
		     uint64_t open_ns, struct hl_str *out)
{
	struct missing missing = { 0 };
	uint64_t at = since_ns, windows = 0;

	if (coverage->n_spans)
		qsort(coverage->spans, coverage->n_spans, sizeof(*coverage->spans), compare_spans);
	for (size_t i = 0; i < coverage->n_spans; i++) {
		const struct hl_span *span = &coverage->spans[i];

		if (span->host != host)
			continue;
		windows++;
		if (span->start_ns > at)
			add_missing(coverage, &missing, at, span->start_ns);
		if (span->end_ns > at)
			at = span->end_ns;
	}
	if (until_ns > at + open_ns)
		add_missing(coverage, &missing, at, until_ns);
	hl_str_addf(out, "%" PRIu64 " window%s, ", windows, windows == 1 ? "" : "s");
	if (!missing.n)
		hl_str_adds(out, "none missing");
	else
		hl_str_addf(out, "%" PRIu64 " s missing: ", (missing.total_ns + 500000000) / 1000000000);
	if (missing.text.len)
		hl_str_add(out, missing.text.data, missing.text.len);
	if (missing.n > MAX_SAID)
		hl_str_addf(out, " and %zu more", missing.n - MAX_SAID);
	out->failed |= missing.text.failed;
	hl_str_done(&missing.text);
}
