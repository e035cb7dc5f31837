// SPDX-License-Identifier: BSD-2-Clause
#include "process/cgroup_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "process/cgroup.h"
#include "process/cgroup_mounts.h"
#include "process/cgroup_path.h"
#include "sample/window.h"

/*
 * A cgroup is made by mkdir, and inotify tells of that as of any other directory. Each directory needs a watch of
 * its own, so that a new one is watched at once, and then searched for what was made in it meanwhile. Below what a
 * container makes itself nothing is watched: it may make as many as it likes. For the same reason no more are looked
 * at in a second than hosts ever start. What is missed is found by its samples, if it lives until then.
 */

enum { MAX_WATCHED = 4096, MAX_A_SECOND = 500, MAX_PENDING = 65536 };

struct watched {
	int wd;
	uint8_t kind; /* enum hl_cgroup_kind: the hierarchy */
	char *path;   /* in its hierarchy; "" is the root */
};

struct hl_cgroup_watch {
	struct hl_cgroups *cgroups;
	struct hl_cgroup_mounts mounts;
	int fd;
	struct watched *items; /* by wd */
	size_t n, cap;
	uint64_t second; /* of the last look; how many there were in it */
	unsigned int in_second;
};

/* ---- which directories there are ------------------------------------------------------------------------- */

/* Where @wd stands, or belongs. */
static size_t place_of(const struct hl_cgroup_watch *w, int wd)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->items[middle].wd < wd)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void forget(struct hl_cgroup_watch *w, int wd)
{
	size_t at = place_of(w, wd);

	if (at == w->n || w->items[at].wd != wd)
		return;
	free(w->items[at].path);
	memmove(&w->items[at], &w->items[at + 1], (w->n - at - 1) * sizeof(*w->items));
	w->n--;
}

/* How to reach @path of a hierarchy, whatever is mounted over it by now. */
static int name_of(const struct hl_cgroup_watch *w, uint8_t kind, const char *path, struct hl_str *ret)
{
	hl_str_clear(ret);
	hl_str_addf(ret, "/proc/self/fd/%d%s", w->mounts.fds[kind], *path ? path : "/");
	return hl_str_status(ret);
}

/* True: it is watched, and was not before. */
static bool watch(struct hl_cgroup_watch *w, uint8_t kind, const char *path, struct hl_str *room)
{
	struct watched item = { .kind = kind };
	size_t at;

	if (name_of(w, kind, path, room) ||
	    hl_grow(&w->items, &w->cap, w->n + 1, sizeof(*w->items), MAX_WATCHED))
		return false;
	item.wd = inotify_add_watch(w->fd, room->data, IN_CREATE | IN_ONLYDIR | IN_DONT_FOLLOW);
	if (item.wd < 0)
		return false;
	at = place_of(w, item.wd);
	if (at < w->n && w->items[at].wd == item.wd)
		return false;
	item.path = strdup(path);
	if (!item.path) {
		(void)inotify_rm_watch(w->fd, item.wd);
		return false;
	}
	memmove(&w->items[at + 1], &w->items[at], (w->n - at) * sizeof(*w->items));
	w->items[at] = item;
	w->n++;
	return true;
}

/* ---- what is made ---------------------------------------------------------------------------------------- */

static bool may_look(struct hl_cgroup_watch *w)
{
	uint64_t second = hl_monotonic_ns() / 1000000000;

	if (second != w->second) {
		w->second = second;
		w->in_second = 0;
	}
	return w->in_second++ < MAX_A_SECOND;
}

/* Directories that are yet to be watched. */
struct pending {
	char **paths;
	size_t n, cap;
};

static void push(struct pending *pending, const char *parent, const char *name)
{
	_cleanup_str_ struct hl_str path = { 0 };

	hl_str_addf(&path, "%s%s%s", parent, *name ? "/" : "", name);
	if (!hl_str_status(&path) &&
	    !hl_grow(&pending->paths, &pending->cap, pending->n + 1, sizeof(char *), MAX_PENDING))
		pending->paths[pending->n++] = TAKE_PTR(path.data);
}

static void push_children(const char *dir_name, const char *path, struct pending *pending)
{
	_cleanup_closedir_ DIR *dir = opendir(dir_name);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			push(pending, path, entry->d_name);
}

/*
 * Watches @name in @parent and what is below it; of what is @made just now the cgroups are told. A container's own
 * directory is watched, since some runtimes make one in it for its processes, but not those in there.
 */
static void add(struct hl_cgroup_watch *w, uint8_t kind, const char *parent, const char *name, bool made)
{
	struct pending pending = { 0 };
	_cleanup_str_ struct hl_str room = { 0 };

	push(&pending, parent, name);
	while (pending.n) {
		_cleanup_free_ char *path = pending.paths[--pending.n];
		struct hl_cgroup_place place;

		hl_cgroup_parse(path, &place);
		if (made && may_look(w))
			hl_cgroups_expect(w->cgroups, kind, path);
		/* The container's own is the one whose path ends with it. */
		if (place.runtime && strchr(place.id.at, '/'))
			continue;
		if (watch(w, kind, path, &room))
			push_children(room.data, path, &pending);
	}
	free(pending.paths);
}

static void take_event(struct hl_cgroup_watch *w, const struct inotify_event *event)
{
	size_t at = place_of(w, event->wd);
	_cleanup_free_ char *parent = NULL;

	if (event->mask & IN_Q_OVERFLOW)
		hl_debug("process", "cgroups were made faster than they could be looked at");
	if (event->mask & IN_IGNORED)
		forget(w, event->wd);
	else if ((event->mask & IN_CREATE) && (event->mask & IN_ISDIR) && event->len && at < w->n &&
		 w->items[at].wd == event->wd) {
		/* A copy, since items move. */
		parent = strdup(w->items[at].path);
		if (parent)
			add(w, w->items[at].kind, parent, event->name, /* made= */ true);
	}
}

void hl_cgroup_watch_take(struct hl_cgroup_watch *w)
{
	char room[16 << 10] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while (w->fd >= 0 && (n = read(w->fd, room, sizeof(room))) > 0)
		for (const char *at = room; at < room + n;) {
			const struct inotify_event *event = (const void *)at;

			take_event(w, event);
			at += sizeof(*event) + event->len;
		}
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

struct hl_cgroup_watch *hl_cgroup_watch_new(struct hl_cgroups *cgroups, int proc_fd)
{
	struct hl_cgroup_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->cgroups = cgroups;
	hl_cgroup_mounts_find(&w->mounts, proc_fd);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (uint8_t kind = HL_CGROUP_V2; w->fd >= 0 && kind <= HL_CGROUP_V1_MEMORY; kind++)
		if (w->mounts.fds[kind] >= 0)
			add(w, kind, "", "", /* made= */ false);
	return w;
}

void hl_cgroup_watch_free(struct hl_cgroup_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->items[i].path);
	free(w->items);
	hl_cleanup_close(&w->fd);
	hl_cgroup_mounts_done(&w->mounts);
	free(w);
}

int hl_cgroup_watch_fd(const struct hl_cgroup_watch *w)
{
	return w->fd;
}
