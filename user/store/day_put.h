/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_PUT_H
#define HL_STORE_DAY_PUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "store/day_writer.h"
#include "store/db.h"

/* Windows on their way into a day, with the numbers that the day gives to all that they name. */

struct stored_row {
	uint32_t thread, node;
	uint64_t count, weight;
};

struct stored_loss {
	uint32_t reason;
	uint64_t samples;
};

/* See the table windows. */
struct stored_window {
	int64_t id;
	int level;
	uint32_t source;
	uint64_t start_ns, length_ns, samples, weight, period;
	uint64_t expected, seen, idle, filtered;
	struct hl_value busy, programs, process;
	const struct stored_row *rows; /* by thread and node */
	const struct stored_loss *losses;
	const uint32_t *notes;
	size_t n_rows, n_losses, n_notes;
};

/* Prepared statements. To be released with day_put_done() in any case, before @db is closed. */
struct day_put {
	struct hl_query *window, *sample, *loss, *note, *gap;
	struct hl_str room;
};
int day_put_init(struct day_put *put, struct hl_db *db, struct hl_err *err);
void day_put_done(struct day_put *put);

/* Inserts the window and all that belongs to it; within a transaction. 0 or -errno. */
int day_put_window(struct day_put *put, const struct stored_window *window, struct hl_err *err);
int day_put_gap(struct day_put *put, const struct hl_gap *gap, struct hl_err *err);

/* Puts rows in the order in which they are stored, and adds up equal ones; returns how many are left. */
size_t stored_rows_sum(struct stored_row *rows, size_t n);

#endif
