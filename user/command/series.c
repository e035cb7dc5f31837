// SPDX-License-Identifier: BSD-2-Clause
#include "command/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "command/stores.h"
#include "profile/profile.h"
#include "render/common.h"
#include "store/reading.h"

enum { LEAST_SECONDS = 10, MOST_ROWS = 1 << 20, MINUTE = 60, HOUR = 3600 };

struct hl_series {
	struct hl_piece *pieces;
	size_t n;
	struct hl_series_row *rows;
	size_t n_rows, cap_rows;
	struct hl_index index;
	struct hl_arena names;
	struct hl_str text; /* room for a name */
};

void hl_series_free(struct hl_series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->n_rows; i++)
		free(series->rows[i].counts);
	free(series->rows);
	free(series->pieces);
	hl_index_done(&series->index);
	hl_arena_done(&series->names);
	hl_str_done(&series->text);
	free(series);
}

const struct hl_piece *hl_series_pieces(const struct hl_series *series, size_t *ret_n)
{
	*ret_n = series->n;
	return series->pieces;
}

const struct hl_series_row *hl_series_rows(const struct hl_series *series, size_t *ret_n)
{
	*ret_n = series->n_rows;
	return series->rows;
}

/* ---- functions ----------------------------------------------------------------------------------------- */

struct wanted {
	const struct hl_series *series;
	struct hl_id key;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return hl_id_equal(w->series->rows[position].key, w->key);
}

/* Name and last component of the module, so that builds in different places are one. */
static struct hl_id key_of(const struct hl_frame *f)
{
	const char *slash = memrchr(f->module, '/', f->module_len);
	const char *base = slash ? slash + 1 : f->module;
	struct hl_id parts[2] = { hl_id_of(f->name, f->name_len),
				  hl_id_of(base, f->module_len - (size_t)(base - f->module)) };

	return hl_id_of(parts, sizeof(parts));
}

const struct hl_series_row *hl_series_find(const struct hl_series *series, const struct hl_frame *function)
{
	struct wanted w = { series, key_of(function) };
	uint32_t at = hl_index_find(&series->index, w.key.lo, is_wanted, &w);

	return at == HL_INDEX_NONE ? NULL : &series->rows[at];
}

static const char *keep(struct hl_series *s, const struct hl_frame *f,
			void (*add)(struct hl_str *out, const struct hl_frame *frame))
{
	hl_str_clear(&s->text);
	add(&s->text, f);
	return s->text.failed ? NULL
			      : hl_arena_copy(&s->names, s->text.data ? s->text.data : "", s->text.len);
}

static int add_count(struct hl_series *s, const struct hl_frame *f, size_t piece, uint64_t count)
{
	struct wanted w = { s, key_of(f) };
	uint32_t at = hl_index_find(&s->index, w.key.lo, is_wanted, &w);
	struct hl_series_row row = { .key = w.key };

	if (at == HL_INDEX_NONE) {
		at = (uint32_t)s->n_rows;
		row.name = keep(s, f, hl_render_name);
		row.module = keep(s, f, hl_render_module);
		if (!row.name || !row.module ||
		    hl_grow(&s->rows, &s->cap_rows, s->n_rows + 1, sizeof(row), MOST_ROWS) ||
		    hl_index_add(&s->index, w.key.lo, at))
			return -ENOMEM;
		row.counts = calloc(s->n, sizeof(*row.counts));
		if (!row.counts)
			return -ENOMEM;
		s->rows[s->n_rows++] = row;
	}
	s->rows[at].counts[piece] += (uint32_t)count;
	s->rows[at].all += count;
	return 0;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Nodes of the profile are pieces, and below them functions. */
static int take_profile(struct hl_series *s, const struct hl_profile *profile)
{
	uint32_t n;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);
	size_t piece = 0;
	int code = 0;

	for (uint32_t i = 1; i < n && !code; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, nodes[i].frame);

		if (nodes[i].depth == 1) {
			piece = frame->address;
			s->pieces[piece].samples = nodes[i].total;
		} else {
			code = add_count(s, frame, piece, nodes[i].self);
		}
	}
	return code;
}

static int read_pieces(struct hl_series *s, const struct hl_words *stores, const struct hl_store_query *query,
		       uint64_t piece_ns, struct hl_err *err)
{
	_cleanup_(hl_reading_freep) struct hl_reading *reading = NULL;
	struct hl_store_query part = *query;
	int code;

	part.piece_ns = piece_ns;
	if (!part.some)
		part.root = NULL;
	code = hl_stores_read(stores, &part, &reading, err);
	if (code)
		return code;
	for (size_t i = 0; i < s->n; i++) {
		const struct hl_reading_piece known = hl_reading_piece(reading, i);
		struct hl_piece *p = &s->pieces[i];

		p->start_ns = query->since_ns + i * piece_ns;
		p->end_ns =
			p->start_ns + piece_ns < query->until_ns ? p->start_ns + piece_ns : query->until_ns;
		p->cpus = known.cpus;
		p->due = known.expected ? (double)known.expected : (double)known.seen;
	}
	if (take_profile(s, hl_reading_profile(reading)))
		return hl_err_set(err, -ENOMEM, "no memory for what functions had over time");
	return 0;
}

/* Of long ranges pieces are what the store has sums of: to read each window takes as long as the range is. */
static uint64_t piece_length(uint64_t span_ns, size_t most)
{
	uint64_t seconds = (span_ns / most + HL_SECOND_NS - 1) / HL_SECOND_NS, unit = 1;

	if (seconds < LEAST_SECONDS)
		seconds = LEAST_SECONDS;
	if (seconds >= 2 * MINUTE)
		unit = seconds < 10 * MINUTE ? MINUTE : HOUR;
	return (seconds + unit - 1) / unit * unit * HL_SECOND_NS;
}

int hl_series_read(const struct hl_words *stores, const struct hl_store_query *query, size_t most,
		   struct hl_series **ret, struct hl_err *err)
{
	_cleanup_(hl_series_freep) struct hl_series *s = calloc(1, sizeof(*s));
	uint64_t span = query->until_ns - query->since_ns, piece = piece_length(span, most);
	int code;

	if (s) {
		s->n = (size_t)((span + piece - 1) / piece);
		s->pieces = calloc(s->n, sizeof(*s->pieces));
	}
	if (!s || !s->pieces)
		return hl_err_set(err, -ENOMEM, "no memory for what functions had over time");
	code = read_pieces(s, stores, query, piece, err);
	if (!code)
		*ret = TAKE_PTR(s);
	return code;
}

/* ---- when it changed ----------------------------------------------------------------------------------- */

/* n ln(n / due): the logarithm of the likelihood of a rate, less what all splits have in common. */
static double likelihood(double n, double due)
{
	return n > 0 && due > 0 ? n * log(n / due) : 0;
}

size_t hl_series_change(const struct hl_series *series, const struct hl_series_row *row)
{
	double all = 0, left = 0, left_due = 0, due = 0, best = 0;
	size_t at = 0;

	for (size_t i = 0; i < series->n; i++)
		due += series->pieces[i].due;
	all = (double)row->all;
	for (size_t i = 0; i + 1 < series->n; i++) {
		double gain;

		left += row->counts[i];
		left_due += series->pieces[i].due;
		gain = likelihood(left, left_due) + likelihood(all - left, due - left_due);
		/* A piece without windows begins nothing. */
		if (series->pieces[i + 1].due > 0 && left_due > 0 && (!at || gain > best)) {
			best = gain;
			at = i + 1;
		}
	}
	return at;
}
