// SPDX-License-Identifier: BSD-2-Clause
#include "store/day_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "profile/profile.h"
#include "store/day_reader.h"
#include "store/labels.h"
#include "store/owner.h"
#include "store/reading.h"

enum { MAX_ITEMS = 1 << 28, MAX_CGROUPS = 1 << 24, MAX_ROOTS = 1 << 24 };

/* Frames that stand for an owner at the start of its stacks. */
struct root {
	uint32_t first, n; /* of the frames */
};

/* Threads as one host has them: with stores of several hosts in one day, each has other roots. */
struct host {
	const char *name;
	uint32_t *roots; /* by thread: one more than its root; 0: it was not met yet */
};

struct day_owners {
	struct day_reader *day;
	const struct hl_store_query *query;
	const char *event;
	struct hl_profile *profile;
	struct hl_query *by_thread, *by_cgroup;
	int64_t n_threads;
	struct host *hosts;
	uint32_t *host_of_source;
	size_t n_hosts;
	const struct hl_owner_cgroup **cgroups; /* by number; NULL: not met yet */
	size_t cap_cgroups, n_cgroups;
	struct root *roots;
	uint32_t *frames;
	size_t n_roots, cap_roots, n_frames, cap_frames;
	struct hl_index root_index;
	struct hl_arena strings;
};

static int no_memory(struct hl_err *err)
{
	return hl_err_set(err, -ENOMEM, "no memory for the processes of a day");
}

void day_owners_free(struct day_owners *o)
{
	if (!o)
		return;
	hl_query_free(o->by_thread);
	hl_query_free(o->by_cgroup);
	for (size_t i = 0; i < o->n_hosts; i++)
		free(o->hosts[i].roots);
	free(o->hosts);
	free(o->host_of_source);
	free(o->cgroups);
	free(o->roots);
	free(o->frames);
	hl_index_done(&o->root_index);
	hl_arena_done(&o->strings);
	free(o);
}

/* Numbers the hosts of the sources. */
static int find_hosts(struct day_owners *o)
{
	const struct day_reader *day = o->day;

	o->hosts = calloc(day->n_sources + 1, sizeof(*o->hosts));
	o->host_of_source = calloc(day->n_sources + 1, sizeof(*o->host_of_source));
	if (!o->hosts || !o->host_of_source)
		return -ENOMEM;
	for (size_t i = 0; i < day->n_sources; i++) {
		uint32_t host = 0;

		while (host < o->n_hosts && strcmp(o->hosts[host].name, day->sources[i].host) != 0)
			host++;
		if (host == o->n_hosts)
			o->hosts[o->n_hosts++].name = day->sources[i].host;
		o->host_of_source[i] = host;
	}
	return 0;
}

static int prepare(struct day_owners *o, struct hl_err *err)
{
	static const char by_thread[] =
		"SELECT t.name, p.kind, p.pid, p.exec, p.started, p.name, p.cgroup, v.name, e.path FROM "
		"threads t"
		" JOIN processes p ON p.id = t.process LEFT JOIN services v ON v.id = p.service"
		" LEFT JOIN modules e ON e.id = p.exe WHERE t.id = ?";
	static const char by_cgroup[] =
		"SELECT g.path, g.unit, c.id, c.runtime, c.container_id, c.name, c.image, c.pod, c.namespace,"
		" c.workload, c.labels FROM cgroups g LEFT JOIN containers c ON c.id = g.container WHERE "
		"g.id = ?";
	int code = hl_query_new(o->day->db, by_thread, &o->by_thread, err);

	if (!code)
		code = hl_query_new(o->day->db, by_cgroup, &o->by_cgroup, err);
	if (!code)
		code = hl_db_number(o->day->db, "SELECT max(id) FROM threads", &o->n_threads, err);
	if (!code && (o->n_threads < 0 || o->n_threads > MAX_ITEMS))
		code = hl_err_set(err, -EBADMSG, "its threads are not numbered in order");
	o->n_roots = DAY_ROOT_FIRST;
	if (!code &&
	    (find_hosts(o) || hl_grow(&o->roots, &o->cap_roots, o->n_roots, sizeof(*o->roots), MAX_ROOTS)))
		code = no_memory(err);
	return code;
}

int day_owners_new(struct day_reader *day, const struct hl_store_query *query, const char *event,
		   struct hl_profile *profile, struct day_owners **ret, struct hl_err *err)
{
	struct day_owners *o = calloc(1, sizeof(*o));
	int code;

	if (!o)
		return no_memory(err);
	o->day = day;
	o->query = query;
	o->event = event;
	o->profile = profile;
	code = prepare(o, err);
	if (code)
		day_owners_free(o);
	else
		*ret = o;
	return code;
}

/* ---- cgroups ------------------------------------------------------------------------------------------- */

/* A text of the row, or NULL where it holds none. It lives until the next step. */
static const char *text_of(const struct hl_query *query, int column)
{
	size_t len;

	return hl_query_value(query, column).type == HL_VALUE_NULL ? NULL
								   : hl_query_bytes(query, column, &len);
}

static const char *keep(struct day_owners *o, int column, int *code)
{
	const char *text = text_of(o->by_cgroup, column), *kept;

	kept = text ? hl_arena_copy(&o->strings, text, strlen(text)) : NULL;
	if (text && !kept)
		*code = -ENOMEM;
	return kept;
}

static int read_container(struct day_owners *o, struct hl_owner_container *c)
{
	const char *labels;
	size_t len;
	int code = 0;

	*c = (struct hl_owner_container){ .runtime = keep(o, 3, &code),
					  .id = keep(o, 4, &code),
					  .name = keep(o, 5, &code),
					  .image = keep(o, 6, &code),
					  .pod = keep(o, 7, &code),
					  .namespace = keep(o, 8, &code),
					  .workload = keep(o, 9, &code) };
	labels = hl_query_bytes(o->by_cgroup, 10, &len);
	return code ? code : hl_labels_decode(labels, len, &o->strings, &c->labels, &c->n_labels);
}

static int read_cgroup(struct day_owners *o, struct hl_owner_cgroup **ret)
{
	struct hl_owner_cgroup *cgroup = hl_arena_take(&o->strings, sizeof(*cgroup));
	struct hl_owner_container *container = hl_arena_take(&o->strings, sizeof(*container));
	int code = 0;

	if (!cgroup || !container)
		return -ENOMEM;
	*cgroup = (struct hl_owner_cgroup){ .path = keep(o, 0, &code), .unit = keep(o, 1, &code) };
	if (!code && !cgroup->path)
		code = -EBADMSG;
	if (!code && hl_query_value(o->by_cgroup, 2).type != HL_VALUE_NULL) {
		code = read_container(o, container);
		cgroup->container = container;
	}
	*ret = cgroup;
	return code;
}

/* Cgroup @number of the day; NULL for 0. */
static int get_cgroup(struct day_owners *o, int64_t number, const struct hl_owner_cgroup **ret,
		      struct hl_err *err)
{
	struct hl_owner_cgroup *cgroup;
	int code;

	if (number < 0 || number > MAX_CGROUPS)
		return hl_err_set(err, -EBADMSG, "its cgroup %lld is damaged", (long long)number);
	if (hl_grow(&o->cgroups, &o->cap_cgroups, (size_t)number + 1, sizeof(*o->cgroups), MAX_CGROUPS + 1))
		return no_memory(err);
	while (o->n_cgroups <= (size_t)number)
		o->cgroups[o->n_cgroups++] = NULL;
	*ret = o->cgroups[number];
	if (!number || *ret)
		return 0;
	hl_query_give(o->by_cgroup, hl_int(number));
	code = hl_query_step(o->by_cgroup, err);
	if (code < 0)
		return code;
	code = code == 1 ? read_cgroup(o, &cgroup) : -EBADMSG;
	hl_query_reset(o->by_cgroup);
	if (code == -EBADMSG)
		return hl_err_set(err, code, "its cgroup %lld is damaged", (long long)number);
	if (code)
		return no_memory(err);
	*ret = o->cgroups[number] = cgroup;
	return 0;
}

/* ---- roots --------------------------------------------------------------------------------------------- */

/* Frames of one root, as they come. */
struct making {
	struct hl_profile *profile;
	uint32_t frames[DAY_ROOT_MAX];
	uint32_t n;
};

static int push(void *ctx, const char *name, size_t len)
{
	struct making *m = ctx;
	const struct hl_frame frame = { .kind = HL_FRAME_ROOT, .name = name, .name_len = len, .module = "" };

	return m->n == DAY_ROOT_MAX ? -E2BIG : hl_profile_frame(m->profile, &frame, &m->frames[m->n++]);
}

static int push_text(struct making *m, const char *name)
{
	return push(m, name, strlen(name));
}

/* By process, where nobody says otherwise. */
static int push_process(const struct hl_owner *owner, struct making *m)
{
	_cleanup_str_ struct hl_str name = { 0 };
	int code;

	if (owner->kind == HL_OWNER_IDLE)
		return push_text(m, "[idle task]");
	code = owner->kind == HL_OWNER_KTHREAD ? push_text(m, "[kernel threads]") : 0;
	hl_str_add_unmarked(&name, owner->process, strlen(owner->process));
	if (!code)
		code = hl_str_status(&name);
	return code ? code : push(m, name.data ? name.data : "", name.len);
}

struct wanted {
	const struct day_owners *owners;
	const struct making *making;
};

static int is_wanted(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct root *root = &w->owners->roots[position];

	return root->n == w->making->n &&
	       memcmp(w->owners->frames + root->first, w->making->frames, root->n * sizeof(uint32_t)) == 0;
}

static int intern_root(struct day_owners *o, const struct making *m, uint32_t *ret)
{
	const struct wanted wanted = { o, m };
	uint64_t hash = hl_hash(m->frames, m->n * sizeof(m->frames[0]), 0);
	int code;

	*ret = hl_index_find(&o->root_index, hash, is_wanted, &wanted);
	if (*ret != HL_INDEX_NONE)
		return 0;
	code = hl_grow(&o->roots, &o->cap_roots, o->n_roots + 1, sizeof(*o->roots), MAX_ROOTS);
	if (!code)
		code = hl_grow(&o->frames, &o->cap_frames, o->n_frames + m->n, sizeof(*o->frames), MAX_ITEMS);
	if (!code)
		code = hl_index_add(&o->root_index, hash, (uint32_t)o->n_roots);
	if (code)
		return code;
	o->roots[o->n_roots] = (struct root){ (uint32_t)o->n_frames, m->n };
	memcpy(o->frames + o->n_frames, m->frames, m->n * sizeof(m->frames[0]));
	o->n_frames += m->n;
	*ret = (uint32_t)o->n_roots++;
	return 0;
}

static int make_root(struct day_owners *o, const struct hl_owner *owner, uint32_t *ret)
{
	struct making m = { .profile = o->profile };
	int code = o->query->root ? o->query->root(o->query->root_ctx, owner, push, &m)
				  : push_process(owner, &m);

	if (code == HL_ROOT_NOT_ASKED || code == HL_ROOT_EXCLUDED) {
		*ret = code == HL_ROOT_EXCLUDED ? DAY_ROOT_EXCLUDED : DAY_ROOT_NOT_ASKED;
		return 0;
	}
	return code ? code : intern_root(o, &m, ret);
}

/* The entry of a thread that was not met yet, which the row of by_thread is about. */
static int meet(struct day_owners *o, const struct host *host, uint32_t *ret, struct hl_err *err)
{
	const struct hl_query *q = o->by_thread;
	size_t len;
	struct hl_owner owner = { .thread = hl_query_bytes(q, 0, &len),
				  .kind = (uint8_t)hl_query_int(q, 1),
				  .pid = (uint32_t)hl_query_int(q, 2),
				  .exec_id = (uint32_t)hl_query_int(q, 3),
				  .started_ns = (uint64_t)hl_query_int(q, 4),
				  .process = hl_query_bytes(q, 5, &len),
				  .service = text_of(q, 7),
				  .exe = text_of(q, 8),
				  .host = host->name,
				  .event = o->event };
	uint32_t root;
	int code = get_cgroup(o, hl_query_int(q, 6), &owner.cgroup, err);

	if (code)
		return code;
	if (make_root(o, &owner, &root))
		return no_memory(err);
	*ret = root + 1;
	return 0;
}

int day_owners_root(struct day_owners *o, uint32_t source, uint32_t thread, uint32_t *ret, struct hl_err *err)
{
	struct host *host = &o->hosts[o->host_of_source[source]];
	int code;

	if (thread < 1 || thread > o->n_threads)
		return hl_err_set(err, -EBADMSG, "there is no thread %u", thread);
	if (!host->roots)
		host->roots = calloc((size_t)o->n_threads + 1, sizeof(*host->roots));
	if (!host->roots)
		return no_memory(err);
	if (!host->roots[thread]) {
		hl_query_give(o->by_thread, hl_int(thread));
		code = hl_query_step(o->by_thread, err);
		if (code == 0)
			code = hl_err_set(err, -EBADMSG, "there is no thread %u", thread);
		if (code == 1)
			code = meet(o, host, &host->roots[thread], err);
		hl_query_reset(o->by_thread);
		if (code)
			return code;
	}
	*ret = host->roots[thread] - 1;
	return 0;
}

const uint32_t *day_owners_frames(const struct day_owners *o, uint32_t root, uint32_t *ret_n)
{
	*ret_n = o->roots[root].n;
	return o->frames + o->roots[root].first;
}
