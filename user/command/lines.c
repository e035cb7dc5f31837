// SPDX-License-Identifier: BSD-2-Clause
#include "command/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "process/debug.h"
#include "process/files.h"
#include "process/reach.h"
#include "symd/client.h"
#include "symd/client_cached.h"

/* For one file, and for all of them: the end of a recording is not to be waited for longer than this. */
enum { FILE_MS = 15000, ALL_MS = 20000, MAX_PLACES = 8 };

struct reader {
	struct hl_symd *symd;
	struct hl_cache *cache;
	struct hl_reach *reach;
	int own_root;
	const struct hl_open_file *file;
	uint32_t id;
	uint64_t memory;
	struct hl_lines_counts *counts;
};

/* Opens @path below the root of the process, then below ours, and gives it to symd. True if it was taken. */
static bool try_path(const struct reader *r, bool is_alt, const char *path)
{
	const int roots[2] = { r->file->root, r->own_root };
	struct stat st;

	for (int i = 0; i < 2; i++) {
		_cleanup_close_ int fd =
			roots[i] < 0 ? -1 : hl_reach_open_in_root(r->reach, roots[i], path, &st);
		struct hl_err err = { "" };

		if (fd < 0)
			continue;
		if (!hl_symd_add_wanted(r->symd, r->id, is_alt, fd, &err))
			return true;
		hl_debug("symbol", "'%s' of file %u: %s", path, r->id, err.text);
	}
	return false;
}

static bool try_joined(const struct reader *r, bool is_alt, const char *directory, const char *name)
{
	_cleanup_str_ struct hl_str path = { 0 };

	hl_str_addf(&path, "%s/%s", directory, name);
	return !hl_str_status(&path) && try_path(r, is_alt, path.data);
}

/* An alternate file has a build-id, by which distributions link it. */
static bool try_build_id(const struct reader *r, const struct hl_symd_wanted *wanted)
{
	const int roots[2] = { r->file->root, r->own_root };

	for (int i = 0; i < 2; i++)
		for (unsigned int skip = 0; roots[i] >= 0 && skip < MAX_PLACES; skip++) {
			_cleanup_close_ int fd = hl_debug_file_open(r->reach, roots[i], NULL, wanted->id,
								    wanted->id_len, skip, NULL);

			if (fd < 0)
				break;
			if (!hl_symd_add_wanted(r->symd, r->id, true, fd, NULL))
				return true;
		}
	return false;
}

/*
 * A relative name of an alternate file counts from the file that names it: the running one, or its debug file, which
 * stands by build-id or below /usr/lib/debug. One of a .dwo file counts from where the compiler ran, but the files
 * may have been moved together.
 */
static bool find_wanted(const struct reader *r, const struct hl_symd_wanted *wanted, const char *name,
			const char *directory)
{
	_cleanup_str_ struct hl_str beside = { 0 }, debug = { 0 };
	const char *slash = r->file->has_path ? strrchr(r->file->path, '/') : NULL;
	const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;

	if (name[0] == '/' && try_path(r, wanted->is_alt, name))
		return true;
	if (slash)
		hl_str_add(&beside, r->file->path, (size_t)(slash - r->file->path));
	hl_str_addf(&debug, "/usr/lib/debug%s", beside.data ? beside.data : "");
	if (hl_str_status(&beside) || hl_str_status(&debug))
		return false;
	if (!wanted->is_alt)
		return (name[0] != '/' && directory[0] && try_joined(r, false, directory, name)) ||
		       (slash && try_joined(r, false, beside.data ? beside.data : "", base));
	if (try_build_id(r, wanted))
		return true;
	return name[0] != '/' && ((slash && try_joined(r, true, beside.data ? beside.data : "", name)) ||
				  try_joined(r, true, debug.data, name) ||
				  try_joined(r, true, "/usr/lib/debug/.build-id/00", name));
}

static void count_missing(const struct reader *r, const char *name, unsigned int n)
{
	if (n && !r->counts->missing)
		(void)snprintf(r->counts->missed, sizeof(r->counts->missed), "'%.120s'", name);
	r->counts->missing += n;
}

/* Those in a package are not looked for. */
static void add_wanted(const struct reader *r, const struct hl_symd_wants *wants, bool has_package)
{
	for (uint32_t i = 0; i < wants->head.n; i++) {
		const struct hl_symd_wanted *w = &wants->items[i];
		_cleanup_free_ char *name = strndup(wants->strings + w->name, w->name_len);
		_cleanup_free_ char *directory = strndup(wants->strings + w->directory, w->directory_len);

		if (name && directory && (w->is_alt || !has_package))
			count_missing(r, name, !find_wanted(r, w, name, directory));
	}
	if (!has_package)
		r->counts->missing += wants->head.is_cut;
}

/* The package of the .dwo files, PROGRAM.dwp: beside the running file, or beside its debug file. -1: none. */
static int open_package(const struct reader *r)
{
	static const char *const places[] = { "%s.dwp", "/usr/lib/debug%s.dwp",
					      "/usr/lib/debug%s.debug.dwp" };
	const int roots[2] = { r->file->root, r->own_root };
	struct stat st;

	for (int i = 0; r->file->has_path && i < 2; i++)
		for (size_t k = 0; roots[i] >= 0 && k < sizeof(places) / sizeof(places[0]); k++) {
			char path[PATH_MAX];
			int fd;

			if (snprintf(path, sizeof(path), places[k], r->file->path) >= (int)sizeof(path))
				continue;
			fd = hl_proc_open_in_root(roots[i], path, &st);
			if (fd >= 0)
				return fd;
		}
	return -1;
}

static void refuse(const struct reader *r, const char *why)
{
	hl_debug("symbol", "lines of file %u: %s", r->id, why);
	if (!r->counts->refused++)
		(void)snprintf(r->counts->refusal, sizeof(r->counts->refusal), "'%.80s': %.140s",
			       r->file->path ? r->file->path : "?", why);
}

/* Reads the lines of a file that were not kept, with what else it wants. */
static int read_anew(const struct reader *r, int package, const struct hl_symd_lines_limits *limits,
		     struct hl_symd_lines *ret, struct hl_err *err)
{
	_cleanup_(hl_symd_wants_done) struct hl_symd_wants wants = { .items = NULL };
	int code = hl_symd_find_wanted(r->symd, r->id, limits, &wants, err);
	bool wants_dwo = false, wants_alt = false, has_package;

	/* That a file has no debug information is to be kept. */
	if (code && code != -ENODATA)
		return code;
	for (uint32_t i = 0; i < wants.head.n; i++) {
		wants_dwo |= !wants.items[i].is_alt;
		wants_alt |= wants.items[i].is_alt;
	}
	has_package = wants_dwo && package >= 0 && !hl_symd_add_wanted(r->symd, r->id, false, package, NULL);
	add_wanted(r, &wants, has_package);
	code = hl_symd_lines_cached(r->symd, wants_alt || (wants_dwo && !has_package) ? NULL : r->cache,
				    r->id, r->file->fd, package, limits, ret, err);
	if (!code && has_package)
		count_missing(r, "a part of the .dwp file", ret->missing_dwo);
	return code;
}

static void read_one(const struct reader *r, uint64_t left_ms)
{
	struct hl_symd_lines_limits limits = { .memory = r->memory,
					       .time_ms = left_ms < FILE_MS ? (uint32_t)left_ms : FILE_MS };
	_cleanup_close_ int package = open_package(r);
	struct hl_symd_lines lines = { 0 };
	struct hl_err err = { "" };
	int code = hl_symd_restore_lines(r->symd, r->cache, r->id, package, &lines, &err);

	if (code == -ENOENT)
		code = read_anew(r, package, &limits, &lines, &err);
	if (code == -ENODATA)
		r->counts->without++;
	else if (code)
		refuse(r, err.text);
	else {
		r->counts->read++;
		r->counts->damaged += lines.damaged_units + lines.deep_functions;
	}
}

static int by_samples(const void *a, const void *b)
{
	const struct hl_lines_file *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void hl_lines_read(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
		   const struct hl_files *opened, struct hl_lines_file *files, size_t n, uint64_t memory,
		   struct hl_lines_counts *counts)
{
	_cleanup_close_ int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct reader reader = { .symd = symd,
				 .cache = cache,
				 .reach = reach,
				 .own_root = own_root,
				 .memory = memory,
				 .counts = counts };
	uint64_t start_ns = hl_monotonic_ns(), spent_ms;

	qsort(files, n, sizeof(*files), by_samples);
	for (size_t i = 0; i < n; i++) {
		reader.file = hl_files_get(opened, files[i].id);
		reader.id = files[i].id;
		if (!reader.file || reader.file->state != HL_FILE_OPEN)
			continue;
		spent_ms = (hl_monotonic_ns() - start_ns) / 1000000;
		if (spent_ms < ALL_MS)
			read_one(&reader, ALL_MS - spent_ms);
		else
			counts->untried++;
	}
}

void hl_lines_read_file(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach,
			const struct hl_open_file *file, uint32_t id, uint64_t memory, uint32_t time_ms,
			struct hl_lines_counts *counts)
{
	_cleanup_close_ int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct reader reader = { symd, cache, reach, own_root, file, id, memory, counts };

	read_one(&reader, time_ms);
}

void hl_lines_append(struct hl_str *out, const char *path, size_t len, uint32_t line)
{
	if (len == 0)
		return;
	hl_str_adds(out, " at ");
	hl_lines_add(out, path, len, line);
}

void hl_lines_add(struct hl_str *out, const char *path, size_t len, uint32_t line)
{
	const char *slash = memrchr(path, '/', len);

	hl_str_add(out, slash ? slash + 1 : path, slash ? len - (size_t)(slash + 1 - path) : len);
	hl_str_addf(out, ":%u", line);
}
