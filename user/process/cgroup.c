// SPDX-License-Identifier: BSD-2-Clause
#include "process/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "process/cgroup_entry.h"
#include "process/cgroup_mounts.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "process/container_socket.h"
#include "sample/window.h"

/* A cgroup whose processes end before they can be read is tried this often, with one process each time. */
enum { CGROUPS_MAX = 65536, MAX_TRIES = 5, EXPECTED_MAX = 4096 };

#define HOST_PID_NS UINT64_C(0xeffffffc) /* PROC_PID_INIT_INO in linux/proc_ns.h */

/* What was seen when it was made counts no more. */
static void forget_expected(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	if (!entry->expected)
		return;
	cgroups->n_expected--;
	hl_container_free(entry->early);
	free(entry->expected);
	entry->early = NULL;
	entry->expected = NULL;
}

static void free_entry(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	hl_cgroups_end_question(cgroups, entry);
	forget_expected(cgroups, entry);
	hl_container_free(entry->late_answer);
	hl_container_free(entry->container);
	free(entry->path);
	free(entry->unit);
	free(entry);
}

struct hl_cgroups *hl_cgroups_new(int proc_fd, struct hl_reach *reach)
{
	struct hl_cgroups *cgroups = calloc(1, sizeof(*cgroups));
	pthread_condattr_t attributes;

	if (!cgroups)
		return NULL;
	cgroups->reach = reach;
	cgroups->ask_fd = -1;
	/* None of these can fail. */
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&cgroups->answered, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	(void)pthread_mutex_init(&cgroups->lock, NULL); /* cannot fail */
	hl_cgroup_mounts_find(&cgroups->mounts, proc_fd);
	cgroups->root_fd = openat(proc_fd, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cgroups->root_fd < 0)
		cgroups->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cgroups;
}

void hl_cgroups_free(struct hl_cgroups *cgroups)
{
	if (!cgroups)
		return;
	for (size_t i = 0; i < cgroups->n; i++)
		free_entry(cgroups, cgroups->items[i]);
	free(cgroups->items);
	hl_index_done(&cgroups->index);
	hl_cgroup_mounts_done(&cgroups->mounts);
	hl_container_sockets_free(cgroups->sockets);
	hl_cleanup_close(&cgroups->ask_fd);
	hl_cleanup_close(&cgroups->root_fd);
	(void)pthread_cond_destroy(&cgroups->answered);
	(void)pthread_mutex_destroy(&cgroups->lock);
	free(cgroups);
}

struct wanted {
	struct hl_cgroup_entry *const *items;
	uint64_t id;
	uint8_t kind;
};

static int is_same(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;
	const struct hl_cgroup *cgroup = &w->items[position]->cgroup;

	return cgroup->id == w->id && cgroup->kind == w->kind;
}

struct hl_cgroup_entry *hl_cgroups_find(const struct hl_cgroups *cgroups, uint8_t kind, uint64_t id)
{
	struct wanted wanted = { cgroups->items, id, kind };
	uint32_t at = hl_index_find(&cgroups->index, hl_mix(id ^ kind), is_same, &wanted);

	return at == HL_INDEX_NONE ? NULL : cgroups->items[at];
}

/* The entry of a cgroup, made if it is new; NULL without room. */
static struct hl_cgroup_entry *get_entry(struct hl_cgroups *cgroups, uint8_t kind, uint64_t id)
{
	struct hl_cgroup_entry *entry = hl_cgroups_find(cgroups, kind, id);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry ||
	    hl_grow(&cgroups->items, &cgroups->cap, cgroups->n + 1, sizeof(struct hl_cgroup_entry *),
		    CGROUPS_MAX) ||
	    hl_index_add(&cgroups->index, hl_mix(id ^ kind), (uint32_t)cgroups->n)) {
		cgroups->stats.dropped++;
		free(entry);
		return NULL;
	}
	entry->cgroup.id = id;
	entry->cgroup.kind = kind;
	cgroups->items[cgroups->n++] = entry;
	return entry;
}

/* ---- one cgroup ------------------------------------------------------------------------------------------ */

static void describe(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	struct hl_err err = { "" };
	struct hl_cgroup_place place;

	hl_cgroup_parse(entry->path, &place);
	if (place.unit.at)
		entry->unit = strndup(place.unit.at, place.unit.len);
	if (place.runtime && !entry->container &&
	    hl_container_read(cgroups->reach, cgroups->root_fd, &place, &entry->container, &err) &&
	    !cgroups->stats.refused++) {
		(void)snprintf(cgroups->stats.why, sizeof(cgroups->stats.why), "%.199s",
			       err.text[0] ? err.text : "no memory");
		hl_debug("process", "container: %s", cgroups->stats.why);
	}
	entry->cgroup.unit = entry->unit;
	entry->cgroup.container = entry->container;
	hl_cgroups_consider_asking(cgroups, entry, &place, entry->container);
	if (!entry->container)
		return;
	cgroups->stats.containers++;
	cgroups->stats.undescribed += !entry->container->described;
	cgroups->stats.labels_dropped += entry->container->labels_dropped;
}

static void set_path(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry, const char *path)
{
	entry->path = strdup(path);
	entry->cgroup.path = entry->path;
	if (!entry->path)
		return;
	/* What its runtime had written by then is all of it, and may be removed by now. */
	if (entry->expected && entry->early && entry->early->described && entry->early_whole &&
	    strcmp(entry->expected, path) == 0)
		entry->container = TAKE_PTR(entry->early);
	describe(cgroups, entry);
	forget_expected(cgroups, entry);
}

/* It is gone: what was seen when it was made is all that will be known. */
static void take_expected(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	entry->path = TAKE_PTR(entry->expected);
	entry->container = TAKE_PTR(entry->early);
	entry->cgroup.path = entry->path;
	cgroups->n_expected--;
	describe(cgroups, entry);
}

void hl_cgroups_expect(struct hl_cgroups *cgroups, uint8_t kind, const char *path)
{
	struct hl_cgroup_place place;
	struct hl_cgroup_entry *entry;
	uint64_t id;

	hl_cgroup_parse(path, &place);
	(void)pthread_mutex_lock(&cgroups->lock);
	id = hl_cgroup_id_at(&cgroups->mounts, kind, path);
	entry = id && cgroups->n_expected < EXPECTED_MAX ? get_entry(cgroups, kind, id) : NULL;
	if (entry && !entry->path && !entry->expected) {
		entry->used_ns = hl_monotonic_ns();
		entry->expected = strdup(path);
		cgroups->n_expected += entry->expected != NULL;
		/* What fails now is tried again when there is a sample. */
		if (entry->expected && place.runtime)
			entry->early_whole = !hl_container_read(cgroups->reach, cgroups->root_fd, &place,
								&entry->early, NULL);
		hl_cgroups_consider_asking(cgroups, entry, &place, entry->early);
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
}

/*
 * By its id a cgroup is found for as long as it is there, whoever is in it. By a process it is found while that
 * lives, and only if it did not move meanwhile.
 */
static void resolve(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry, pid_t pid)
{
	const struct hl_cgroup *c = &entry->cgroup;
	_cleanup_str_ struct hl_str path = { 0 };
	uint64_t id;
	int code;

	if (entry->path || entry->tries == MAX_TRIES)
		return;
	entry->tries++;
	code = hl_cgroup_path_by_id(&cgroups->mounts, c->kind, c->id, &path);
	if (code && entry->expected) {
		take_expected(cgroups, entry);
		return;
	}
	if (code) {
		hl_str_clear(&path);
		code = hl_cgroup_path_of(&cgroups->mounts, pid, c->kind, &path);
		id = code || c->kind == HL_CGROUP_PID_NS
			     ? 0
			     : hl_cgroup_id_at(&cgroups->mounts, c->kind, path.data);
		/* 0: it is gone already, or not to be seen from here; then the process is believed. */
		if (id && id != c->id)
			code = -ESTALE;
	}
	if (!code)
		set_path(cgroups, entry, path.data);
}

/*
 * A pid namespace tells containers apart where no cgroup does. The host's own tells nothing; in another all
 * processes are of one container, whose name may stand in a hierarchy that is not asked else.
 */
static void resolve_namespace(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry, pid_t pid)
{
	_cleanup_str_ struct hl_str path = { 0 };
	char name[32], link[64], want[64];
	ssize_t n;

	if (entry->path || entry->tries == MAX_TRIES)
		return;
	entry->tries++;
	(void)snprintf(name, sizeof(name), "%d/ns/pid", (int)pid);
	(void)snprintf(want, sizeof(want), "pid:[%llu]", (unsigned long long)entry->cgroup.id);
	n = readlinkat(cgroups->mounts.proc_fd, name, link, sizeof(link) - 1);
	link[n < 0 ? 0 : n] = '\0';
	if (entry->cgroup.id == HOST_PID_NS)
		set_path(cgroups, entry, "/");
	else if (strcmp(link, want) == 0)
		set_path(cgroups, entry,
			 hl_cgroup_path_of(&cgroups->mounts, pid, HL_CGROUP_PID_NS, &path) ? "/" : path.data);
}

void hl_cgroups_look(struct hl_cgroups *cgroups, const struct hl_window *window, size_t first)
{
	uint64_t now = hl_monotonic_ns();
	const struct hl_count_key *last = NULL;

	(void)pthread_mutex_lock(&cgroups->lock);
	for (size_t i = first; i < window->n_samples; i++) {
		const struct hl_count_key *key = &window->samples[i].key;
		struct hl_cgroup_entry *entry;

		if (last && last->cgroup == key->cgroup && last->cgroup_kind == key->cgroup_kind &&
		    last->process.tgid == key->process.tgid)
			continue;
		last = key;
		entry = get_entry(cgroups, key->cgroup_kind, key->cgroup);
		if (!entry)
			continue;
		entry->used_ns = now;
		if (key->cgroup_kind == HL_CGROUP_PID_NS)
			resolve_namespace(cgroups, entry, (pid_t)key->process.tgid);
		else
			resolve(cgroups, entry, (pid_t)key->process.tgid);
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
}

/* Which of its cgroups a process's samples name, as bpf/task.bpf.h does. */
void hl_cgroups_look_at(struct hl_cgroups *cgroups, pid_t pid)
{
	(void)pthread_mutex_lock(&cgroups->lock);
	for (int i = HL_CGROUP_V2; i <= HL_CGROUP_V1_MEMORY; i++) {
		uint8_t kind = (uint8_t)i;
		_cleanup_str_ struct hl_str path = { 0 };
		struct hl_cgroup_entry *entry;
		uint64_t id;

		if (hl_cgroup_path_of(&cgroups->mounts, pid, kind, &path) || strcmp(path.data, "/") == 0)
			continue;
		id = hl_cgroup_id_at(&cgroups->mounts, kind, path.data);
		entry = id ? get_entry(cgroups, kind, id) : NULL;
		if (entry) {
			entry->used_ns = hl_monotonic_ns();
			if (!entry->path)
				set_path(cgroups, entry, path.data);
		}
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
}

/* ---- all of them ------------------------------------------------------------------------------------------ */

const struct hl_cgroup *hl_cgroups_get(struct hl_cgroups *cgroups, uint8_t kind, uint64_t id)
{
	const struct hl_cgroup *cgroup = NULL;
	struct hl_cgroup_entry *entry;

	(void)pthread_mutex_lock(&cgroups->lock);
	while ((entry = hl_cgroups_find(cgroups, kind, id)) && entry->question == HL_TO_ASK) {
		uint64_t until_ns = entry->due_ns + HL_ASK_MS * UINT64_C(1000000);
		struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
					  .tv_nsec = (long)(until_ns % 1000000000) };

		/* It may be gone, or the array be elsewhere, when this returns. */
		if (pthread_cond_timedwait(&cgroups->answered, &cgroups->lock, &until))
			break;
	}
	entry = hl_cgroups_find(cgroups, kind, id);
	if (entry) {
		entry->given = true;
		cgroup = entry->late_answer ? &entry->later : &entry->cgroup;
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
	return cgroup;
}

void hl_cgroups_expire(struct hl_cgroups *cgroups, uint64_t before_ns)
{
	size_t kept = 0;

	(void)pthread_mutex_lock(&cgroups->lock);
	hl_index_clear(&cgroups->index);
	for (size_t i = 0; i < cgroups->n; i++) {
		struct hl_cgroup_entry *entry = cgroups->items[i];
		const struct hl_cgroup *c = &entry->cgroup;

		/* No place can be lacking: as many had one before. */
		if (entry->used_ns < before_ns ||
		    hl_index_add(&cgroups->index, hl_mix(c->id ^ c->kind), (uint32_t)kept))
			free_entry(cgroups, entry);
		else
			cgroups->items[kept++] = entry;
	}
	cgroups->n = kept;
	(void)pthread_mutex_unlock(&cgroups->lock);
}

void hl_cgroups_stats(struct hl_cgroups *cgroups, struct hl_cgroups_stats *ret)
{
	(void)pthread_mutex_lock(&cgroups->lock);
	*ret = cgroups->stats;
	ret->n = cgroups->n - cgroups->n_expected;
	for (size_t i = 0; i < cgroups->n; i++) {
		ret->unknown += !cgroups->items[i]->path && !cgroups->items[i]->expected;
		ret->unanswered += cgroups->items[i]->path && hl_cgroup_is_to_ask(cgroups->items[i]);
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
}
