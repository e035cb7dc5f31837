// SPDX-License-Identifier: BSD-2-Clause
#include "process/running.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "process/proc.h"

/* A file as a maps file names it. */
struct place {
	uint64_t device, inode;
};

struct walk {
	int proc_fd;
	pid_t pid;
	struct place *seen;
	size_t n, cap, limit;
	struct hl_index index;
	void (*each)(void *ctx, int fd);
	void *ctx;
};

struct wanted {
	const struct place *seen;
	struct place place;
};

static int same_place(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->seen[position], &w->place, sizeof(w->place)) == 0;
}

/* True the first time that it sees the file. */
static bool is_new(struct walk *w, struct place place)
{
	struct wanted wanted = { w->seen, place };
	uint64_t hash = hl_hash(&place, sizeof(place), 0);

	if (hl_index_find(&w->index, hash, same_place, &wanted) != HL_INDEX_NONE ||
	    hl_grow(&w->seen, &w->cap, w->n + 1, sizeof(*w->seen), w->limit) ||
	    hl_index_add(&w->index, hash, (uint32_t)w->n))
		return false;
	w->seen[w->n++] = place;
	return true;
}

static bool open_mapping(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct walk *w = ctx;
	_cleanup_close_ int path_fd = -1, fd = -1;
	struct stat st;
	char name[96];

	if (!mapping->exec || !mapping->inode ||
	    !is_new(w, (struct place){ mapping->device, mapping->inode }))
		return true;
	(void)snprintf(name, sizeof(name), "%d/map_files/%lx-%lx", (int)w->pid, mapping->start, mapping->end);
	path_fd = openat(w->proc_fd, name, O_PATH | O_CLOEXEC);
	fd = path_fd < 0 ? -1 : hl_proc_reopen(path_fd, &st);
	if (fd >= 0)
		w->each(w->ctx, fd);
	return true;
}

static void walk_process(void *ctx, pid_t pid)
{
	struct walk *w = ctx;
	char name[32];

	w->pid = pid;
	(void)snprintf(name, sizeof(name), "%d/maps", (int)pid);
	(void)hl_proc_maps(w->proc_fd, name, open_mapping, w);
}

int hl_running_files(int proc_fd, const pid_t *pids, size_t n_pids, size_t limit,
		     void (*each)(void *ctx, int fd), void *ctx)
{
	struct walk w = { .proc_fd = proc_fd, .limit = limit, .each = each, .ctx = ctx };
	int code = pids ? 0 : hl_proc_each(proc_fd, walk_process, &w);

	for (size_t i = 0; pids && i < n_pids; i++)
		walk_process(&w, pids[i]);
	free(w.seen);
	hl_index_done(&w.index);
	return code ? code : (int)w.n;
}
