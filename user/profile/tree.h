/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_TREE_H
#define HL_PROFILE_TREE_H

/* What profile.c (adding) and finish.c share. */

#include <string.h>

#include "base/mem.h"
#include "profile/profile.h"
#include "profile/strings.h"

/* A node while stacks are added. */
struct stack_node {
	uint32_t frame, parent;
	uint64_t self, self_weight;
};

struct hl_profile {
	struct hl_strings strings;
	struct hl_frame *frames;
	struct hl_id *frame_ids;
	size_t n_frames, cap_frames, cap_frame_ids;
	struct hl_index frame_index;

	struct hl_binary *binaries;
	size_t n_binaries, cap_binaries;
	struct hl_index binary_index;
	struct hl_arena arena; /* what the binaries point to */

	struct stack_node *stack_nodes; /* until hl_profile_finish(); found by (parent, frame) */
	size_t n_stack_nodes, cap_stack_nodes;
	struct hl_index node_index;

	struct hl_node *nodes; /* from then on */
	uint32_t n_nodes;
	struct hl_profile_meta meta;
};

static inline int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#endif
