// SPDX-License-Identifier: BSD-2-Clause
#include "render/pprof_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/common.h"

enum { PAGE = 4096, MAX_MAPS = 1 << 30 };
#define NO_SEGMENT     UINT64_MAX
/* Where the x86-64 kernel's own text is linked, and where its modules begin (Documentation/arch/x86/x86_64/mm.rst). */
#define KERNEL_TEXT    0xffffffff81000000
#define KERNEL_MODULES 0xffffffffc0000000

struct wanted_map {
	const struct hl_pprof_map *items;
	const struct hl_pprof_map *map;
};

static int same_map(const void *ctx, uint32_t position)
{
	const struct wanted_map *w = ctx;
	const struct hl_pprof_map *a = &w->items[position], *b = w->map;

	return a->kind == b->kind && a->binary == b->binary && a->segment == b->segment &&
	       a->module_len == b->module_len && memcmp(a->module, b->module, a->module_len) == 0;
}

static uint64_t hash_of(const struct hl_pprof_map *map)
{
	uint64_t seed = map->segment ^ (uintptr_t)map->binary ^ map->kind;

	return hl_hash(map->module, map->module_len, seed);
}

/* The mapping that @frame, a frame of a function of @kind or an instruction in one, belongs to. */
static int find_map(const struct hl_profile *profile, struct hl_pprof_maps *maps,
		    const struct hl_frame *frame, uint8_t kind, uint32_t *ret)
{
	struct hl_pprof_map map = { .kind = kind, .segment = NO_SEGMENT, .low = UINT64_MAX };
	struct wanted_map wanted = { maps->items, &map };
	const struct hl_segment *segment = NULL;
	uint64_t hash;
	int code;

	map.module = "";
	if (kind == HL_FRAME_USER || kind == HL_FRAME_KERNEL) {
		map.module = frame->module;
		map.module_len = frame->module_len;
	}
	if (kind == HL_FRAME_USER && (frame->binary.lo | frame->binary.hi)) {
		map.binary = hl_profile_binary(profile, frame->binary);
		segment = map.binary ? hl_binary_segment(map.binary, frame->address) : NULL;
	}
	if (segment) {
		map.segment = segment->address;
		map.start = segment->address;
		map.limit = segment->address + segment->size;
		if (map.limit < map.start) /* a file may claim anything */
			map.limit = UINT64_MAX;
		map.offset = segment->offset;
	}
	hash = hash_of(&map);
	*ret = hl_index_find(&maps->index, hash, same_map, &wanted);
	if (*ret != HL_INDEX_NONE)
		return 0;
	code = hl_grow(&maps->items, &maps->cap, maps->n + 1, sizeof(*maps->items), MAX_MAPS);
	if (!code)
		code = hl_index_add(&maps->index, hash, (uint32_t)maps->n);
	if (code)
		return code;
	*ret = (uint32_t)maps->n;
	maps->items[maps->n++] = map;
	return 0;
}

/* The kind of code that node @at stands for: that of the function which holds it. */
static uint8_t kind_of(const struct hl_profile *profile, const struct hl_node *nodes, uint32_t at)
{
	const struct hl_frame *frame = hl_profile_get_frame(profile, nodes[at].frame);

	if (frame->kind == HL_FRAME_INSN || frame->kind == HL_FRAME_INLINED || frame->kind == HL_FRAME_PART)
		frame = hl_render_holder(profile, at);
	switch (frame->kind) {
	case HL_FRAME_JIT:
	case HL_FRAME_KERNEL:
		return frame->kind;
	case HL_FRAME_ROOT:
	case HL_FRAME_MARK:
		return HL_FRAME_MARK;
	default:
		return HL_FRAME_USER;
	}
}

static int collect(const struct hl_profile *profile, struct hl_pprof_maps *maps)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(profile, &n);

	for (i = 1; i < n; i++) {
		const struct hl_frame *frame = hl_profile_get_frame(profile, nodes[i].frame);
		uint32_t *at = &maps->of_frame[nodes[i].frame];
		struct hl_pprof_map *map;
		int code;

		if (frame->kind == HL_FRAME_ROOT)
			continue;
		if (*at == HL_INDEX_NONE) {
			code = find_map(profile, maps, frame, kind_of(profile, nodes, i), at);
			if (code)
				return code;
		}
		map = &maps->items[*at];
		map->self += nodes[i].self;
		map->inlines |= frame->kind == HL_FRAME_INLINED;
		if (frame->address < map->low)
			map->low = frame->address;
		if (frame->address > map->top)
			map->top = frame->address;
	}
	return 0;
}

static bool is_kernel_itself(const struct hl_pprof_map *map)
{
	return map->kind == HL_FRAME_KERNEL && (strcmp(map->module, "kernel") == 0 ||
						strcmp(map->module, "vmlinux") == 0 || !map->module_len);
}

/*
 * The bounds of what is no segment: those of the kernel's text, else the pages that were seen. A segment stays
 * as its file has it: pprof's own reader of ELF files takes the start for the segment's address, unrounded.
 */
static void lay_out(struct hl_pprof_map *map)
{
	if (map->segment != NO_SEGMENT)
		return;
	map->start = map->low;
	map->limit = map->top < UINT64_MAX - PAGE ? map->top + 1 : UINT64_MAX;
	if (is_kernel_itself(map)) {
		map->start = map->low < KERNEL_TEXT ? map->low : KERNEL_TEXT;
		map->limit = map->limit < KERNEL_MODULES ? KERNEL_MODULES : map->limit;
	}
	map->start -= map->start % PAGE;
	if (map->limit <= UINT64_MAX - PAGE)
		map->limit = (map->limit + PAGE - 1) / PAGE * PAGE;
	/* Where no segment is known, the address of a file's code is its file offset. */
	map->offset = map->kind == HL_FRAME_USER ? map->start : 0;
}

static bool is_program(const struct hl_pprof_map *map)
{
	return map->kind == HL_FRAME_USER && map->module_len && map->module[0] != '[' &&
	       !memmem(map->module, map->module_len, ".so", 3);
}

/* Readers take the first mapping for the program. */
static void put_main_first(struct hl_pprof_maps *maps, size_t n_frames)
{
	struct hl_pprof_map moved;
	uint32_t best = 0;
	size_t i;

	for (i = 0; i < maps->n; i++) {
		bool better = is_program(&maps->items[i]), best_is = is_program(&maps->items[best]);

		if (better != best_is ? better : better && maps->items[i].self > maps->items[best].self)
			best = (uint32_t)i;
	}
	if (best == 0)
		return;
	moved = maps->items[best];
	maps->items[best] = maps->items[0];
	maps->items[0] = moved;
	for (i = 0; i < n_frames; i++) {
		if (maps->of_frame[i] == best)
			maps->of_frame[i] = 0;
		else if (maps->of_frame[i] == 0)
			maps->of_frame[i] = best;
	}
}

int hl_pprof_maps_make(const struct hl_profile *profile, struct hl_pprof_maps *ret)
{
	uint32_t n = hl_profile_n_frames(profile);
	int code;

	*ret = (struct hl_pprof_maps){ .of_frame = malloc((n + 1) * sizeof(*ret->of_frame)) };
	if (!ret->of_frame)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		ret->of_frame[i] = HL_INDEX_NONE;
	code = collect(profile, ret);
	if (!code && !ret->n) { /* nothing was sampled: readers want one all the same */
		code = hl_grow(&ret->items, &ret->cap, 1, sizeof(*ret->items), MAX_MAPS);
		if (!code)
			ret->items[ret->n++] = (struct hl_pprof_map){ .kind = HL_FRAME_MARK,
								      .module = "",
								      .segment = NO_SEGMENT };
	}
	for (size_t i = 0; i < ret->n; i++)
		lay_out(&ret->items[i]);
	if (!code)
		put_main_first(ret, n);
	return code;
}

void hl_pprof_maps_done(struct hl_pprof_maps *maps)
{
	free(maps->items);
	free(maps->of_frame);
	hl_index_done(&maps->index);
	*maps = (struct hl_pprof_maps){ 0 };
}
