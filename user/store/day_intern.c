// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/profile.h"
#include "store/batch_rows.h"
#include "store/ids.h"
#include "store/labels.h"

#define hl_string(text) hl_text((text) ? (text) : "", (text) ? strlen(text) : 0)

static int intern_text(struct hl_ids *ids, enum hl_table table, const char *text, size_t len, uint32_t *ret,
		       struct hl_err *err)
{
	const struct hl_value value = hl_text(text, len);

	return hl_ids_row(ids, table, &value, 1, ret, err);
}

int day_intern_source(struct hl_ids *ids, const struct hl_profile_meta *m, uint32_t *ret, struct hl_err *err)
{
	const struct hl_value values[] = {
		hl_string(m->host),     hl_string(m->kernel), hl_string(m->version),
		hl_string(m->decoders), hl_string(m->event),  hl_string(m->unit),
		hl_int(m->precise),     hl_int(m->frequency), hl_int(m->cpus),
	};

	return hl_ids_row(ids, HL_TABLE_SOURCES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

/* A text that may be unknown. */
static struct hl_value known(const char *text)
{
	return text ? hl_text(text, strlen(text)) : hl_null();
}

static int intern_container(struct hl_ids *ids, const struct hl_owner_container *c, uint32_t *ret,
			    struct hl_err *err)
{
	_cleanup_str_ struct hl_str labels = { 0 };

	hl_labels_encode(c->labels, c->n_labels, &labels);
	if (hl_str_status(&labels))
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	const struct hl_value values[] = {
		known(c->runtime), known(c->id),        known(c->name),     known(c->image),
		known(c->pod),     known(c->namespace), known(c->workload), hl_text(labels.data, labels.len),
	};
	return hl_ids_row(ids, HL_TABLE_CONTAINERS, values, sizeof(values) / sizeof(values[0]), ret, err);
}

static int intern_cgroup(struct hl_ids *ids, const struct hl_owner_cgroup *g, uint32_t *ret,
			 struct hl_err *err)
{
	uint32_t container = 0;
	int code = g->container ? intern_container(ids, g->container, &container, err) : 0;
	const struct hl_value values[] = { hl_string(g->path), known(g->unit), hl_int(container) };

	if (code)
		return code;
	return hl_ids_row(ids, HL_TABLE_CGROUPS, values, sizeof(values) / sizeof(values[0]), ret, err);
}

static int intern_owner(struct hl_ids *ids, const struct hl_owner *o, uint32_t *ret, struct hl_err *err)
{
	struct hl_value thread[] = { hl_null(), hl_string(o->thread) };
	uint32_t id, cgroup = 0, service = 0, exe = 0;
	int code = o->cgroup ? intern_cgroup(ids, o->cgroup, &cgroup, err) : 0;

	if (!code && o->service)
		code = intern_text(ids, HL_TABLE_SERVICES, o->service, strlen(o->service), &service, err);
	if (!code && o->exe)
		code = intern_text(ids, HL_TABLE_MODULES, o->exe, strlen(o->exe), &exe, err);
	if (code)
		return code;
	const struct hl_value process[] = { hl_int(o->kind),       hl_int(o->pid),
					    hl_int(o->exec_id),    hl_int(o->started_ns),
					    hl_string(o->process), hl_int(cgroup),
					    hl_int(service),       hl_int(exe) };

	code = hl_ids_row(ids, HL_TABLE_PROCESSES, process, sizeof(process) / sizeof(process[0]), &id, err);
	if (code)
		return code;
	thread[0] = hl_int(id);
	return hl_ids_row(ids, HL_TABLE_THREADS, thread, sizeof(thread) / sizeof(thread[0]), ret, err);
}

static int intern_binary(struct hl_ids *ids, const struct hl_batch *batch, struct hl_id id, uint32_t *ret,
			 struct hl_err *err)
{
	const struct hl_binary *binary = hl_profile_binary(batch->profile, id);
	struct hl_value values[] = { hl_blob(&id, sizeof(id)), hl_blob("", 0), hl_blob("", 0) };

	if (!(id.lo | id.hi)) {
		*ret = 0;
		return 0;
	}
	if (binary) {
		values[1] = hl_blob(binary->build_id, binary->build_id_len);
		values[2] = hl_blob(binary->segments, binary->n_segments * sizeof(*binary->segments));
	}
	return hl_ids_row(ids, HL_TABLE_BINARIES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

int day_intern_frame(struct hl_ids *ids, const struct hl_batch *batch, uint32_t index, uint32_t *ret,
		     struct hl_err *err)
{
	const struct hl_frame *f = hl_profile_get_frame(batch->profile, index);
	struct hl_id hash = hl_profile_frame_id(batch->profile, index);
	uint32_t module = 0, binary = 0;
	int code = intern_text(ids, HL_TABLE_MODULES, f->module, f->module_len, &module, err);

	if (!code)
		code = intern_binary(ids, batch, f->binary, &binary, err);
	if (code)
		return code;
	const struct hl_value values[] = {
		hl_blob(&hash, sizeof(hash)),
		hl_int(f->kind),
		hl_int(f->insn_class),
		hl_int(f->kernel),
		hl_int(binary),
		hl_int(module),
		hl_int(f->address),
		hl_int(f->offset),
		hl_text(f->name, f->name_len),
	};
	return hl_ids_row(ids, HL_TABLE_FRAMES, values, sizeof(values) / sizeof(values[0]), ret, err);
}

/* The day's numbers of all stacks of @batch, in an array by the batch's. Allocated. */
static int intern_nodes(struct hl_ids *ids, const struct hl_batch *batch, uint32_t **ret, struct hl_err *err)
{
	uint32_t n_frames = hl_profile_n_frames(batch->profile), last = 0, parent, frame;
	_cleanup_free_ uint32_t *frames = calloc(n_frames, sizeof(*frames)), *nodes = NULL;
	int code = 0;

	for (size_t i = 0; i < batch->n_rows; i++)
		if (batch->rows[i].node > last)
			last = batch->rows[i].node;
	nodes = calloc((size_t)last + 1, sizeof(*nodes));
	if (!frames || !nodes)
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	for (uint32_t node = 1; node <= last && !code; node++) {
		frame = hl_profile_stack_frame(batch->profile, node, &parent);
		if (!frames[frame])
			code = day_intern_frame(ids, batch, frame, &frames[frame], err);
		if (!code)
			code = hl_ids_node(ids, nodes[parent], frames[frame], &nodes[node], err);
	}
	*ret = TAKE_PTR(nodes);
	return code;
}

int day_intern_rows(struct hl_ids *ids, const struct hl_batch *batch, struct stored_row **ret, size_t *ret_n,
		    struct hl_err *err)
{
	_cleanup_free_ uint32_t *threads = calloc(batch->n_owners + 1, sizeof(*threads)), *nodes = NULL;
	_cleanup_free_ struct stored_row *rows = calloc(batch->n_rows + 1, sizeof(*rows));
	int code = intern_nodes(ids, batch, &nodes, err);

	if (code)
		return code;
	if (!threads || !rows || !nodes)
		return hl_err_set(err, -ENOMEM, "no memory to store a window");
	for (size_t i = 0; i < batch->n_owners && !code; i++)
		code = intern_owner(ids, &batch->owners[i], &threads[i], err);
	if (code)
		return code;
	for (size_t i = 0; i < batch->n_rows; i++) {
		const struct batch_row *row = &batch->rows[i];

		rows[i] =
			(struct stored_row){ threads[row->owner], nodes[row->node], row->count, row->weight };
	}
	*ret_n = stored_rows_sum(rows, batch->n_rows);
	*ret = TAKE_PTR(rows);
	return 0;
}

int day_intern_loss(struct hl_ids *ids, const struct hl_loss *loss, uint32_t *ret, struct hl_err *err)
{
	const struct hl_value values[] = { hl_int(loss->kind), hl_string(loss->name), hl_string(loss->help) };

	return hl_ids_row(ids, HL_TABLE_REASONS, values, sizeof(values) / sizeof(values[0]), ret, err);
}

int day_intern_note(struct hl_ids *ids, const char *note, uint32_t *ret, struct hl_err *err)
{
	return intern_text(ids, HL_TABLE_NOTES, note, strlen(note), ret, err);
}
