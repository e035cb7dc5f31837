// SPDX-License-Identifier: BSD-2-Clause
#include "process/running.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"

/* A file as a maps file names it. */
struct place {
	uint64_t device, inode;
};

struct walk {
	int proc_fd;
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

static void open_mapping(struct walk *w, const char *pid, unsigned long start, unsigned long end)
{
	_cleanup_close_ int path_fd = -1, fd = -1;
	char name[96];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s/map_files/%lx-%lx", pid, start, end);
	path_fd = openat(w->proc_fd, name, O_PATH | O_CLOEXEC);
	/* Opening a FIFO or a device can block or act, so what it is comes first. */
	if (path_fd < 0 || fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		w->each(w->ctx, fd);
}

static void walk_process(struct walk *w, const char *pid)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long start, end, inode;
	unsigned int major, minor;
	size_t size = 0;
	char name[64], perms[8];
	int fd;

	(void)snprintf(name, sizeof(name), "%.20s/maps", pid);
	fd = openat(w->proc_fd, name, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		hl_cleanup_close(&fd);
		return;
	}
	while (getline(&line, &size, f) > 0)
		if (sscanf(line, "%lx-%lx %7s %*x %x:%x %lu", &start, &end, perms, &major, &minor, &inode) ==
			    6 &&
		    perms[2] == 'x' && inode &&
		    is_new(w, (struct place){ (uint64_t)major << 32 | minor, inode }))
			open_mapping(w, pid, start, end);
}

static int walk_all(struct walk *w)
{
	int fd = openat(w->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int code = -errno;

		hl_cleanup_close(&fd);
		return code;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			walk_process(w, entry->d_name);
	return 0;
}

int hl_running_files(int proc_fd, const pid_t *pids, size_t n_pids, size_t limit,
		     void (*each)(void *ctx, int fd), void *ctx)
{
	struct walk w = { .proc_fd = proc_fd, .limit = limit, .each = each, .ctx = ctx };
	int code = 0;
	char pid[24];

	if (!pids)
		code = walk_all(&w);
	for (size_t i = 0; pids && i < n_pids; i++) {
		(void)snprintf(pid, sizeof(pid), "%d", (int)pids[i]);
		walk_process(&w, pid);
	}
	free(w.seen);
	hl_index_done(&w.index);
	return code ? code : (int)w.n;
}
