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

enum { MAX_ITEMS = 1 << 28, MAX_MET = 1 << 24, MAX_ROOTS = 1 << 24 };

/* Frames that stand for an owner at the start of its stacks. */
struct root {
	uint32_t first, n; /* of the frames */
};

/* Threads as one host has them: with stores of several hosts in one day, each has other roots. */
struct host {
	const char *name;
	uint32_t *roots; /* by thread: one more than its root; 0: it was not met yet */
};

/* What was read of a table, by number; NULL: not met yet. */
struct met {
	const void **items;
	size_t cap, n;
};

struct day_owners {
	struct day_reader *day;
	const struct hl_store_query *query;
	const char *event;
	struct hl_profile *profile;
	int64_t n_threads;
	struct host *hosts;
	uint32_t *host_of_source;
	size_t n_hosts;
	struct met cgroups, services, modules;
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
	for (size_t i = 0; i < o->n_hosts; i++)
		free(o->hosts[i].roots);
	free(o->hosts);
	free(o->host_of_source);
	free(o->cgroups.items);
	free(o->services.items);
	free(o->modules.items);
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

		while (host < o->n_hosts && o->hosts[host].name &&
		       strcmp(o->hosts[host].name, day->sources[i].host) != 0)
			host++;
		if (host == o->n_hosts)
			o->hosts[o->n_hosts++].name = day->sources[i].host;
		o->host_of_source[i] = host;
	}
	return 0;
}

static int prepare(struct day_owners *o, struct hl_err *err)
{
	int code = hl_db_number(o->day->db, "SELECT max(id) FROM threads", &o->n_threads, err);

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

static const char *keep(struct day_owners *o, const struct hl_query *query, int column, int *code)
{
	const char *text = text_of(query, column), *kept;

	kept = text ? hl_arena_copy(&o->strings, text, strlen(text)) : NULL;
	if (text && !kept)
		*code = -ENOMEM;
	return kept;
}

static int read_container(struct day_owners *o, uint32_t number, struct hl_owner_cgroup *cgroup,
			  struct hl_err *err)
{
	struct hl_owner_container *c = hl_arena_take(&o->strings, sizeof(*c));
	const struct hl_query *q;
	const char *labels;
	size_t len;
	int code = hl_rows_get(o->day->rows, HL_TABLE_CONTAINERS, number, &q, err);

	if (code)
		return code;
	if (!c)
		return no_memory(err);
	*c = (struct hl_owner_container){ .runtime = keep(o, q, 1, &code),
					  .id = keep(o, q, 2, &code),
					  .name = keep(o, q, 3, &code),
					  .image = keep(o, q, 4, &code),
					  .pod = keep(o, q, 5, &code),
					  .namespace = keep(o, q, 6, &code),
					  .workload = keep(o, q, 7, &code) };
	labels = hl_query_bytes(q, 8, &len);
	if (!code)
		code = hl_labels_decode(labels, len, &o->strings, &c->labels, &c->n_labels);
	if (code == -EBADMSG)
		return hl_err_set(err, code, "the labels of its container %u are damaged", number);
	cgroup->container = c;
	return code ? no_memory(err) : 0;
}

static int read_cgroup(struct day_owners *o, uint32_t number, struct hl_owner_cgroup **ret,
		       struct hl_err *err)
{
	struct hl_owner_cgroup *cgroup = hl_arena_take(&o->strings, sizeof(*cgroup));
	const struct hl_query *q;
	int64_t container;
	int code = hl_rows_get(o->day->rows, HL_TABLE_CGROUPS, number, &q, err);

	if (code)
		return code;
	if (!cgroup)
		return no_memory(err);
	*cgroup = (struct hl_owner_cgroup){ .path = keep(o, q, 1, &code), .unit = keep(o, q, 2, &code) };
	container = hl_query_int(q, 3);
	if (code)
		return no_memory(err);
	if (!cgroup->path || container < 0 || container > UINT32_MAX)
		return hl_err_set(err, -EBADMSG, "its cgroup %u is damaged", number);
	*ret = cgroup;
	return container ? read_container(o, (uint32_t)container, cgroup, err) : 0;
}

/* Makes room for @number of a table. */
static int make_room(struct met *met, int64_t number, struct hl_err *err)
{
	if (number < 0 || number > MAX_MET)
		return hl_err_set(err, -EBADMSG, "its processes are damaged");
	if (hl_grow(&met->items, &met->cap, (size_t)number + 1, sizeof(*met->items), MAX_MET + 1))
		return no_memory(err);
	while (met->n <= (size_t)number)
		met->items[met->n++] = NULL;
	return 0;
}

/* Cgroup @number of the day; NULL for 0. */
static int get_cgroup(struct day_owners *o, int64_t number, const struct hl_owner_cgroup **ret,
		      struct hl_err *err)
{
	struct hl_owner_cgroup *cgroup = NULL;
	int code = make_room(&o->cgroups, number, err);

	if (!code && number && !o->cgroups.items[number]) {
		code = read_cgroup(o, (uint32_t)number, &cgroup, err);
		o->cgroups.items[number] = cgroup;
	}
	if (!code)
		*ret = o->cgroups.items[number];
	return code;
}

/* ---- roots --------------------------------------------------------------------------------------------- */

/* Frames of one root, as they come. */
struct making {
	struct hl_profile *profile;
	bool keyed;
	uint32_t frames[DAY_ROOT_MAX];
	uint32_t n;
};

static int push(void *ctx, const char *name, size_t len)
{
	struct making *m = ctx;
	struct hl_frame frame = { .kind = HL_FRAME_ROOT, .name = name, .name_len = len, .module = "" };
	const char *equals = m->keyed ? memchr(name, '=', len) : NULL;

	if (equals) {
		frame.module = name;
		frame.module_len = (size_t)(equals - name);
	}
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
	struct making m = { .profile = o->profile, .keyed = o->query->keyed };
	int code = o->query->root ? o->query->root(o->query->root_ctx, owner, push, &m)
				  : push_process(owner, &m);

	if (code == HL_ROOT_NOT_ASKED || code == HL_ROOT_EXCLUDED) {
		*ret = code == HL_ROOT_EXCLUDED ? DAY_ROOT_EXCLUDED : DAY_ROOT_NOT_ASKED;
		return 0;
	}
	return code ? code : intern_root(o, &m, ret);
}

/* The text of the row @number in the second column of @table; NULL for 0. */
static int get_text(struct day_owners *o, struct met *met, enum hl_table table, int64_t number,
		    const char **ret, struct hl_err *err)
{
	const struct hl_query *q;
	int code = make_room(met, number, err);

	if (!code && number && !met->items[number]) {
		code = hl_rows_get(o->day->rows, table, (uint32_t)number, &q, err);
		if (!code)
			met->items[number] = keep(o, q, 1, &code);
		if (code == -ENOMEM)
			return no_memory(err);
	}
	if (!code)
		*ret = met->items[number];
	return code;
}

/* The entry of a thread that was not met yet. */
static int meet(struct day_owners *o, const struct host *host, uint32_t thread, uint32_t *ret,
		struct hl_err *err)
{
	struct hl_owner owner = { .host = host->name, .event = o->event };
	const struct hl_query *t, *p;
	uint32_t root;
	size_t len;
	int code = hl_rows_get(o->day->rows, HL_TABLE_THREADS, thread, &t, err);

	if (!code)
		code = hl_rows_get(o->day->rows, HL_TABLE_PROCESSES, (uint32_t)hl_query_int(t, 1), &p, err);
	if (code)
		return code;
	owner.thread = hl_query_bytes(t, 2, &len);
	owner.kind = (uint8_t)hl_query_int(p, 1);
	owner.pid = (uint32_t)hl_query_int(p, 2);
	owner.exec_id = (uint32_t)hl_query_int(p, 3);
	owner.started_ns = (uint64_t)hl_query_int(p, 4);
	owner.process = hl_query_bytes(p, 5, &len);
	code = get_cgroup(o, hl_query_int(p, 6), &owner.cgroup, err);
	if (!code)
		code = get_text(o, &o->services, HL_TABLE_SERVICES, hl_query_int(p, 7), &owner.service, err);
	if (!code)
		code = get_text(o, &o->modules, HL_TABLE_MODULES, hl_query_int(p, 8), &owner.exe, err);
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
	int code = 0;

	if (thread < 1 || thread > o->n_threads)
		return hl_err_set(err, -EBADMSG, "there is no thread %u", thread);
	if (!host->roots)
		host->roots = calloc((size_t)o->n_threads + 1, sizeof(*host->roots));
	if (!host->roots)
		return no_memory(err);
	if (!host->roots[thread])
		code = meet(o, host, thread, &host->roots[thread], err);
	if (!code)
		*ret = host->roots[thread] - 1;
	return code;
}

int day_owners_piece(struct day_owners *o, uint64_t piece, uint32_t *ret)
{
	const struct hl_frame frame = { .kind = HL_FRAME_ROOT, .name = "", .module = "", .address = piece };
	struct making m = { .profile = o->profile, .n = 1 };
	int code = hl_profile_frame(o->profile, &frame, &m.frames[0]);

	return code ? code : intern_root(o, &m, ret);
}

const uint32_t *day_owners_frames(const struct day_owners *o, uint32_t root, uint32_t *ret_n)
{
	*ret_n = o->roots[root].n;
	return o->frames + o->roots[root].first;
}
