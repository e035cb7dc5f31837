// SPDX-License-Identifier: BSD-2-Clause
#include "command/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "command/identity.h"
#include "command/selection.h"
#include "process/cgroup.h"
#include "process/container.h"
#include "profile/profile.h"
#include "sample/window.h"
#include "store/batch.h"
#include "store/reading.h"

enum { MAX_CGROUPS = 1 << 20 };

struct hl_stored_cgroup {
	const struct hl_cgroup *from;
	const struct hl_owner_cgroup *to; /* of the batch */
};

void hl_storing_done(struct hl_storing *s)
{
	free(s->cgroups);
	hl_index_done(&s->index);
	*s = (struct hl_storing){ 0 };
}

/* ---- into a store -------------------------------------------------------------------------------------- */

static struct hl_owner_container container_of(const struct hl_container *c)
{
	return (struct hl_owner_container){
		.runtime = c->runtime,
		.id = c->id,
		.name = c->name,
		.image = c->image,
		.pod = c->pod ? c->pod : c->pod_uid,
		.namespace = c->namespace,
		.workload = c->workload,
		.labels = c->labels,
		.n_labels = c->n_labels,
	};
}

static int is_same(const void *ctx, uint32_t position)
{
	return 1; /* equal hashes are equal keys */
}

/* The batch's copy of @from; NULL without memory. */
static const struct hl_owner_cgroup *cgroup_of(struct hl_storing *s, const struct hl_cgroup *from)
{
	uint64_t hash = hl_mix((uint64_t)(uintptr_t)from);
	uint32_t at = hl_index_find(&s->index, hash, is_same, /* ctx= */ NULL);
	struct hl_owner_container container;
	struct hl_owner_cgroup cgroup = { .path = from->path, .unit = from->unit };
	const struct hl_owner_cgroup *to;

	if (at != HL_INDEX_NONE)
		return s->cgroups[at].to;
	if (from->container) {
		container = container_of(from->container);
		cgroup.container = &container;
	}
	to = hl_batch_cgroup(s->batch, &cgroup);
	if (!to || hl_grow(&s->cgroups, &s->cap, s->n + 1, sizeof(*s->cgroups), MAX_CGROUPS) ||
	    hl_index_add(&s->index, hash, (uint32_t)s->n))
		return NULL;
	s->cgroups[s->n++] = (struct hl_stored_cgroup){ from, to };
	return to;
}

static uint8_t kind_of(const struct hl_identity *identity)
{
	if (identity->kind == HL_IDENTITY_IDLE)
		return HL_OWNER_IDLE;
	return identity->kind == HL_IDENTITY_KTHREAD ? HL_OWNER_KTHREAD : HL_OWNER_PROCESS;
}

int hl_storing_take(void *ctx, const struct hl_sample *sample, const struct hl_identity *identity,
		    const uint32_t *frames, size_t n)
{
	struct hl_storing *s = ctx;
	const struct hl_profile *profile = hl_batch_profile(s->batch);
	struct hl_owner owner = {
		.kind = kind_of(identity),
		.pid = sample->key.process.tgid,
		.exec_id = sample->key.process.exec_id,
		.started_ns = sample->key.process.start_time,
		.process = identity->value[HL_BY_PROCESS],
		.thread = identity->value[HL_BY_THREAD],
		.service = identity->value[HL_BY_SERVICE],
		.exe = identity->value[HL_BY_EXE],
	};

	if (identity->cgroup) {
		owner.cgroup = cgroup_of(s, identity->cgroup);
		if (!owner.cgroup)
			return -ENOMEM;
	}
	for (; n && hl_profile_get_frame(profile, *frames)->kind == HL_FRAME_ROOT; frames++, n--)
		;
	return hl_batch_add(s->batch, &owner, frames, n, sample->count.samples, sample->count.periods);
}

/* ---- out of one ---------------------------------------------------------------------------------------- */

static int push_labels(const struct hl_identity *identity,
		       int (*push)(void *ctx, const char *name, size_t len), void *push_ctx)
{
	_cleanup_str_ struct hl_str text = { 0 };
	int code = 0;

	for (unsigned int key = 0; key < HL_BY_KEYS && !code; key++) {
		const char *value = identity->value[key];

		if (!value || !*value || key == HL_BY_HOST || key == HL_BY_EVENT || key == HL_BY_PID)
			continue;
		hl_str_clear(&text);
		hl_str_addf(&text, "%s=", hl_identity_names[key]);
		hl_str_add_unmarked(&text, value, strlen(value));
		code = hl_str_status(&text);
		if (!code)
			code = push(push_ctx, text.data, text.len);
	}
	return code;
}

static int labels_of(void *ctx, const struct hl_owner *owner,
		     int (*push)(void *ctx, const char *name, size_t len), void *push_ctx)
{
	struct hl_identity identity;

	hl_identify_owner(owner, &identity);
	switch (hl_selection_check(ctx, &identity)) {
	case HL_SELECTED_NOT:
		return HL_ROOT_NOT_ASKED;
	case HL_SELECTED_EXCLUDED:
		return HL_ROOT_EXCLUDED;
	default:
		return push_labels(&identity, push, push_ctx);
	}
}

int hl_stored_root(void *ctx, const struct hl_owner *owner,
		   int (*push)(void *ctx, const char *name, size_t len), void *push_ctx)
{
	const struct hl_selection *selection = ctx;
	struct hl_identity identity;

	hl_identify_owner(owner, &identity);
	switch (hl_selection_check(selection, &identity)) {
	case HL_SELECTED_NOT:
		return HL_ROOT_NOT_ASKED;
	case HL_SELECTED_EXCLUDED:
		return HL_ROOT_EXCLUDED;
	default:
		return hl_selection_roots(selection, &identity, push, push_ctx);
	}
}

void hl_stored_select(struct hl_store_query *query, struct hl_selection *selection)
{
	query->root = hl_stored_root;
	query->root_ctx = selection;
	query->some = !hl_selection_is_all(selection);
	query->pids = hl_selection_needs_pid(selection);
}

void hl_stored_select_labels(struct hl_store_query *query, struct hl_selection *selection)
{
	hl_stored_select(query, selection);
	query->root = labels_of;
	query->keyed = true;
}
