// SPDX-License-Identifier: BSD-2-Clause
#include "base/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

enum { MOST_FILES = 1 << 20 };

struct file {
	char *name;
	uint64_t bytes, written_ns;
};

struct files {
	struct file *items;
	size_t n, cap;
};

static void free_files(struct files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->items[i].name);
	free(files->items);
}

static int newest_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->written_ns != y->written_ns)
		return x->written_ns < y->written_ns ? 1 : -1;
	return strcmp(y->name, x->name);
}

static int list(DIR *stream, const struct hl_prune *prune, struct files *files)
{
	struct dirent *entry;
	struct stat st;

	while ((entry = readdir(stream))) {
		struct file *file;

		if (!prune->is_ours(entry->d_name) ||
		    fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (hl_grow(&files->items, &files->cap, files->n + 1, sizeof(*files->items), MOST_FILES))
			return -ENOMEM;
		file = &files->items[files->n];
		*file = (struct file){
			.name = strdup(entry->d_name),
			.bytes = (uint64_t)st.st_blocks * 512,
			.written_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec,
		};
		if (!file->name)
			return -ENOMEM;
		files->n++;
	}
	return 0;
}

int hl_prune_files(const char *dir, const struct hl_prune *prune, uint64_t now_ns, struct hl_err *err)
{
	_cleanup_(free_files) struct files files = { 0 };
	_cleanup_closedir_ DIR *stream = opendir(dir);
	uint64_t bytes = 0, kept = 0;
	int code;

	if (!stream)
		return hl_err_errno(err, -errno, "cannot list '%s'", dir);
	code = list(stream, prune, &files);
	if (code)
		return hl_err_errno(err, code, "cannot list '%s'", dir);
	if (files.n)
		qsort(files.items, files.n, sizeof(*files.items), newest_first);
	for (size_t i = 0; i < files.n; i++) {
		const struct file *file = &files.items[i];
		bool old = prune->max_age_ns && now_ns > file->written_ns &&
			   now_ns - file->written_ns > prune->max_age_ns;

		bytes += file->bytes;
		kept++;
		if (!old && (i == 0 || ((!prune->max_bytes || bytes <= prune->max_bytes) &&
					(!prune->max_files || kept <= prune->max_files))))
			continue;
		if (unlinkat(dirfd(stream), file->name, 0) && errno != ENOENT)
			code = hl_err_errno(err, -errno, "cannot remove '%s/%s'", dir, file->name);
	}
	return code;
}
