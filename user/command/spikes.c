// SPDX-License-Identifier: BSD-2-Clause
#include "command/spikes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "command/series.h"
#include "render/common.h"

/*
 * What stands out. Loads are not steady: counting statistics alone would find a spike in every other piece. So
 * the usual spread is measured as it is, by the median of the distances from the median, which spikes themselves
 * do not move, and what counting adds to it.
 */

enum { LEAST_PIECES = 5, LEAST_SAMPLES = 20 };
#define STANDS_OUT 6.0 /* times the usual spread */
#define LEAST_CPUS 0.02

struct finder {
	const struct hl_series *series;
	const struct hl_piece *pieces;
	size_t n, first;
	double *values, *sorted;
	struct hl_spike *best; /* by what is beyond the usual, largest first */
	size_t n_best, most;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double beyond(const struct finder *f, const struct hl_spike *s)
{
	const struct hl_piece *p = &f->pieces[s->piece];

	return (s->cpus - s->usual) * (double)(p->end_ns - p->start_ns);
}

static void keep(struct finder *f, const struct hl_spike *spike)
{
	size_t at = f->n_best;

	while (at > 0 && beyond(f, spike) > beyond(f, &f->best[at - 1]))
		at--;
	if (at == f->most)
		return;
	if (f->n_best < f->most)
		f->n_best++;
	memmove(&f->best[at + 1], &f->best[at], (f->n_best - 1 - at) * sizeof(*f->best));
	f->best[at] = *spike;
}

/* Looks at one row of counts; NULL: all samples. */
static void look(struct finder *f, const struct hl_series_row *row)
{
	double middle, spread, per_sample = 0;
	size_t n = 0;

	for (size_t i = f->first; i < f->n; i++) {
		const struct hl_piece *p = &f->pieces[i];

		if (p->due <= 0)
			continue;
		f->values[i] = (double)(row ? row->counts[i] : p->samples) * p->cpus / p->due;
		f->sorted[n++] = f->values[i];
		per_sample += p->cpus / p->due;
	}
	if (n < LEAST_PIECES)
		return;
	per_sample /= (double)n;
	middle = median(f->sorted, n);
	n = 0;
	for (size_t i = f->first; i < f->n; i++)
		if (f->pieces[i].due > 0)
			f->sorted[n++] = fabs(f->values[i] - middle);
	/* 1.4826 makes it a standard deviation, were the values normal; counts spread as their root. */
	spread = 1.4826 * median(f->sorted, n);
	spread = sqrt(spread * spread + per_sample * fmax(middle, per_sample));
	for (size_t i = f->first; i < f->n; i++) {
		struct hl_spike s = { .piece = i, .usual = middle };

		if (f->pieces[i].due <= 0)
			continue;
		s.cpus = f->values[i];
		s.z = (s.cpus - middle) / spread;
		s.name = row ? row->name : NULL;
		s.module = row ? row->module : NULL;
		if (s.z > STANDS_OUT && s.cpus - middle > LEAST_CPUS &&
		    (!row || row->counts[i] >= LEAST_SAMPLES))
			keep(f, &s);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct hl_spike *x = a, *y = b;

	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return (y->cpus > x->cpus) - (y->cpus < x->cpus);
}

int hl_spikes_find(const struct hl_series *series, size_t first, size_t most, struct hl_spike *ret,
		   size_t *ret_n)
{
	struct finder f = { .series = series, .first = first, .best = ret, .most = most };
	_cleanup_free_ double *values = NULL, *sorted = NULL;
	const struct hl_series_row *rows;
	size_t n_rows;

	f.pieces = hl_series_pieces(series, &f.n);
	rows = hl_series_rows(series, &n_rows);
	f.values = values = calloc(f.n + 1, sizeof(*values));
	f.sorted = sorted = calloc(f.n + 1, sizeof(*sorted));
	if (!values || !sorted)
		return -ENOMEM;
	look(&f, NULL);
	for (size_t i = 0; i < n_rows; i++)
		look(&f, &rows[i]);
	if (f.n_best)
		qsort(ret, f.n_best, sizeof(*ret), by_time);
	*ret_n = f.n_best;
	return 0;
}

void hl_spike_say(struct hl_str *out, const struct hl_series *series, const struct hl_spike *spike,
		  size_t columns)
{
	size_t n;
	const struct hl_piece *p = &hl_series_pieces(series, &n)[spike->piece];
	_cleanup_str_ struct hl_str line = { 0 };
	char from[HL_TIME_SIZE];

	hl_str_addf(&line, "%s, %llu s  ", hl_time_text(p->start_ns, from),
		    (unsigned long long)((p->end_ns - p->start_ns) / 1000000000));
	hl_render_decimal(&line, spike->cpus, 2);
	hl_str_adds(&line, " CPUs, usually ");
	hl_render_decimal(&line, spike->usual, 2);
	hl_str_adds(&line, spike->name ? ": " : ": all of the host");
	if (spike->name)
		hl_str_addf(&line, "%s  %s", spike->name, spike->module);
	hl_render_fit(out, line.data ? line.data : "", line.len, columns, HL_RENDER_CUT_END);
	out->failed |= line.failed;
}
