// SPDX-License-Identifier: BSD-2-Clause
#include "store/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/day_reader.h"

enum { MAX_WINDOWS = 1 << 27, N_TEXTS = 6 };

/* What of a window and its source does not depend on the file that it is in. */
struct identity {
	struct hl_id texts[N_TEXTS];
	uint64_t precise, frequency, cpus;
	uint64_t start_ns, length_ns, samples, weight, period;
	uint64_t expected, seen, idle, filtered, busy_ns, programs_ns, process_ns;
};

static struct hl_id identify(const struct day_source *s, const struct day_window *w)
{
	const char *const texts[N_TEXTS] = { s->host, s->kernel, s->version, s->decoders, s->event, s->unit };
	struct identity identity = {
		.precise = s->precise,
		.frequency = s->frequency,
		.cpus = s->cpus,
		.start_ns = w->start_ns,
		.length_ns = w->length_ns,
		.samples = w->samples,
		.weight = w->weight,
		.period = w->period,
		.expected = w->expected,
		.seen = w->seen,
		.idle = w->idle,
		.filtered = w->filtered,
		.busy_ns = w->busy_ns,
		.programs_ns = w->programs_ns,
		.process_ns = w->process_ns,
	};

	for (int i = 0; i < N_TEXTS; i++)
		identity.texts[i] = hl_id_of(texts[i], strlen(texts[i]));
	return hl_id_of(&identity, sizeof(identity));
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
