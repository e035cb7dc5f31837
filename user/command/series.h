/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_COMMAND_SERIES_H
#define HL_COMMAND_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"

struct hl_frame;
struct hl_store_query;
struct hl_words;

/* How CPU use went over time: a range cut into pieces of one length, and what each function had in each. */
struct hl_series;

struct hl_piece {
	uint64_t start_ns, end_ns;
	double due; /* samples that were due; 0: there are no windows */
	double cpus;
	uint64_t samples;
};

/* A function over time. */
struct hl_series_row {
	struct hl_id key;
	const char *name, *module; /* clean; module: the last component */
	uint32_t *counts;          /* samples of its own, of each piece */
	uint64_t all;
};

/*
 * Reads the range of @query from the stores in at most @most pieces, which are no shorter than a window of the
 * agent's and whole seconds; whole minutes from two on, and whole hours from ten minutes on. 0; -ENODATA if there
 * is nothing at all; or -errno.
 */
int hl_series_read(const struct hl_words *stores, const struct hl_store_query *query, size_t most,
		   struct hl_series **ret, struct hl_err *err);
void hl_series_free(struct hl_series *series);
HL_DEFINE_CLEANUP(struct hl_series, hl_series_free)

const struct hl_piece *hl_series_pieces(const struct hl_series *series, size_t *ret_n);
const struct hl_series_row *hl_series_rows(const struct hl_series *series, size_t *ret_n);
/* The row of a function, of any profile; NULL: it has no samples. */
const struct hl_series_row *hl_series_find(const struct hl_series *series, const struct hl_frame *function);

/*
 * Since which piece a function has more or less than before: where the likelihood of the counts is greatest if
 * it changed just there. Its index; 0: there is nothing to tell.
 */
size_t hl_series_change(const struct hl_series *series, const struct hl_series_row *row);

#endif
