// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_nameless.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/ids.h"
#include "store/rows.h"

enum { MAX_THREADS = 1 << 28, N_PROCESS = 8 };
/* Columns of processes, counted without the number. */
enum { PID = 1, EXEC = 2, STARTED = 3 };

int day_nameless_init(struct day_nameless *n, struct hl_db *db, struct hl_ids *ids, struct hl_err *err)
{
	*n = (struct day_nameless){ .ids = ids };
	return hl_rows_new(db, &n->rows, err);
}

void day_nameless_done(struct day_nameless *n)
{
	hl_rows_free(n->rows);
	free(n->map);
	*n = (struct day_nameless){ 0 };
}

static int find(struct day_nameless *n, uint32_t thread, uint32_t *ret, struct hl_err *err)
{
	const struct hl_query *t, *p;
	struct hl_value process[N_PROCESS], values[2];
	uint32_t number;
	int code = hl_rows_get(n->rows, HL_TABLE_THREADS, thread, &t, err);

	if (!code)
		code = hl_rows_get(n->rows, HL_TABLE_PROCESSES, (uint32_t)hl_query_int(t, 1), &p, err);
	if (code)
		return code;
	for (int i = 0; i < N_PROCESS; i++)
		process[i] = hl_query_value(p, 1 + i);
	process[PID] = process[EXEC] = process[STARTED] = hl_int(0);
	code = hl_ids_row(n->ids, HL_TABLE_PROCESSES, process, N_PROCESS, &number, err);
	if (code)
		return code;
	values[0] = hl_int(number);
	values[1] = hl_query_value(t, 2);
	return hl_ids_row(n->ids, HL_TABLE_THREADS, values, 2, ret, err);
}

int day_nameless_thread(struct day_nameless *n, uint32_t thread, uint32_t *ret, struct hl_err *err)
{
	int code;

	if (thread >= MAX_THREADS)
		return hl_err_set(err, -EBADMSG, "there is no thread %u", thread);
	if (hl_grow(&n->map, &n->cap, (size_t)thread + 1, sizeof(*n->map), MAX_THREADS))
		return hl_err_set(err, -ENOMEM, "no memory for the processes of a day");
	if (n->n <= thread) {
		memset(n->map + n->n, 0, (thread + 1 - n->n) * sizeof(*n->map));
		n->n = (size_t)thread + 1;
	}
	code = n->map[thread] ? 0 : find(n, thread, &n->map[thread], err);
	if (!code)
		*ret = n->map[thread];
	return code;
}
