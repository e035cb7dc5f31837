// SPDX-License-Identifier: BSD-2-Clause
#include "process/codefiles.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/str.h"
#include "process/proc.h"
#include "process/reach.h"

/* Each process holds two descriptors at most. */
enum { MAX_PROCESSES = 2048, MAX_THREADS = 64 };

struct hl_code_files {
	struct hl_code_process *items; /* number - 1 */
	size_t n, cap;
	struct hl_index index;
	int proc_fd;
	struct hl_reach *reach;
	uint32_t round;
	uint64_t dropped;
};

struct hl_code_files *hl_code_files_new(int proc_fd, struct hl_reach *reach)
{
	struct hl_code_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->proc_fd = proc_fd;
		files->reach = reach;
	}
	return files;
}

void hl_code_files_free(struct hl_code_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++)
		for (int kind = 0; kind < HL_CODE_KINDS; kind++)
			hl_cleanup_close(&files->items[i].fds[kind]);
	free(files->items);
	hl_index_done(&files->index);
	free(files);
}

static bool copy_process(struct hl_code_files *into, const struct hl_code_process *from)
{
	struct hl_code_process *to;

	if (hl_grow(&into->items, &into->cap, into->n + 1, sizeof(*into->items), MAX_PROCESSES) ||
	    hl_index_add(&into->index, hl_hash(&from->key, sizeof(from->key), 0), (uint32_t)into->n))
		return false;
	to = &into->items[into->n++];
	*to = *from;
	for (int kind = 0; kind < HL_CODE_KINDS; kind++)
		if (from->fds[kind] >= 0)
			to->fds[kind] = fcntl(from->fds[kind], F_DUPFD_CLOEXEC, 0);
	for (int kind = 0; kind < HL_CODE_KINDS; kind++)
		if (from->fds[kind] >= 0 && to->fds[kind] < 0)
			return false;
	return true;
}

struct hl_code_files *hl_code_files_copy(const struct hl_code_files *files)
{
	struct hl_code_files *copy = hl_code_files_new(files->proc_fd, files->reach);

	for (size_t i = 0; copy && i < files->n; i++) {
		if (!copy_process(copy, &files->items[i])) {
			hl_code_files_free(copy);
			copy = NULL;
		}
	}
	return copy;
}

struct wanted {
	const struct hl_code_process *items;
	const struct hl_process_key *key;
};

static int same_process(const void *ctx, uint32_t position)
{
	const struct wanted *w = ctx;

	return memcmp(&w->items[position].key, w->key, sizeof(*w->key)) == 0;
}

static struct hl_code_process *find(const struct hl_code_files *files, const struct hl_process_key *key)
{
	struct wanted wanted = { files->items, key };
	uint32_t at = hl_index_find(&files->index, hl_hash(key, sizeof(*key), 0), same_process, &wanted);

	return at == HL_INDEX_NONE ? NULL : &files->items[at];
}

uint32_t hl_code_files_number(const struct hl_code_files *files, const struct hl_process_key *key)
{
	const struct hl_code_process *process = find(files, key);

	if (!process || (process->fds[HL_CODE_PERF_MAP] < 0 && process->fds[HL_CODE_JITDUMP] < 0))
		return 0;
	return (uint32_t)(process - files->items) + 1;
}

const struct hl_code_process *hl_code_files_get(const struct hl_code_files *files, uint32_t number)
{
	return number && number <= files->n ? &files->items[number - 1] : NULL;
}

uint64_t hl_code_files_dropped(const struct hl_code_files *files)
{
	return files->dropped;
}

unsigned int hl_code_files_refused(const struct hl_code_files *files)
{
	unsigned int n = 0;

	for (size_t i = 0; i < files->n; i++)
		for (int kind = 0; kind < HL_CODE_KINDS; kind++)
			n += files->items[i].refused[kind] && files->items[i].fds[kind] < 0;
	return n;
}

/* ---- one process --------------------------------------------------------------------------------------- */

/* A process seen from /proc: through its first thread, or through another if that has ended. */
struct view {
	struct hl_reach *reach;
	int dir_fd; /* /proc/PID or /proc/PID/task/TID */
	int root_fd;
	uid_t uid;
	uint64_t ns_pid; /* its number in the innermost pid namespace */
};

/* The last number of a line "NAME:\tNUMBER…" of a status file; false if there is no such line. */
static bool number_of(const char *status, const char *name, bool last, uint64_t *ret)
{
	const char *line = strstr(status, name), *number;
	size_t len;

	if (!line)
		return false;
	number = line + strlen(name);
	len = strcspn(number, "\n");
	for (size_t i = 0; last && i < len; i++)
		if (number[i] == '\t' || number[i] == ' ')
			line = number + i;
	*ret = strtoull(last ? line : number, NULL, 10);
	return true;
}

/* Fills @view from @dir_fd, which it does not take. False: the thread has ended. */
static bool look_through(int dir_fd, struct view *view)
{
	_cleanup_free_ char *status = NULL;
	uint64_t uid;

	view->root_fd = openat(dir_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (view->root_fd < 0)
		return false;
	if (hl_read_file_at(dir_fd, "status", 1 << 16, &status, NULL) ||
	    !number_of(status, "\nUid:\t", false, &uid) ||
	    !number_of(status, "\nNStgid:", true, &view->ns_pid)) {
		hl_cleanup_close(&view->root_fd);
		return false;
	}
	view->uid = (uid_t)uid;
	return true;
}

static void view_done(struct view *view)
{
	hl_cleanup_close(&view->dir_fd);
	hl_cleanup_close(&view->root_fd);
}

/* The first thread may have ended while others run: then nothing of the process but its threads is left. */
static bool look_through_threads(int process_fd, struct view *view)
{
	int fd = openat(process_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found = false;

	if (!dir) {
		hl_cleanup_close(&fd);
		return false;
	}
	for (int i = 0; i < MAX_THREADS && !found && (entry = readdir(dir)); i++) {
		if (entry->d_name[0] == '.')
			continue;
		hl_cleanup_close(&view->dir_fd);
		view->dir_fd = openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		found = view->dir_fd >= 0 && look_through(view->dir_fd, view);
	}
	return found;
}

static bool view_process(const struct hl_code_files *files, const struct hl_process_key *key,
			 struct view *view)
{
	_cleanup_close_ int process_fd = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%u", key->tgid);
	process_fd = openat(files->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process_fd < 0 || !hl_proc_started(process_fd, key->start_time))
		return false;
	if (!look_through(process_fd, view))
		return look_through_threads(process_fd, view);
	view->dir_fd = TAKE_FD(process_fd);
	return true;
}

static bool is_own(const struct view *view, const struct stat *st)
{
	return st->st_uid == view->uid || st->st_uid == 0;
}

/* Of another user's file the names would be another user's, who may want to mislead or to be read as root. */
static int open_own(const struct view *view, const char *path)
{
	struct stat st;
	_cleanup_close_ int fd = hl_reach_open_in_root(view->reach, view->root_fd, path, &st);

	if (fd < 0)
		return fd;
	return is_own(view, &st) ? TAKE_FD(fd) : -EPERM;
}

static int open_perf_map(const struct view *view)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/tmp/perf-%" PRIu64 ".map", view->ns_pid);
	return open_own(view, path);
}

/* Whether @path is that of a jitdump, "…/jit-NUMBER.dump", be it deleted. */
static bool is_jitdump(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;

	if (path[0] != '/' || !hl_starts_with(at, "jit-"))
		return false;
	at += strlen("jit-");
	if (*at < '0' || *at > '9')
		return false;
	at += strspn(at, "0123456789");
	return strcmp(at, ".dump") == 0 || strcmp(at, ".dump (deleted)") == 0;
}

/* What the mappings of a process tell. */
struct mapped {
	uint64_t dump_start, dump_end;
	char dump_path[PATH_MAX]; /* of the first jitdump, "" if there is none */
};

static bool take_mapping(void *ctx, const struct hl_proc_mapping *mapping)
{
	struct mapped *mapped = ctx;

	if (mapped->dump_path[0] || !mapping->exec || !is_jitdump(mapping->path) ||
	    strlen(mapping->path) >= sizeof(mapped->dump_path))
		return true;
	mapped->dump_start = mapping->start;
	mapped->dump_end = mapping->end;
	strcpy(mapped->dump_path, mapping->path);
	return true;
}

static int open_jitdump(const struct view *view, const struct mapped *mapped)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char link[64];

	if (!mapped->dump_path[0])
		return -ENOENT;
	/* The very file that is mapped. A thread's folder has no such link. */
	(void)snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, mapped->dump_start,
		       mapped->dump_end);
	fd = hl_reach_open_link(view->reach, view->dir_fd, link, 0, &st, NULL);
	if (fd == -ENOENT)
		return open_own(view, mapped->dump_path);
	if (fd < 0)
		return fd;
	return is_own(view, &st) ? TAKE_FD(fd) : -EPERM;
}

/* What opening a file of @kind came to. One that is not there yet is no refusal, nor one of a process that is gone. */
static void take_file(struct hl_code_process *process, enum hl_code_file_kind kind, int fd)
{
	process->fds[kind] = fd < 0 ? -1 : fd;
	process->refused[kind] = fd < 0 && fd != -ENOENT && fd != -ENOTDIR && fd != -ESRCH;
}

/*
 * Looks for what is not there yet: in each of the first rounds, since a process of some seconds may write names
 * in the middle of its life, and then ever less often, so that those that never write any cost little.
 * Only one file system is waited for. False: it did not answer.
 */
static bool look(const struct hl_code_files *files, struct hl_code_process *process)
{
	struct view view = { .reach = files->reach, .dir_fd = -1, .root_fd = -1 };
	struct mapped mapped = { .dump_path = "" };
	int code = 0;

	if (view_process(files, &process->key, &view)) {
		code = hl_reach_maps(view.reach, view.dir_fd, "maps", take_mapping, &mapped);
		if (process->fds[HL_CODE_PERF_MAP] < 0 && code != -ETIMEDOUT) {
			code = open_perf_map(&view);
			take_file(process, HL_CODE_PERF_MAP, code);
		}
		if (process->fds[HL_CODE_JITDUMP] < 0 && code != -ETIMEDOUT) {
			code = open_jitdump(&view, &mapped);
			take_file(process, HL_CODE_JITDUMP, code);
		}
	} else {
		process->gone = true;
	}
	process->next_look = files->round + (process->looks < 4 * 64 ? 1 + process->looks / 4U : 64);
	process->looks++;
	view_done(&view);
	return code != -ETIMEDOUT;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static void note(struct hl_code_files *files, const struct hl_process_key *key)
{
	if (find(files, key))
		return;
	if (hl_grow(&files->items, &files->cap, files->n + 1, sizeof(*files->items), MAX_PROCESSES) ||
	    hl_index_add(&files->index, hl_hash(key, sizeof(*key), 0), (uint32_t)files->n)) {
		files->dropped++;
		return;
	}
	files->items[files->n++] =
		(struct hl_code_process){ .key = *key, .fds = { -1, -1 }, .next_look = files->round };
}

static bool runs_made_code(const struct hl_window *window, const struct hl_sample *sample)
{
	const struct hl_stack_row *row = hl_window_stack(window, sample->key.user_stack);

	if (hl_frame_is_raw_user(sample->key.ip))
		return true;
	for (uint32_t i = 0; row && i < row->head.n; i++)
		if (hl_frame_is_raw_user(row->frames[i]))
			return true;
	return false;
}

void hl_code_files_look(struct hl_code_files *files, const struct hl_window *window, size_t first)
{
	for (size_t i = first; i < window->n_samples; i++)
		if (runs_made_code(window, &window->samples[i]))
			note(files, &window->samples[i].key.process);
	for (size_t i = 0; i < files->n; i++) {
		struct hl_code_process *process = &files->items[i];
		bool complete = process->fds[0] >= 0 && process->fds[1] >= 0;

		if (!process->gone && !complete && files->round >= process->next_look &&
		    !look(files, process))
			break;
	}
	files->round++;
}
