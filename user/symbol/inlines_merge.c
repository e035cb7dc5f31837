// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "symbol/inlines_build.h"

/*
 * Three lists become one. Spans say which function has which code; what was inlined lies inside its caller and
 * stands behind it, so of all spans that cover an address the one with the highest node wins. A heap of the spans
 * that have begun gives that one; spans that have ended stay in it until they come to the top. Beside it, rows of
 * lines are followed, and wherever either changes, a range begins.
 */
struct sweep {
	struct hl_inlines_builder *b;
	uint64_t *heap; /* node << 32 | end */
	size_t n_heap, next_span;
	size_t sequence, row; /* row: in the sequence */
	uint32_t *callers;    /* of each node, the location of the call */
};

static void heap_push(struct sweep *s, uint64_t item)
{
	size_t at = s->n_heap++, up;

	for (; at > 0; at = up) {
		up = (at - 1) / 2;
		if (s->heap[up] >= item)
			break;
		s->heap[at] = s->heap[up];
	}
	s->heap[at] = item;
}

static void heap_pop(struct sweep *s)
{
	uint64_t item = s->heap[--s->n_heap];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < s->n_heap) {
		if (child + 1 < s->n_heap && s->heap[child + 1] > s->heap[child])
			child++;
		if (s->heap[child] <= item)
			break;
		s->heap[at] = s->heap[child];
		at = child;
	}
	s->heap[at] = item;
}

/* The node at @position, and up to where that is so. */
static uint32_t node_at(struct sweep *s, uint32_t position, uint32_t *end)
{
	const struct hl_inlines_builder *b = s->b;
	const struct hl_span *span;
	uint32_t node = HL_NO_NODE;

	for (; s->next_span < b->n_spans; s->next_span++) {
		span = &b->spans[s->next_span];
		if (span->key >> 32 > position)
			break;
		if (span->end > position)
			heap_push(s, span->key << 32 | span->end);
	}
	while (s->n_heap && (uint32_t)s->heap[0] <= position)
		heap_pop(s);
	*end = UINT32_MAX;
	if (s->next_span < b->n_spans)
		*end = (uint32_t)(b->spans[s->next_span].key >> 32);
	if (s->n_heap) {
		node = (uint32_t)(s->heap[0] >> 32);
		if ((uint32_t)s->heap[0] < *end)
			*end = (uint32_t)s->heap[0];
	}
	return node;
}

/* The row at @position, or NULL, and up to where that is so. */
static const struct hl_row *row_at(struct sweep *s, uint32_t position, uint32_t *end)
{
	const struct hl_inlines_builder *b = s->b;
	const struct hl_sequence *q;
	const struct hl_row *rows;

	while (s->sequence < b->n_sequences && b->sequences[s->sequence].end <= position) {
		s->sequence++;
		s->row = 0;
	}
	*end = UINT32_MAX;
	if (s->sequence == b->n_sequences)
		return NULL;
	q = &b->sequences[s->sequence];
	rows = &b->rows[(uint32_t)q->key];
	if (q->key >> 32 > position) {
		*end = (uint32_t)(q->key >> 32);
		return NULL;
	}
	while (s->row + 1 < q->n && rows[s->row + 1].start <= position)
		s->row++;
	*end = s->row + 1 < q->n ? rows[s->row + 1].start : q->end;
	return &rows[s->row];
}

static int same_location(const void *ctx, uint32_t position)
{
	const struct hl_inlines_builder *b = ((const void *const *)ctx)[0];

	return memcmp(&b->locations[position], ((const void *const *)ctx)[1], sizeof(*b->locations)) == 0;
}

static int intern_location(struct hl_inlines_builder *b, const struct hl_location *location, uint32_t *ret)
{
	uint64_t hash = hl_hash(location, sizeof(*location), 0);
	const void *ctx[2] = { b, location };
	uint32_t found = hl_index_find(&b->location_index, hash, same_location, ctx);
	int r;

	if (found == HL_INDEX_NONE) {
		found = (uint32_t)b->n_locations;
		r = hl_grow(&b->locations, &b->cap_locations, b->n_locations + 1, sizeof(*b->locations),
			    b->memory / sizeof(*b->locations));
		if (r == 0)
			r = hl_index_add(&b->location_index, hash, found);
		if (r < 0)
			return r;
		b->locations[b->n_locations++] = *location;
	}
	*ret = found;
	return 0;
}

/* Callers stand before what they call: one pass gives the location of every call. */
static int locate_calls(struct sweep *s)
{
	struct hl_inlines_builder *b = s->b;
	int r = 0;

	for (size_t i = 0; i < b->n_nodes && r == 0; i++) {
		const struct hl_node *node = &b->nodes[i];
		struct hl_location call = { .file = node->call_file, .line = node->call_line };

		if (node->up == HL_NO_NODE)
			continue;
		call.function = b->nodes[node->up].function;
		call.up = s->callers[node->up];
		r = intern_location(b, &call, &s->callers[i]);
	}
	return r;
}

static int add_range(struct sweep *s, uint32_t start, uint32_t node, const struct hl_row *row)
{
	struct hl_inlines_builder *b = s->b;
	struct hl_location location = { 0 };
	uint32_t number = 0;
	int r = 0;

	if (node != HL_NO_NODE) {
		location.function = b->nodes[node].function;
		location.up = s->callers[node];
	}
	if (row) {
		location.file = row->file;
		location.line = row->line;
	}
	if (node != HL_NO_NODE || row)
		r = intern_location(b, &location, &number);
	if (r < 0 || number == (b->n_ranges ? b->numbers[b->n_ranges - 1] : 0))
		return r;
	r = hl_grow(&b->starts, &b->cap_starts, b->n_ranges + 1, sizeof(*b->starts),
		    b->memory / sizeof(*b->starts));
	if (r == 0)
		r = hl_grow(&b->numbers, &b->cap_numbers, b->n_ranges + 1, sizeof(*b->numbers),
			    b->memory / sizeof(*b->numbers));
	if (r < 0)
		return r;
	b->starts[b->n_ranges] = start;
	b->numbers[b->n_ranges++] = number;
	return 0;
}

int hl_inlines_merge(struct hl_inlines_builder *b)
{
	_cleanup_free_ uint64_t *heap = calloc(b->n_spans + 1, sizeof(*heap));
	_cleanup_free_ uint32_t *callers = calloc(b->n_nodes + 1, sizeof(*callers));
	struct sweep s = { .b = b, .heap = heap, .callers = callers };
	static const struct hl_location nowhere;
	uint32_t position = 0, node_end, row_end, node, number;
	const struct hl_row *row;
	int r;

	if (!heap || !callers)
		return -ENOMEM;
	r = intern_location(b, &nowhere, &number);
	if (r == 0)
		r = hl_radix_sort(b->spans, b->n_spans, sizeof(*b->spans));
	if (r == 0)
		r = hl_radix_sort(b->sequences, b->n_sequences, sizeof(*b->sequences));
	if (r == 0)
		r = locate_calls(&s);
	while (r == 0 && position < UINT32_MAX) {
		node = node_at(&s, position, &node_end);
		row = row_at(&s, position, &row_end);
		r = add_range(&s, position, node, row);
		position = node_end < row_end ? node_end : row_end;
		if (r == 0)
			r = hl_dwarf_tick(&b->dwarf, 8);
	}
	return r;
}
