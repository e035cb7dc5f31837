// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/codemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "symbol/symbol.h"
#include "symbol/table.h"

/*
 * Ranges are kept as they are told, which is cheap: a runtime may tell a million between two questions. The
 * first question after that puts them in order: a sweep over the starts, with a heap of the ranges that are
 * open at the place of the sweep, the last told on top. What the sweep never sees is covered by later ranges
 * for good, and leaves when it is more than half of all: a runtime that compiles and moves its code again
 * and again would else fill any memory.
 */

#define USER_SPACE_END (UINT64_C(1) << 56)

struct told {
	uint64_t start, end;
	uint32_t name; /* in the names, as the next */
	uint32_t len : 31;
	uint32_t sizeless : 1; /* `end` is of its one byte */
};

/* What has no size is thought to go on up to the next range, but no further than perf would believe it. */
enum { SIZELESS_MAX = 4096 };

/* A stretch without a boundary in it; the start first, as hl_radix_sort() wants it. */
struct stretch {
	uint64_t start, end;
	uint32_t told;
	uint32_t reserved;
};

struct hl_code_map {
	struct told *told;
	size_t n, cap;
	struct stretch *stretches; /* in order, if `ordered` */
	size_t n_stretches, cap_stretches;
	bool ordered;
	char *names;
	size_t names_len, cap_names;
	struct hl_index index; /* of names, over `texts` */
	struct text {
		uint32_t offset, len;
	} * texts;
	size_t n_texts, cap_texts;
	struct hl_code_counts counts;
};

struct hl_code_map *hl_code_map_new(void)
{
	return calloc(1, sizeof(struct hl_code_map));
}

void hl_code_map_clear(struct hl_code_map *map)
{
	struct hl_code_counts counts = map->counts;

	free(map->told);
	free(map->stretches);
	free(map->names);
	free(map->texts);
	hl_index_done(&map->index);
	*map = (struct hl_code_map){ .counts = counts };
}

void hl_code_map_free(struct hl_code_map *map)
{
	if (!map)
		return;
	hl_code_map_clear(map);
	free(map);
}

struct hl_code_counts hl_code_map_counts(const struct hl_code_map *map)
{
	return map->counts;
}

void hl_code_map_count_damaged(struct hl_code_map *map)
{
	map->counts.damaged++;
}

void hl_code_map_count_dropped(struct hl_code_map *map)
{
	map->counts.dropped++;
}

void hl_code_map_set_left(struct hl_code_map *map, uint64_t bytes)
{
	map->counts.left = bytes;
}

size_t hl_code_map_memory(const struct hl_code_map *map)
{
	return map->cap * sizeof(*map->told) + map->cap_stretches * sizeof(*map->stretches) + map->cap_names +
	       map->cap_texts * sizeof(*map->texts) + (map->index.mask + 1) * 16;
}

/* ---- names --------------------------------------------------------------------------------------------- */

struct wanted_text {
	const struct hl_code_map *map;
	const char *text;
	size_t len;
};

static int same_text(const void *ctx, uint32_t position)
{
	const struct wanted_text *w = ctx;
	const struct text *t = &w->map->texts[position];

	return t->len == w->len && memcmp(w->map->names + t->offset, w->text, w->len) == 0;
}

/* The offset of @text in the names, where it stands once. */
static int intern(struct hl_code_map *map, const char *text, size_t len, uint32_t *ret)
{
	struct wanted_text wanted = { map, text, len };
	uint64_t hash = hl_hash(text, len, 0);
	uint32_t at = hl_index_find(&map->index, hash, same_text, &wanted);
	int r;

	if (at != HL_INDEX_NONE) {
		*ret = map->texts[at].offset;
		return 0;
	}
	r = hl_grow(&map->names, &map->cap_names, map->names_len + len + 1, 1, HL_CODE_MAP_NAMES);
	if (r == 0)
		r = hl_grow(&map->texts, &map->cap_texts, map->n_texts + 1, sizeof(*map->texts),
			    HL_CODE_MAP_RANGES);
	if (r == 0)
		r = hl_index_add(&map->index, hash, (uint32_t)map->n_texts);
	if (r < 0)
		return r;
	memcpy(map->names + map->names_len, text, len);
	map->names[map->names_len + len] = '\0';
	map->texts[map->n_texts++] = (struct text){ (uint32_t)map->names_len, (uint32_t)len };
	*ret = (uint32_t)map->names_len;
	map->names_len += len + 1;
	return 0;
}

/* ---- the sweep ----------------------------------------------------------------------------------------- */

struct sweep {
	const struct hl_code_map *map;
	struct stretch *starts; /* of all that was told, by start */
	uint32_t *heap;         /* what is open, the last told on top */
	size_t n_heap;
	uint64_t at; /* everything below is done */
};

static void push(struct sweep *w, uint32_t told)
{
	size_t i = w->n_heap++;

	for (; i && w->heap[(i - 1) / 2] < told; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = told;
}

static void pop(struct sweep *w)
{
	uint32_t last = w->heap[--w->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->n_heap) {
		if (child + 1 < w->n_heap && w->heap[child + 1] > w->heap[child])
			child++;
		if (w->heap[child] <= last)
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
}

/* What lies between the place of the sweep and @end belongs to the top of the heap. */
static int emit(struct hl_code_map *map, const struct sweep *w, uint64_t end)
{
	struct stretch *last = map->n_stretches ? &map->stretches[map->n_stretches - 1] : NULL;
	int r;

	if (last && last->told == w->heap[0] && last->end == w->at) {
		last->end = end;
		return 0;
	}
	r = hl_grow(&map->stretches, &map->cap_stretches, map->n_stretches + 1, sizeof(*map->stretches),
		    (size_t)2 * HL_CODE_MAP_RANGES);
	if (r == 0)
		map->stretches[map->n_stretches++] = (struct stretch){ w->at, end, w->heap[0], 0 };
	return r;
}

static int sweep(struct hl_code_map *map, struct sweep *w)
{
	size_t next = 0;
	int r = 0;

	while (r == 0 && (next < map->n || w->n_heap)) {
		uint64_t end;

		if (!w->n_heap)
			w->at = w->starts[next].start;
		while (next < map->n && w->starts[next].start <= w->at)
			push(w, w->starts[next++].told);
		while (w->n_heap && map->told[w->heap[0]].end <= w->at)
			pop(w);
		if (!w->n_heap)
			continue;
		end = map->told[w->heap[0]].end;
		if (next < map->n && w->starts[next].start < end)
			end = w->starts[next].start;
		r = emit(map, w, end);
		w->at = end;
	}
	return r;
}

/* Puts the ranges in order. 0 or -ENOMEM, and then the map has none. */
static int put_in_order(struct hl_code_map *map)
{
	_cleanup_free_ struct stretch *starts = calloc(map->n + 1, sizeof(*starts));
	_cleanup_free_ uint32_t *heap = calloc(map->n + 1, sizeof(*heap));
	struct sweep w = { .map = map, .starts = starts, .heap = heap };
	int r = starts && heap ? 0 : -ENOMEM;

	map->n_stretches = 0;
	for (size_t i = 0; i < map->n && r == 0; i++)
		starts[i] = (struct stretch){ map->told[i].start, map->told[i].end, (uint32_t)i, 0 };
	if (r == 0)
		r = hl_radix_sort(starts, map->n, sizeof(*starts));
	if (r == 0)
		r = sweep(map, &w);
	if (r < 0)
		map->n_stretches = 0;
	map->ordered = r == 0;
	return r;
}

/* ---- adding -------------------------------------------------------------------------------------------- */

/* Leaves what still covers some address; the names of the rest go too. */
static int drop_covered(struct hl_code_map *map)
{
	struct hl_code_map kept = { .counts = map->counts };
	_cleanup_free_ bool *visible = calloc(map->n + 1, sizeof(*visible));
	int r = visible ? 0 : -ENOMEM;

	for (size_t i = 0; i < map->n_stretches && visible; i++)
		visible[map->stretches[i].told] = true;
	for (size_t i = 0; i < map->n && r == 0; i++) {
		struct told t = map->told[i];

		if (!visible[i])
			continue;
		r = intern(&kept, map->names + t.name, t.len, &t.name);
		if (r == 0)
			r = hl_grow(&kept.told, &kept.cap, kept.n + 1, sizeof(t), HL_CODE_MAP_RANGES);
		if (r == 0)
			kept.told[kept.n++] = t;
	}
	if (r < 0) {
		hl_code_map_clear(&kept);
		return r;
	}
	hl_code_map_clear(map);
	*map = kept;
	return put_in_order(map);
}

/*
 * Makes room by leaving out what is covered. Little room is none: the search is as dear as putting all in
 * order, and must not come with every record.
 */
static int make_room(struct hl_code_map *map)
{
	int r = map->ordered ? 0 : put_in_order(map);

	if (r == 0)
		r = drop_covered(map);
	if (r == 0 && (map->n > HL_CODE_MAP_RANGES / 8 * 7 || map->names_len > HL_CODE_MAP_NAMES / 8 * 7))
		r = -E2BIG;
	return r;
}

static int try_add(struct hl_code_map *map, struct told told, const char *name)
{
	int r = intern(map, name, told.len, &told.name);

	if (r == 0)
		r = hl_grow(&map->told, &map->cap, map->n + 1, sizeof(told), HL_CODE_MAP_RANGES);
	if (r == 0)
		map->told[map->n++] = told;
	return r;
}

void hl_code_map_add(struct hl_code_map *map, uint64_t start, uint64_t size, const char *name, size_t len)
{
	struct told told = { .start = start, .end = start + (size ? size : 1), .sizeless = !size };
	int r;

	if (!len || start >= USER_SPACE_END || size > USER_SPACE_END - start) {
		map->counts.damaged++;
		return;
	}
	told.len = len < HL_SYMBOL_NAME_MAX ? (uint32_t)len : HL_SYMBOL_NAME_MAX;
	r = try_add(map, told, name);
	if (r == -E2BIG && map->counts.dropped % (HL_CODE_MAP_RANGES / 8) == 0) {
		r = make_room(map);
		if (r == 0)
			r = try_add(map, told, name);
	}
	if (r < 0) {
		map->counts.dropped++;
		return;
	}
	map->counts.told++;
	map->ordered = false;
}

void hl_code_map_move(struct hl_code_map *map, uint64_t from, uint64_t to, uint64_t size, uint64_t *effort)
{
	char name[HL_SYMBOL_NAME_MAX];
	size_t i = map->n;

	while (i && *effort && map->told[i - 1].start != from) {
		i--;
		--*effort;
	}
	if (!i) {
		map->counts.damaged++;
	} else if (!*effort) {
		map->counts.dropped++;
	} else {
		size_t len = map->told[i - 1].len;

		memcpy(name, map->names + map->told[i - 1].name, len); /* adding moves the names */
		hl_code_map_add(map, to, size, name, len);
	}
}

/* The end of what was told without a size, before stretch number @next. */
static uint64_t end_of_sizeless(const struct hl_code_map *map, const struct told *told, size_t next)
{
	uint64_t most = told->start + SIZELESS_MAX;

	return next < map->n_stretches && map->stretches[next].start < most ? map->stretches[next].start
									    : most;
}

bool hl_code_map_find(struct hl_code_map *map, uint64_t address, struct hl_code_symbol *ret)
{
	size_t low = 0, high;
	const struct told *told;
	bool in_stretch;
	uint64_t end;

	if (!map->ordered) {
		if (put_in_order(map) < 0)
			return false;
		if (map->n > 4096 && map->n_stretches < map->n / 2)
			(void)drop_covered(map);
	}
	high = map->n_stretches;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->stretches[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	in_stretch = low < map->n_stretches && address >= map->stretches[low].start;
	if (!in_stretch && !low)
		return false;
	told = &map->told[map->stretches[in_stretch ? low : low - 1].told];
	end = told->sizeless ? end_of_sizeless(map, told, in_stretch ? low + 1 : low) : told->end;
	if (!in_stretch && (!told->sizeless || address >= end))
		return false;
	*ret = (struct hl_code_symbol){ .start = told->start,
					.size = end - told->start,
					.name = map->names + told->name,
					.len = told->len,
					.id = told->name };
	return true;
}
