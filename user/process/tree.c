// SPDX-License-Identifier: BSD-2-Clause
#include "process/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "process/proc.h"

enum { PROCESS_LIMIT = 4 << 20 };

struct relation {
	pid_t pid, parent;
	bool wanted;
};

struct relations {
	struct relation *items;
	size_t n, cap;
	int proc_fd, code;
};

bool hl_process_exists(int proc_fd, pid_t pid)
{
	char name[32];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%d", (int)pid);
	return pid > 0 && fstatat(proc_fd, name, &st, 0) == 0;
}

bool hl_process_ids_are_the_hosts(int proc_fd)
{
	static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO in linux/proc_ns.h */
	char link[64];
	ssize_t n = readlinkat(proc_fd, "self/ns/pid", link, sizeof(link) - 1);

	/* Who cannot be asked is believed. */
	if (n < 0)
		return true;
	link[n] = '\0';
	return strcmp(link, initial) == 0;
}

/* The fourth field of stat. The second is the name in parentheses, which may hold any character. */
static pid_t read_parent(int proc_fd, pid_t pid)
{
	char name[32], text[512], *after;
	_cleanup_close_ int fd = -1;
	ssize_t n;
	int parent;

	(void)snprintf(name, sizeof(name), "%d/stat", (int)pid);
	fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	after = strrchr(text, ')');
	return after && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

static void add_relation(void *ctx, pid_t pid)
{
	struct relations *all = ctx;

	if (!all->code)
		all->code = hl_grow(&all->items, &all->cap, all->n + 1, sizeof(*all->items), PROCESS_LIMIT);
	if (!all->code)
		all->items[all->n++] = (struct relation){ pid, read_parent(all->proc_fd, pid), false };
}

static bool is_wanted(const struct relations *all, pid_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->items[i].pid == pid)
			return all->items[i].wanted;
	return false;
}

static void mark_descendants(struct relations *all, const pid_t *roots, size_t n_roots)
{
	bool changed;

	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < n_roots; k++)
			all->items[i].wanted |= all->items[i].pid == roots[k];
	do {
		changed = false;
		for (size_t i = 0; i < all->n; i++) {
			if (all->items[i].wanted || !is_wanted(all, all->items[i].parent))
				continue;
			all->items[i].wanted = true;
			changed = true;
		}
	} while (changed);
}

int hl_process_tree(int proc_fd, const pid_t *roots, size_t n_roots, pid_t **ret, size_t *ret_n)
{
	struct relations all = { .proc_fd = proc_fd };
	pid_t *pids = NULL;
	size_t n = 0;
	int code = hl_proc_each(proc_fd, add_relation, &all);

	if (!code)
		code = all.code;
	if (!code) {
		mark_descendants(&all, roots, n_roots);
		pids = calloc(all.n + 1, sizeof(*pids));
		code = pids ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < all.n && !code; i++)
		if (all.items[i].wanted)
			pids[n++] = all.items[i].pid;
	free(all.items);
	if (code)
		return code;
	*ret = pids;
	*ret_n = n;
	return 0;
}
