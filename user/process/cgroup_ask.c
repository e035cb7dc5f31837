// SPDX-License-Identifier: BSD-2-Clause
/*
 * Questions to runtimes. Each is put by whoever looks at a cgroup, and asked by a thread that does nothing else,
 * without the lock: a runtime that hangs keeps nobody waiting but those who want the answer, and them not for long.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/cgroup_entry.h"
#include "process/cgroup_path.h"
#include "process/container.h"
#include "process/container_socket.h"

bool hl_cgroup_is_to_ask(const struct hl_cgroup_entry *entry)
{
	return entry->question == HL_TO_ASK || entry->question == HL_TO_ASK_AGAIN;
}

static void set_question(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry, enum hl_question question,
			 uint64_t due_ns)
{
	cgroups->n_to_ask -= hl_cgroup_is_to_ask(entry);
	entry->question = question;
	entry->due_ns = due_ns;
	cgroups->n_to_ask += hl_cgroup_is_to_ask(entry);
}

int hl_cgroups_use_sockets(struct hl_cgroups *cgroups, const char *const *paths, size_t n)
{
	cgroups->ask_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cgroups->sockets = hl_container_sockets_new(paths, n);
	return cgroups->ask_fd < 0 || !cgroups->sockets ? -ENOMEM : 0;
}

int hl_cgroups_ask_fd(const struct hl_cgroups *cgroups)
{
	return cgroups->ask_fd;
}

void hl_cgroups_consider_asking(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry,
				const struct hl_cgroup_place *place, const struct hl_container *container)
{
	uint64_t one = 1;

	if (!container || container->described) {
		set_question(cgroups, entry, HL_NOT_ASKED, 0);
	} else if (cgroups->sockets && entry->question == HL_NOT_ASKED &&
		   hl_container_sockets_may_know(place)) {
		set_question(cgroups, entry, HL_TO_ASK, hl_monotonic_ns());
		(void)!write(cgroups->ask_fd, &one, sizeof(one));
	}
}

void hl_cgroups_end_question(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	set_question(cgroups, entry, HL_ASKED, 0);
}

/* The next that is due, one after the other; if none is, NULL, and when the first will be. */
static struct hl_cgroup_entry *find_question(struct hl_cgroups *cgroups, uint64_t *ret_due_ns)
{
	uint64_t now = hl_monotonic_ns();

	*ret_due_ns = UINT64_MAX;
	for (size_t i = 0; cgroups->n_to_ask && i < cgroups->n; i++) {
		size_t at = (cgroups->ask_from + i) % cgroups->n;
		struct hl_cgroup_entry *entry = cgroups->items[at];

		if (!hl_cgroup_is_to_ask(entry))
			continue;
		if (entry->due_ns <= now) {
			cgroups->ask_from = at + 1;
			return entry;
		}
		if (entry->due_ns < *ret_due_ns)
			*ret_due_ns = entry->due_ns;
	}
	return NULL;
}

static struct hl_container *container_of(const struct hl_cgroup_entry *entry)
{
	if (entry->late_answer)
		return entry->late_answer;
	return entry->path ? entry->container : entry->early;
}

/* What runtimes said of the container @id, of which there may be more cgroups. NULL: they were not asked. */
static struct hl_container *find_answer(const struct hl_cgroups *cgroups, const char *id)
{
	for (size_t i = 0; i < cgroups->n; i++) {
		const struct hl_cgroup_entry *entry = cgroups->items[i];
		struct hl_container *container = entry->question == HL_ASKED ? container_of(entry) : NULL;

		if (container && strcmp(container->id, id) == 0)
			return container;
	}
	return NULL;
}

/* What was given before stays as it is. */
static void take_answer(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry,
			struct hl_container *answer)
{
	struct hl_container **place = entry->path ? &entry->container : &entry->early;

	if (entry->path) {
		cgroups->stats.undescribed--;
		cgroups->stats.labels_dropped += answer->labels_dropped;
	}
	entry->early_whole = true;
	if (entry->path && entry->given) {
		entry->late_answer = answer;
		entry->later = entry->cgroup;
		entry->later.container = answer;
		return;
	}
	hl_container_free(*place);
	*place = answer;
	entry->cgroup.container = entry->container;
}

/* When to ask again: without an answer there may be no memory, too. */
static uint64_t due_again_ns(const struct hl_cgroups *cgroups)
{
	uint64_t due = hl_container_sockets_due_ns(cgroups->sockets);
	uint64_t least = hl_monotonic_ns() + HL_ASK_MS * UINT64_C(1000000);

	return due > least ? due : least;
}

/* Takes @answer. @entry is NULL, or needs none any more, if meanwhile it went, or a file was found. */
static void finish_question(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry, int code,
			    struct hl_container *answer)
{
	bool fits = entry && hl_cgroup_is_to_ask(entry);

	if (fits && answer)
		fits = strcmp(container_of(entry)->id, answer->id) == 0;
	if (fits)
		set_question(cgroups, entry, answer || code == -ENOENT ? HL_ASKED : HL_TO_ASK_AGAIN,
			     due_again_ns(cgroups));
	if (fits && answer)
		take_answer(cgroups, entry, answer);
	else
		hl_container_free(answer);
	(void)pthread_cond_broadcast(&cgroups->answered);
}

/* Does without asking: something is known of the container by another of its cgroups. */
static bool take_known(struct hl_cgroups *cgroups, struct hl_cgroup_entry *entry)
{
	struct hl_container *known = find_answer(cgroups, container_of(entry)->id);

	if (known)
		finish_question(cgroups, entry, -ENOENT, known->described ? hl_container_share(known) : NULL);
	return known != NULL;
}

static int wait_ms_until(uint64_t due_ns)
{
	uint64_t now = hl_monotonic_ns();

	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns > now ? (int)((due_ns - now) / 1000000) + 1 : 0;
}

int hl_cgroups_ask(struct hl_cgroups *cgroups)
{
	_cleanup_free_ char *path = NULL;
	struct hl_container *answer = NULL;
	struct hl_cgroup_place place;
	struct hl_cgroup_entry *entry;
	uint64_t id = 0, due_ns, count;
	const char *why;
	uint8_t kind = 0;
	bool known;
	int code;

	(void)!read(cgroups->ask_fd, &count, sizeof(count));
	(void)pthread_mutex_lock(&cgroups->lock);
	entry = find_question(cgroups, &due_ns);
	known = entry && take_known(cgroups, entry);
	if (entry && !known) {
		id = entry->cgroup.id;
		kind = entry->cgroup.kind;
		path = strdup(entry->path ? entry->path : entry->expected);
	}
	(void)pthread_mutex_unlock(&cgroups->lock);
	if (known)
		return 0;
	if (!path)
		return entry ? HL_ASK_MS : wait_ms_until(due_ns);
	hl_cgroup_parse(path, &place);
	code = hl_container_sockets_ask(cgroups->sockets, cgroups->root_fd, &place, &answer);
	(void)pthread_mutex_lock(&cgroups->lock);
	finish_question(cgroups, hl_cgroups_find(cgroups, kind, id), code, answer);
	cgroups->stats.failures = hl_container_sockets_failures(cgroups->sockets, &why);
	(void)snprintf(cgroups->stats.failure, sizeof(cgroups->stats.failure), "%s", why);
	(void)pthread_mutex_unlock(&cgroups->lock);
	return 0;
}
