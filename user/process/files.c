// SPDX-License-Identifier: BSD-2-Clause
#include "process/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "process/proc.h"
#include "process/reach.h"
#include "process/roots.h"

/* A file whose processes die before it can be opened is tried this often; then it stays without names. */
enum { MAX_TRIES = 50, MAX_UNANSWERED = 3 };

struct hl_files {
	struct hl_open_file *items; /* by id */
	size_t n, cap;
	struct hl_roots roots;
	int proc_fd;
	struct hl_reach *reach;
};

struct hl_files *hl_files_new(int proc_fd, struct hl_reach *reach)
{
	struct hl_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->proc_fd = proc_fd;
		files->reach = reach;
	}
	return files;
}

uint64_t hl_files_unrooted(const struct hl_files *files)
{
	return files->roots.dropped;
}

void hl_files_forget(struct hl_files *files, uint32_t id)
{
	struct hl_open_file *file = id < files->n ? &files->items[id] : NULL;

	if (!file)
		return;
	hl_cleanup_close(&file->fd);
	free(file->path);
	*file = (struct hl_open_file){ .fd = -1 };
}

void hl_files_free(struct hl_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++)
		hl_files_forget(files, (uint32_t)i);
	free(files->items);
	hl_roots_done(&files->roots);
	free(files);
}

const struct hl_open_file *hl_files_get(const struct hl_files *files, uint32_t id)
{
	return id < files->n && files->items[id].state != HL_FILE_UNSEEN ? &files->items[id] : NULL;
}

static struct hl_open_file *make_entry(struct hl_files *files, uint32_t id)
{
	if (id >= HL_FILE_LIMIT ||
	    hl_grow(&files->items, &files->cap, id + 1, sizeof(*files->items), HL_FILE_LIMIT))
		return NULL;
	for (; files->n <= id; files->n++)
		files->items[files->n] = (struct hl_open_file){ .fd = -1, .root = -1 };
	return &files->items[id];
}

int hl_files_copy(const struct hl_files *files, uint32_t id, struct hl_files *into)
{
	const struct hl_open_file *from = hl_files_get(files, id);
	struct hl_open_file *to = from ? make_entry(into, id) : NULL;
	_cleanup_free_ char *path = NULL;
	int fd = -1;

	if (!from)
		return 0;
	if (!to)
		return -ENOMEM;
	if (to->state == HL_FILE_OPEN || (to->state == from->state && to->tries == from->tries))
		return 0;
	path = from->path ? strdup(from->path) : NULL;
	if (from->path && !path)
		return -ENOMEM;
	if (from->fd >= 0) {
		fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
	}
	hl_files_forget(into, id);
	*to = *from;
	to->fd = fd;
	to->path = TAKE_PTR(path);
	return 0;
}

/* A device number as the kernel keeps it (include/linux/kdev_t.h), from one as stat(2) tells it. */
static uint32_t kernel_device(dev_t device)
{
	return major(device) << 20 | minor(device);
}

/*
 * The inode number says so only where stat tells the device that the kernel knows: overlayfs and btrfs tell one of
 * their own, and maybe another number with it.
 */
bool hl_is_sampled_file(const struct stat *st, const struct hl_file_key *key)
{
	return (uint64_t)st->st_size == key->size && (uint64_t)st->st_mtim.tv_sec == key->mtime_sec &&
	       (uint64_t)st->st_mtim.tv_nsec == key->mtime_nsec &&
	       (kernel_device(st->st_dev) != key->device || st->st_ino == key->inode);
}

void hl_cut_deleted(char *path, const struct stat *st)
{
	static const char mark[] = " (deleted)";

	if (st->st_nlink == 0 && hl_ends_with(path, mark))
		path[strlen(path) - strlen(mark)] = '\0';
}

/* By a magic link of /proc: map_files or exe, which work for deleted files and over mount namespaces. */
static int open_link(const struct hl_files *files, const char *link, const struct hl_file_event *event,
		     struct hl_open_file *file)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	_cleanup_close_ int fd =
		hl_reach_open_link(files->reach, files->proc_fd, link, event->key.device, &st, &path);

	if (fd < 0)
		return fd;
	if (!hl_is_sampled_file(&st, &event->key))
		return -ESTALE;
	file->deleted = st.st_nlink == 0;
	if (path) {
		hl_cut_deleted(path, &st);
		free(file->path);
		file->path = TAKE_PTR(path);
		file->has_path = true;
	}
	return TAKE_FD(fd);
}

struct path_search {
	uint64_t start;
	char *path;
};

static bool take_path(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct path_search *search = ctx;

	if (mapping->start != search->start)
		return true;
	search->path = mapping->path[0] == '/' ? strdup(mapping->path) : NULL;
	return false;
}

/* The path of the mapping in @maps that starts at @start. Allocated; NULL if there is none. */
static char *find_in_maps(const struct hl_files *files, const char *maps, uint64_t start)
{
	struct path_search search = { .start = start };

	(void)hl_reach_maps(files->reach, files->proc_fd, maps, take_path, &search);
	return search.path;
}

/* By name, in the root that the process sees. For a process whose first thread has ended. */
static int open_by_name(const struct hl_files *files, const struct hl_file_event *event,
			struct hl_open_file *file)
{
	_cleanup_close_ int root = -1, fd = -1;
	_cleanup_free_ char *path = NULL;
	struct stat st;
	char name[96];

	(void)snprintf(name, sizeof(name), "%u/task/%u/maps", event->tgid, event->tid);
	path = find_in_maps(files, name, event->start);
	if (!path)
		return -ENOENT;
	(void)snprintf(name, sizeof(name), "%u/task/%u/root", event->tgid, event->tid);
	root = openat(files->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = hl_reach_open_in_root(files->reach, root, path, &st);
	if (fd < 0)
		return fd;
	if (!hl_is_sampled_file(&st, &event->key))
		return -ESTALE;
	file->deleted = st.st_nlink == 0;
	free(file->path);
	file->path = TAKE_PTR(path);
	file->has_path = true;
	return TAKE_FD(fd);
}

static int open_any_way(const struct hl_files *files, const struct hl_file_event *event,
			struct hl_open_file *file)
{
	char link[96];
	int fd, first;

	(void)snprintf(link, sizeof(link), "%u/map_files/%llx-%llx", event->tgid,
		       (unsigned long long)event->start, (unsigned long long)event->end);
	fd = first = open_link(files, link, event, file);
	if (fd < 0 && !hl_reach_is_unanswered(fd))
		fd = open_by_name(files, event, file);
	if (fd < 0 && !hl_reach_is_unanswered(fd)) {
		(void)snprintf(link, sizeof(link), "%u/task/%u/exe", event->tgid, event->tid);
		fd = open_link(files, link, event, file);
	}
	return fd < 0 && !hl_reach_is_unanswered(fd) ? first : fd;
}

/* @error is what the last try came to. */
static bool is_worth_another_try(const struct hl_open_file *file, int error)
{
	return error != -EMEDIUMTYPE &&
	       file->tries < (uint32_t)(hl_reach_is_unanswered(error) ? MAX_UNANSWERED : MAX_TRIES);
}

enum hl_file_state hl_files_open(struct hl_files *files, const struct hl_file_event *event)
{
	struct hl_open_file *file = make_entry(files, event->id);
	int fd;

	if (!file)
		return HL_FILE_REFUSED;
	if (file->state == HL_FILE_OPEN || file->state == HL_FILE_REFUSED)
		return file->state;
	if (!file->path)
		file->path = strndup(event->name, sizeof(event->name));
	file->key = event->key;
	file->tries++;
	fd = open_any_way(files, event, file);
	file->fd = fd < 0 ? -1 : fd;
	if (fd >= 0)
		file->root =
			hl_roots_of(&files->roots, files->proc_fd, (pid_t)event->tgid, (pid_t)event->tid);
	file->error = fd < 0 ? fd : 0;
	file->state = fd >= 0                          ? HL_FILE_OPEN
		      : is_worth_another_try(file, fd) ? HL_FILE_FAILED
						       : HL_FILE_REFUSED;
	return file->state;
}

/* Whether a path of a maps file can be that of @file, of which the event told the base name, maybe cut. */
static bool has_base_name(const char *path, const struct hl_open_file *file)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = file->path ? strlen(file->path) : 0;

	return n && strncmp(base, file->path, n) == 0 &&
	       (base[n] == '\0' || n == HL_FILE_NAME_LEN - 1 || strcmp(base + n, " (deleted)") == 0);
}

/* A regular file that could not be opened, be it that no more events of it are wanted. */
static bool is_lost(const struct hl_open_file *file)
{
	return file->state == HL_FILE_FAILED ||
	       (file->state == HL_FILE_REFUSED && file->error != -EMEDIUMTYPE);
}

/* The state of hl_files_search(). */
struct search {
	struct hl_files *files;
	pid_t pid;
	unsigned int wanted, found;
};

/* Opens what waits for a file of that name. */
static bool search_mapping(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct search *search = ctx;
	char link[96];

	if (!mapping->exec || mapping->path[0] != '/')
		return true;
	for (size_t i = 0; i < search->files->n; i++) {
		struct hl_open_file *file = &search->files->items[i];
		struct hl_file_event event = { .key = file->key };
		int fd;

		if (!is_lost(file) || !has_base_name(mapping->path, file))
			continue;
		(void)snprintf(link, sizeof(link), "%d/map_files/%lx-%lx", (int)search->pid, mapping->start,
			       mapping->end);
		fd = open_link(search->files, link, &event, file);
		if (fd < 0)
			continue;
		file->fd = fd;
		file->root =
			hl_roots_of(&search->files->roots, search->files->proc_fd, search->pid, search->pid);
		file->error = 0;
		file->state = HL_FILE_OPEN;
		file->found = true;
		search->found++;
	}
	return search->found < search->wanted;
}

static void search_process(void *ctx, pid_t pid)
{
	struct search *search = ctx;
	char name[32];

	if (search->found == search->wanted)
		return;
	search->pid = pid;
	(void)snprintf(name, sizeof(name), "%d/maps", (int)pid);
	(void)hl_reach_maps(search->files->reach, search->files->proc_fd, name, search_mapping, search);
}

unsigned int hl_files_search(struct hl_files *files)
{
	struct search search = { .files = files };

	for (size_t i = 0; i < files->n; i++)
		search.wanted += is_lost(&files->items[i]);
	if (search.wanted)
		(void)hl_proc_each(files->proc_fd, search_process, &search);
	return search.found;
}
