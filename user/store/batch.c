// SPDX-License-Identifier: BSD-2-Clause
#include "store/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "store/batch_rows.h"

enum { MAX_ROWS = 1 << 24 };

struct hl_batch *hl_batch_new(void)
{
	struct hl_batch *batch = calloc(1, sizeof(*batch));

	if (batch)
		batch->profile = hl_profile_new();
	if (batch && !batch->profile) {
		free(batch);
		batch = NULL;
	}
	return batch;
}

void hl_batch_free(struct hl_batch *batch)
{
	if (!batch)
		return;
	hl_profile_free(batch->profile);
	free(batch->owners);
	free(batch->rows);
	hl_index_done(&batch->owner_index);
	hl_index_done(&batch->row_index);
	hl_arena_done(&batch->names);
	free(batch);
}

struct hl_profile *hl_batch_profile(struct hl_batch *batch)
{
	return batch->profile;
}

static bool same_name(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

struct wanted_owner {
	const struct hl_owner *items, *owner;
};

static int is_wanted_owner(const void *ctx, uint32_t position)
{
	const struct wanted_owner *w = ctx;
	const struct hl_owner *a = &w->items[position], *b = w->owner;

	return a->kind == b->kind && a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->started_ns == b->started_ns &&
	       same_name(a->process, a->process_len, b->process, b->process_len) &&
	       same_name(a->thread, a->thread_len, b->thread, b->thread_len);
}

static uint64_t hash_owner(const struct hl_owner *owner)
{
	const uint64_t numbers[] = { owner->kind, owner->pid, owner->exec_id, owner->started_ns };
	uint64_t hash = hl_hash(numbers, sizeof(numbers), 0);

	hash = hl_hash(owner->process, owner->process_len, hash);
	return hl_hash(owner->thread, owner->thread_len, hash);
}

/* The number of @owner, whose names are copied. */
static int intern_owner(struct hl_batch *batch, const struct hl_owner *owner, uint32_t *ret)
{
	struct wanted_owner wanted = { batch->owners, owner };
	uint64_t hash = hash_owner(owner);
	uint32_t at = hl_index_find(&batch->owner_index, hash, is_wanted_owner, &wanted);
	struct hl_owner kept = *owner;
	int code;

	if (at != HL_INDEX_NONE) {
		*ret = at;
		return 0;
	}
	kept.process = hl_arena_copy(&batch->names, owner->process, owner->process_len);
	kept.thread = hl_arena_copy(&batch->names, owner->thread, owner->thread_len);
	if (!kept.process || !kept.thread)
		return -ENOMEM;
	code = hl_grow(&batch->owners, &batch->cap_owners, batch->n_owners + 1, sizeof(*batch->owners),
		       MAX_ROWS);
	if (!code)
		code = hl_index_add(&batch->owner_index, hash, (uint32_t)batch->n_owners);
	if (code)
		return code;
	*ret = (uint32_t)batch->n_owners;
	batch->owners[batch->n_owners++] = kept;
	return 0;
}

struct wanted_row {
	const struct batch_row *rows;
	uint32_t owner, node;
};

static int is_wanted_row(const void *ctx, uint32_t position)
{
	const struct wanted_row *w = ctx;

	return w->rows[position].owner == w->owner && w->rows[position].node == w->node;
}

static int get_row(struct hl_batch *batch, uint32_t owner, uint32_t node, uint32_t *ret)
{
	struct wanted_row wanted = { batch->rows, owner, node };
	const uint32_t key[] = { owner, node };
	uint64_t hash = hl_hash(key, sizeof(key), 0);
	uint32_t at = hl_index_find(&batch->row_index, hash, is_wanted_row, &wanted);
	int code;

	if (at != HL_INDEX_NONE) {
		*ret = at;
		return 0;
	}
	code = hl_grow(&batch->rows, &batch->cap_rows, batch->n_rows + 1, sizeof(*batch->rows), MAX_ROWS);
	if (!code)
		code = hl_index_add(&batch->row_index, hash, (uint32_t)batch->n_rows);
	if (code)
		return code;
	*ret = (uint32_t)batch->n_rows;
	batch->rows[batch->n_rows++] = (struct batch_row){ .owner = owner, .node = node };
	return 0;
}

int hl_batch_add(struct hl_batch *batch, const struct hl_owner *owner, const uint32_t *frames, size_t n,
		 uint64_t count, uint64_t weight)
{
	uint32_t owner_number, node, row;
	int code = intern_owner(batch, owner, &owner_number);

	if (!code)
		code = hl_profile_stack(batch->profile, frames, n, &node);
	if (!code)
		code = get_row(batch, owner_number, node, &row);
	if (code)
		return code;
	batch->rows[row].count += count;
	batch->rows[row].weight += weight;
	batch->samples += count;
	batch->weight += weight;
	return 0;
}

uint64_t hl_batch_samples(const struct hl_batch *batch)
{
	return batch->samples;
}
