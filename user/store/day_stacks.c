// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "profile/profile.h"
#include "store/day_reader.h"

/* Far deeper than any stack that we write. */
enum { MAX_DEPTH = 4096, MAX_ITEMS = 1 << 28, BLOCK = 4096, MAX_SEGMENTS = 256 };

/*
 * Stacks are read in blocks of consecutive numbers: those that one window brought lie side by side, behind those
 * of which there was more than one. Memory that is cleared by the kernel costs nothing where no block is read.
 */
struct node {
	uint32_t parent, frame;
	uint32_t below; /* the profile's node, while its root is @root; 0: none yet */
	uint32_t root;
	uint16_t depth; /* 0: it was not needed so far */
};

struct day_stacks {
	struct day_reader *day;
	struct hl_profile *profile;
	bool functions;
	struct hl_query *block;
	int64_t n_nodes, n_frames, n_modules, n_binaries;
	struct node *nodes;     /* by number */
	uint8_t *have;          /* by number of the block */
	uint32_t *frames;       /* of the profile, by number; one more, 0: not read */
	const char **modules;   /* by number; NULL: not read */
	struct hl_id *binaries; /* by number; zero: not read */
	struct hl_arena strings;
};

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the stacks of a day");
}

void day_stacks_free(struct day_stacks *s)
{
	if (!s)
		return;
	hl_query_free(s->block);
	free(s->nodes);
	free(s->have);
	free(s->frames);
	free(s->modules);
	free(s->binaries);
	hl_arena_done(&s->strings);
	free(s);
}

/* Numbers are given from 1. */
static int last_number(struct day_stacks *s, const char *sql, int64_t *ret, struct hl_err *err)
{
	int code = hl_db_number(s->day->db, sql, ret, err);

	if (!code && (*ret < 0 || *ret >= MAX_ITEMS))
		code = hl_err_set(err, -EBADMSG, "its stacks are not numbered in order");
	return code;
}

static int prepare(struct day_stacks *s, struct hl_err *err)
{
	int code = hl_query_new(s->day->db, "SELECT * FROM nodes WHERE id BETWEEN ? AND ?", &s->block, err);

	if (!code)
		code = last_number(s, "SELECT max(id) FROM nodes", &s->n_nodes, err);
	if (!code)
		code = last_number(s, "SELECT max(id) FROM frames", &s->n_frames, err);
	if (!code)
		code = last_number(s, "SELECT max(id) FROM modules", &s->n_modules, err);
	if (!code)
		code = last_number(s, "SELECT max(id) FROM binaries", &s->n_binaries, err);
	if (code)
		return code;
	s->nodes = calloc((size_t)s->n_nodes + 1, sizeof(*s->nodes));
	s->have = calloc((size_t)s->n_nodes / BLOCK + 1, sizeof(*s->have));
	s->frames = calloc((size_t)s->n_frames + 1, sizeof(*s->frames));
	s->modules = calloc((size_t)s->n_modules + 1, sizeof(*s->modules));
	s->binaries = calloc((size_t)s->n_binaries + 1, sizeof(*s->binaries));
	return s->nodes && s->have && s->frames && s->modules && s->binaries ? 0 : no_memory(err);
}

int day_stacks_new(struct day_reader *day, struct hl_profile *profile, bool functions,
		   struct day_stacks **ret, struct hl_err *err)
{
	struct day_stacks *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return no_memory(err);
	s->day = day;
	s->profile = profile;
	s->functions = functions;
	code = prepare(s, err);
	if (code)
		day_stacks_free(s);
	else
		*ret = s;
	return code;
}

/* ---- frames -------------------------------------------------------------------------------------------- */

static int read_module(struct day_stacks *s, int64_t number, struct hl_frame *frame, struct hl_err *err)
{
	const struct hl_query *query;
	const char *path;
	size_t len;
	int code;

	if (number < 1 || number > s->n_modules)
		return hl_err_set(err, -EBADMSG, "it has no module %lld", (long long)number);
	if (!s->modules[number]) {
		code = hl_rows_get(s->day->rows, HL_TABLE_MODULES, (uint32_t)number, &query, err);
		if (code)
			return code;
		path = hl_query_bytes(query, 1, &len);
		s->modules[number] = hl_arena_copy(&s->strings, path, len);
		if (!s->modules[number])
			return no_memory(err);
	}
	frame->module = s->modules[number];
	frame->module_len = strlen(frame->module);
	return 0;
}

/* Takes binary @number to the profile. */
static int keep_binary(struct day_stacks *s, int64_t number, const struct hl_query *q, struct hl_err *err)
{
	struct hl_segment segments[MAX_SEGMENTS];
	struct hl_binary binary = { .segments = segments };
	const void *bytes;
	size_t len;

	bytes = hl_query_bytes(q, 1, &len);
	if (len != sizeof(binary.id))
		return hl_err_set(err, -EBADMSG, "its binary %lld is damaged", (long long)number);
	memcpy(&binary.id, bytes, len);
	bytes = hl_query_bytes(q, 3, &len);
	binary.n_segments = len / sizeof(segments[0]);
	if (binary.n_segments > MAX_SEGMENTS)
		return hl_err_set(err, -EBADMSG, "its binary %lld is damaged", (long long)number);
	memcpy(segments, bytes, binary.n_segments * sizeof(segments[0]));
	binary.build_id = (const uint8_t *)hl_query_bytes(q, 2, &binary.build_id_len);
	if (hl_profile_add_binary(s->profile, &binary))
		return no_memory(err);
	s->binaries[number] = binary.id;
	return 0;
}

static int read_binary(struct day_stacks *s, int64_t number, struct hl_frame *frame, struct hl_err *err)
{
	const struct hl_query *query;
	int code = 0;

	if (!number)
		return 0;
	if (number < 0 || number > s->n_binaries)
		return hl_err_set(err, -EBADMSG, "it has no binary %lld", (long long)number);
	if (!(s->binaries[number].lo | s->binaries[number].hi)) {
		code = hl_rows_get(s->day->rows, HL_TABLE_BINARIES, (uint32_t)number, &query, err);
		if (!code)
			code = keep_binary(s, number, query, err);
	}
	frame->binary = s->binaries[number];
	return code;
}

static int read_frame(struct day_stacks *s, uint32_t number, struct hl_err *err)
{
	const struct hl_query *q;
	struct hl_frame frame = { 0 };
	int code = hl_rows_get(s->day->rows, HL_TABLE_FRAMES, number, &q, err);

	if (code)
		return code;
	frame.kind = (uint8_t)hl_query_int(q, 2);
	frame.insn_class = (uint8_t)hl_query_int(q, 3);
	frame.kernel = hl_query_int(q, 4) != 0;
	frame.address = (uint64_t)hl_query_int(q, 7);
	frame.offset = (uint64_t)hl_query_int(q, 8);
	frame.name = hl_query_bytes(q, 9, &frame.name_len);
	code = read_binary(s, hl_query_int(q, 5), &frame, err);
	if (!code)
		code = read_module(s, hl_query_int(q, 6), &frame, err);
	if (!code && hl_profile_frame(s->profile, &frame, &s->frames[number]))
		code = no_memory(err);
	if (!code)
		s->frames[number]++;
	return code;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static int read_block(struct day_stacks *s, uint32_t block, struct hl_err *err)
{
	int code;

	hl_query_give(s->block, hl_int((int64_t)block * BLOCK), hl_int((int64_t)block * BLOCK + BLOCK - 1));
	while ((code = hl_query_step(s->block, err)) == 1) {
		uint32_t number = (uint32_t)hl_query_int(s->block, 0);
		struct node *node = &s->nodes[number];

		if (number > s->n_nodes)
			break;
		node->parent = (uint32_t)hl_query_int(s->block, 1);
		node->frame = (uint32_t)hl_query_int(s->block, 2);
		if (hl_query_int(s->block, 3) != hl_node_checksum(number, node->parent, node->frame))
			node->frame = 0; /* is none, and matters only to who needs it */
	}
	hl_query_reset(s->block);
	s->have[block] = 1;
	return code < 0 ? code : 0;
}

static int read_node(struct day_stacks *s, uint32_t number, struct hl_err *err)
{
	const struct node *node = &s->nodes[number];
	int code = 0;

	if (!s->have[number / BLOCK])
		code = read_block(s, number / BLOCK, err);
	if (code)
		return code;
	if (node->parent >= number || node->frame < 1 || node->frame > s->n_frames)
		return hl_err_set(err, -EBADMSG, "its stack %u is damaged", number);
	return s->frames[node->frame] ? 0 : read_frame(s, node->frame, err);
}

/* Upwards until one that was needed before, and down again: each node is visited once. */
int day_stacks_need(struct day_stacks *s, uint32_t node, struct hl_err *err)
{
	uint32_t path[MAX_DEPTH], n = 0, depth = 0, leaf = node;
	int code = 0;

	if (node > s->n_nodes)
		return hl_err_set(err, -EBADMSG, "there is no stack %u", node);
	while (node && !code) {
		if (s->nodes[node].depth) {
			depth = s->nodes[node].depth;
			break;
		}
		if (n == MAX_DEPTH)
			return hl_err_set(err, -EBADMSG, "its stack %u is too deep", leaf);
		code = read_node(s, node, err);
		path[n++] = node;
		node = s->nodes[node].parent;
	}
	if (!code && n + depth > MAX_DEPTH)
		code = hl_err_set(err, -EBADMSG, "its stack %u is too deep", leaf);
	while (n-- && !code)
		s->nodes[path[n]].depth = (uint16_t)++depth;
	return code;
}

static bool is_within_function(const struct day_stacks *s, uint32_t node)
{
	uint8_t kind = hl_profile_get_frame(s->profile, s->frames[s->nodes[node].frame] - 1)->kind;

	return kind == HL_FRAME_INSN || kind == HL_FRAME_PART;
}

int day_stacks_function(struct day_stacks *s, uint32_t node, uint32_t *ret, struct hl_err *err)
{
	int code;

	if (node < 1 || node > s->n_nodes)
		return hl_err_set(err, -EBADMSG, "there is no stack %u", node);
	while (!(code = read_node(s, node, err)) && is_within_function(s, node) && s->nodes[node].parent)
		node = s->nodes[node].parent;
	if (!code)
		*ret = s->frames[s->nodes[node].frame] - 1;
	return code;
}

int day_stacks_below(struct day_stacks *s, uint32_t root, uint32_t node, uint32_t *ret)
{
	uint32_t path[MAX_DEPTH], n = 0, at = root;
	int code = 0;

	for (; node && !(s->nodes[node].root == root && s->nodes[node].below); node = s->nodes[node].parent)
		if (n || !s->functions || !is_within_function(s, node))
			path[n++] = node;
	if (node)
		at = s->nodes[node].below;
	while (n-- && !code) {
		/* cppcheck-suppress uninitvar ; n of them were set */
		struct node *below = &s->nodes[path[n]];

		code = hl_profile_child(s->profile, at, s->frames[below->frame] - 1, &at);
		below->root = root;
		below->below = at;
	}
	*ret = at;
	return code;
}
