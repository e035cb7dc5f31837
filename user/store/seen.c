// SPDX-License-Identifier: BSD-2-Clause
#include "store/seen.h"

#include <errno.h>
#include <stdlib.h>

#include "store/day_reader.h"

enum { MAX_WINDOWS = 1 << 27 };

/* What of a window does not depend on the file that it is in. */
static struct hl_id identify(const struct day_source *source, const struct day_window *w)
{
	const uint64_t words[] = {
		source->identity.lo, source->identity.hi, w->start_ns,    w->length_ns, w->samples,
		w->weight,           w->period,           w->expected,    w->seen,      w->idle,
		w->filtered,         w->busy_ns,          w->programs_ns, w->process_ns
	};

	return hl_id_of(words, sizeof(words));
}

struct wanted {
	const struct hl_id *ids;
	struct hl_id id;
};

static int is_same(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return hl_id_equal(w->ids[position], w->id);
}

bool hl_seen_has(const struct hl_seen *seen, const struct day_source *source, const struct day_window *window)
{
	const struct wanted wanted = { seen->ids, identify(source, window) };

	return (window->programs_known || window->process_known) &&
	       hl_index_find(&seen->index, wanted.id.lo, is_same, &wanted) != HL_INDEX_NONE;
}

int hl_seen_add(struct hl_seen *seen, const struct day_source *source, const struct day_window *window)
{
	struct hl_id id = identify(source, window);

	if (hl_grow(&seen->ids, &seen->cap, seen->n + 1, sizeof(id), MAX_WINDOWS) ||
	    hl_index_add(&seen->index, id.lo, (uint32_t)seen->n))
		return -ENOMEM;
	seen->ids[seen->n++] = id;
	return 0;
}

void hl_seen_done(struct hl_seen *seen)
{
	free(seen->ids);
	hl_index_done(&seen->index);
	*seen = (struct hl_seen){ 0 };
}
