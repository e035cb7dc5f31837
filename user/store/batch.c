// SPDX-License-Identifier: BSD-2-Clause
#include "store/batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "store/batch_rows.h"

enum { MAX_ROWS = 1 << 24, MAX_BODIES = 1 << 16 };

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
	free(batch->cgroups);
	free(batch->rows);
	free(batch->bodies);
	hl_index_done(&batch->owner_index);
	hl_index_done(&batch->cgroup_index);
	hl_index_done(&batch->row_index);
	hl_arena_done(&batch->names);
	free(batch);
}

struct hl_profile *hl_batch_profile(struct hl_batch *batch)
{
	return batch->profile;
}

/* ---- owners -------------------------------------------------------------------------------------------- */

static const char *copy(struct hl_batch *batch, const char *text, int *code)
{
	const char *kept = text ? hl_arena_copy(&batch->names, text, strlen(text)) : NULL;

	if (text && !kept)
		*code = -ENOMEM;
	return kept;
}

static const struct hl_label *copy_labels(struct hl_batch *batch, const struct hl_label *labels, size_t n,
					  int *code)
{
	struct hl_label *kept = hl_arena_take(&batch->names, (n + 1) * sizeof(*kept));

	if (!kept)
		*code = -ENOMEM;
	for (size_t i = 0; i < n && !*code; i++) {
		kept[i].key = copy(batch, labels[i].key, code);
		kept[i].value = copy(batch, labels[i].value, code);
	}
	return kept;
}

static const struct hl_owner_container *copy_container(struct hl_batch *batch,
						       const struct hl_owner_container *c, int *code)
{
	struct hl_owner_container *kept = hl_arena_take(&batch->names, sizeof(*kept));

	if (!kept) {
		*code = -ENOMEM;
		return NULL;
	}
	*kept = (struct hl_owner_container){
		.runtime = copy(batch, c->runtime, code),
		.id = copy(batch, c->id, code),
		.name = copy(batch, c->name, code),
		.image = copy(batch, c->image, code),
		.pod = copy(batch, c->pod, code),
		.namespace = copy(batch, c->namespace, code),
		.workload = copy(batch, c->workload, code),
		.labels = copy_labels(batch, c->labels, c->n_labels, code),
		.n_labels = c->n_labels,
	};
	return kept;
}

static const struct hl_owner_cgroup *copy_cgroup(struct hl_batch *batch, const struct hl_owner_cgroup *cgroup)
{
	struct hl_owner_cgroup *kept = hl_arena_take(&batch->names, sizeof(*kept));
	int code = kept ? 0 : -ENOMEM;

	if (code)
		return NULL;
	*kept = (struct hl_owner_cgroup){ .path = copy(batch, cgroup->path, &code),
					  .unit = copy(batch, cgroup->unit, &code) };
	if (cgroup->container)
		kept->container = copy_container(batch, cgroup->container, &code);
	return code ? NULL : kept;
}

struct wanted_cgroup {
	const struct hl_owner_cgroup *const *items;
	const char *path;
};

static int is_wanted_cgroup(const void *ctx, uint32_t position)
{
	const struct wanted_cgroup *w = ctx;

	return strcmp(w->items[position]->path, w->path) == 0;
}

const struct hl_owner_cgroup *hl_batch_cgroup(struct hl_batch *batch, const struct hl_owner_cgroup *cgroup)
{
	const struct wanted_cgroup wanted = { batch->cgroups, cgroup->path };
	uint64_t hash = hl_hash(cgroup->path, strlen(cgroup->path), 0);
	uint32_t at = hl_index_find(&batch->cgroup_index, hash, is_wanted_cgroup, &wanted);
	const struct hl_owner_cgroup *kept;

	if (at != HL_INDEX_NONE)
		return batch->cgroups[at];
	kept = copy_cgroup(batch, cgroup);
	if (!kept ||
	    hl_grow(&batch->cgroups, &batch->cap_cgroups, batch->n_cgroups + 1, sizeof(*batch->cgroups),
		    MAX_ROWS) ||
	    hl_index_add(&batch->cgroup_index, hash, (uint32_t)batch->n_cgroups))
		return NULL;
	return batch->cgroups[batch->n_cgroups++] = kept;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

struct wanted_owner {
	const struct hl_owner *items, *owner;
};

static int is_wanted_owner(const void *ctx, uint32_t position)
{
	const struct wanted_owner *w = ctx;
	const struct hl_owner *a = &w->items[position], *b = w->owner;

	return a->kind == b->kind && a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->started_ns == b->started_ns && a->cgroup == b->cgroup &&
	       same_text(a->process, b->process) && same_text(a->thread, b->thread) &&
	       same_text(a->service, b->service) && same_text(a->exe, b->exe);
}

static uint64_t hash_owner(const struct hl_owner *owner)
{
	const uint64_t numbers[] = { owner->kind, owner->pid, owner->exec_id, owner->started_ns };
	uint64_t hash = hl_hash(numbers, sizeof(numbers), 0);

	if (owner->process)
		hash = hl_hash(owner->process, strlen(owner->process), hash);
	return owner->thread ? hl_hash(owner->thread, strlen(owner->thread), hash) : hash;
}

/* The number of @owner, whose strings are copied. */
static int intern_owner(struct hl_batch *batch, const struct hl_owner *owner, uint32_t *ret)
{
	struct wanted_owner wanted = { batch->owners, owner };
	uint64_t hash = hash_owner(owner);
	uint32_t at = hl_index_find(&batch->owner_index, hash, is_wanted_owner, &wanted);
	struct hl_owner kept = *owner;
	int code = 0;

	if (at != HL_INDEX_NONE) {
		*ret = at;
		return 0;
	}
	kept.process = copy(batch, owner->process, &code);
	kept.thread = copy(batch, owner->thread, &code);
	kept.service = copy(batch, owner->service, &code);
	kept.exe = copy(batch, owner->exe, &code);
	if (!code)
		code = hl_grow(&batch->owners, &batch->cap_owners, batch->n_owners + 1,
			       sizeof(*batch->owners), MAX_ROWS);
	if (!code)
		code = hl_index_add(&batch->owner_index, hash, (uint32_t)batch->n_owners);
	if (code)
		return code;
	*ret = (uint32_t)batch->n_owners;
	batch->owners[batch->n_owners++] = kept;
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

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

/* ---- bodies -------------------------------------------------------------------------------------------- */

static const void *copy_bytes(struct hl_batch *batch, const void *bytes, size_t len, int *code)
{
	const void *kept = bytes ? hl_arena_copy(&batch->names, bytes, len) : NULL;

	if (bytes && !kept)
		*code = -ENOMEM;
	return kept;
}

int hl_batch_add_body(struct hl_batch *batch, uint32_t frame, const struct hl_body *body)
{
	struct batch_body kept = { frame, *body };
	int code = hl_grow(&batch->bodies, &batch->cap_bodies, batch->n_bodies + 1, sizeof(*batch->bodies),
			   MAX_BODIES);

	if (code)
		return code;
	kept.body.bytes = copy_bytes(batch, body->bytes, body->size, &code);
	kept.body.build_id = copy_bytes(batch, body->build_id, body->build_id_len, &code);
	kept.body.why = copy(batch, body->why, &code);
	if (!code)
		batch->bodies[batch->n_bodies++] = kept;
	return code;
}

uint64_t hl_batch_samples(const struct hl_batch *batch)
{
	return batch->samples;
}

uint64_t hl_batch_weight(const struct hl_batch *batch)
{
	return batch->weight;
}
