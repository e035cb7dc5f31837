// SPDX-License-Identifier: BSD-2-Clause
/* needs: base profile */
#include "profile/profile.h"

#include <stdlib.h>

#include "harness.h"

static uint32_t frame_of(struct hl_profile *p, int kind, uint64_t binary, uint64_t address, const char *name)
{
	struct hl_frame frame = { .kind = (uint8_t)kind,
				  .binary = { binary, binary },
				  .address = address,
				  .name = name,
				  .name_len = strlen(name),
				  .module = "m",
				  .module_len = 1 };
	uint32_t index;

	CHECK_INT(hl_profile_frame(p, &frame, &index), 0);
	return index;
}

static void add(struct hl_profile *p, const uint32_t *frames, size_t n, uint64_t count)
{
	CHECK_INT(hl_profile_add(p, frames, n, count, count * 10), 0);
}

static const struct hl_frame *frame_at(const struct hl_profile *p, const struct hl_node *node)
{
	return hl_profile_get_frame(p, node->frame);
}

/* Everything that must hold of any finished tree. */
static void check_tree(const struct hl_profile *p)
{
	uint32_t n, i;
	const struct hl_node *nodes = hl_profile_nodes(p, &n);
	uint64_t *below = calloc(n, sizeof(*below)), samples = 0;

	CHECK_INT(nodes[0].parent, 0);
	CHECK_INT(nodes[0].end, n);
	for (i = n; i-- > 0;) {
		below[i] += nodes[i].self;
		samples += nodes[i].self;
		CHECK_INT(nodes[i].total, below[i]);
		CHECK_INT(nodes[i].total_weight, nodes[i].total * 10);
		if (i == 0)
			break;
		CHECK(nodes[i].parent < i && i < nodes[i].end);
		CHECK(nodes[i].end <= nodes[nodes[i].parent].end);
		CHECK_INT(nodes[i].depth, nodes[nodes[i].parent].depth + 1);
		below[nodes[i].parent] += below[i];
	}
	CHECK_INT(nodes[0].total, samples);
	free(below);
}

HL_TEST(totals_and_order_of_siblings)
{
	struct hl_profile *p = hl_profile_new();
	uint32_t root = frame_of(p, HL_FRAME_ROOT, 0, 0, "app");
	uint32_t b = frame_of(p, HL_FRAME_USER, 1, 0x100, "b"), a = frame_of(p, HL_FRAME_USER, 1, 0x900, "a");
	uint32_t b2 = frame_of(p, HL_FRAME_USER, 1, 0x80, "b");
	uint32_t late = frame_of(p, HL_FRAME_INSN, 1, 0x10f, "add"),
		 early = frame_of(p, HL_FRAME_INSN, 1, 0x101, "zor");
	static const struct {
		const char *name;
		uint64_t address, self, total;
		uint32_t depth, end;
	} want[] = {
		{ "all", 0, 0, 31, 0, 7 },    { "app", 0, 0, 31, 1, 7 },   { "a", 0x900, 1, 1, 2, 3 },
		{ "b", 0x80, 16, 16, 2, 4 },  { "b", 0x100, 2, 14, 2, 7 }, { "zor", 0x101, 8, 8, 3, 6 },
		{ "add", 0x10f, 4, 4, 3, 7 },
	};
	const struct hl_node *nodes;
	uint32_t n;

	add(p, (uint32_t[]){ root, b, late }, 3, 4);
	add(p, (uint32_t[]){ root, b }, 2, 2);
	add(p, (uint32_t[]){ root, b, early }, 3, 5);
	add(p, (uint32_t[]){ root, b, early }, 3, 3);
	add(p, (uint32_t[]){ root, a }, 2, 1);
	add(p, (uint32_t[]){ root, b2 }, 2, 16);
	add(p, (uint32_t[]){ root, a, b }, 3, 0); /* no samples: not in the tree */
	CHECK_INT(hl_profile_finish(p), 0);
	check_tree(p);
	nodes = hl_profile_nodes(p, &n);
	CHECK_INT(n, 7);
	for (uint32_t i = 0; i < n; i++) {
		CHECK_STR(frame_at(p, &nodes[i])->name, want[i].name);
		CHECK_INT(frame_at(p, &nodes[i])->address, want[i].address);
		CHECK_INT(nodes[i].self, want[i].self);
		CHECK_INT(nodes[i].total, want[i].total);
		CHECK_INT(nodes[i].depth, want[i].depth);
		CHECK_INT(nodes[i].end, want[i].end);
	}
	hl_profile_free(p);
}
