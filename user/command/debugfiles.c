// SPDX-License-Identifier: BSD-2-Clause
#include "command/debugfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "process/debug.h"
#include "process/debuginfod.h"
#include "process/files.h"
#include "symd/client_cached.h"

/* There are no more places below one root than this. */
enum { MAX_PLACES = 8 };

struct search {
	struct hl_symd *symd;
	struct hl_cache *cache;
	struct hl_reach *reach;
	uint32_t id;
	const struct hl_symd_file *about;
	const struct hl_open_file *file;
	int own_root;
	bool refused;
	char why[240]; /* the first of them was */
};

static void refuse(struct search *s, const char *why)
{
	hl_debug("symbol", "debug file of file %u: %s", s->id, why);
	if (!s->refused)
		(void)snprintf(s->why, sizeof(s->why), "%s", why);
	s->refused = true;
}

/* The next place below @root; by build-id or by debuglink. */
static int open_place(const struct search *s, int root, bool by_link, unsigned int skip, bool *ret_copy)
{
	const char *home = getenv("HOME");

	if (by_link)
		return hl_debug_link_open(s->reach, root, s->file->path, s->about->debuglink, skip);
	/* The home directory of whoever runs this is none in a container. */
	return hl_debug_file_open(s->reach, root,
				  home && root == s->own_root ? home + strspn(home, "/") : NULL,
				  s->about->build_id, s->about->build_id_len, skip, ret_copy);
}

/* True if a debug file was found below @root and taken. */
static bool search_root(struct search *s, int root, bool by_link)
{
	struct hl_err err = { "" };
	int code;

	for (unsigned int skip = 0; skip < MAX_PLACES; skip++) {
		bool is_copy = false;
		_cleanup_close_ int fd = open_place(s, root, by_link, skip, &is_copy);

		if (fd == -EMEDIUMTYPE)
			refuse(s, "it is no regular file");
		if (fd < 0)
			return false;
		code = hl_symd_add_debug_cached(s->symd, s->cache, s->id, s->about, fd, &err);
		if (!code)
			return true;
		/* A copy has no more than the file: that it has no symbols refuses nothing. */
		if (!is_copy || code != -ENOEXEC)
			refuse(s, code == -ESTALE ? "it is of another build" : err.text);
	}
	return false;
}

static bool search_roots(struct search *s, bool by_link)
{
	int theirs = s->file ? s->file->root : -1;

	return (theirs >= 0 && search_root(s, theirs, by_link)) || search_root(s, s->own_root, by_link);
}

static const char *name_of(const struct hl_open_file *file)
{
	const char *slash = file && file->path ? strrchr(file->path, '/') : NULL;

	return slash ? slash + 1 : "?";
}

static int add_lack(struct hl_debug_lacks *lacks, const struct search *s, bool has_link)
{
	int code = hl_grow(&lacks->items, &lacks->cap, lacks->n + 1, sizeof(*lacks->items), HL_FILE_LIMIT);
	struct hl_debug_lack *lack;

	if (code)
		return code;
	lack = &lacks->items[lacks->n++];
	*lack = (struct hl_debug_lack){ .id = s->id, .about = s->about, .refused = s->refused };
	/* No server knows what the kernel maps, which is no file. */
	if (s->file && s->about->build_id_len <= sizeof(lack->build_id))
		lack->build_id_len = s->about->build_id_len;
	memcpy(lack->build_id, s->about->build_id, lack->build_id_len);
	memcpy(lack->why, s->why, sizeof(lack->why));
	if (has_link)
		memcpy(lack->link, s->about->debuglink, sizeof(lack->link));
	return 0;
}

int hl_debug_file_add(struct hl_symd *symd, struct hl_cache *cache, struct hl_reach *reach, uint32_t id,
		      const struct hl_symd_file *about, const struct hl_open_file *file,
		      struct hl_debug_lacks *lacks, struct hl_debug_counts *counts)
{
	_cleanup_close_ int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = { symd, cache, reach, id, about, file, .own_root = own_root };
	bool has_link = about->debuglink[0] && file && file->has_path;

	counts->damaged += (about->refused & HL_SYMD_REFUSED_DEBUGDATA) != 0;
	counts->far += (about->refused & HL_SYMD_REFUSED_FAR) != 0;
	if (about->has_symtab || own_root < 0)
		return 0;
	if (about->build_id_len && search_roots(&s, false))
		return 0;
	if (has_link && search_roots(&s, true))
		return 0;
	return add_lack(lacks, &s, has_link);
}

void hl_debug_lacks_finish(struct hl_debug_lacks *lacks, const struct hl_files *files,
			   struct hl_debug_counts *counts)
{
	for (size_t i = 0; i < lacks->n; i++) {
		const struct hl_debug_lack *lack = &lacks->items[i];
		const char *name = name_of(hl_files_get(files, lack->id));

		if (lack->refused && !counts->refused++)
			(void)snprintf(counts->refusal, sizeof(counts->refusal), "of '%.60s': %.160s", name,
				       lack->why);
		if (!lack->refused && lack->link[0] && !counts->missing++)
			(void)snprintf(counts->missed, sizeof(counts->missed), "'%.60s', of '%.60s'",
				       lack->link, name);
	}
	free(lacks->items);
	*lacks = (struct hl_debug_lacks){ 0 };
}

/* ---- from servers --------------------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct hl_debug_lack *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void count_unfetched(struct hl_debug_counts *counts, const struct hl_files *files,
			    const struct hl_debug_lack *lack, const char *why)
{
	hl_debug("symbol", "debuginfod, file %u: %s", lack->id, why);
	if (!counts->unfetched++)
		(void)snprintf(counts->unfetched_why, sizeof(counts->unfetched_why), "'%.60s': %.120s",
			       name_of(hl_files_get(files, lack->id)), why);
}

/* True if symd has the debug file now. */
static bool fetch_one(struct hl_symd *symd, struct hl_cache *cache, const struct hl_files *files,
		      const struct hl_debug_lack *lack, uint32_t ms, struct hl_debug_counts *counts)
{
	struct hl_err err = { "" };
	_cleanup_close_ int fd = hl_debuginfod_fetch(lack->build_id, lack->build_id_len, ms, &err);

	if (fd == -ENOENT) {
		counts->unknown++;
	} else if (fd == -EDESTADDRREQ || fd == -ENOSYS || fd == -EPERM) {
		(void)snprintf(counts->fetch_error, sizeof(counts->fetch_error), "%.159s", err.text);
	} else if (fd < 0 || hl_symd_add_debug_cached(symd, cache, lack->id, lack->about, fd, &err)) {
		count_unfetched(counts, files, lack, err.text);
	} else {
		counts->fetched++;
		return true;
	}
	return false;
}

void hl_debug_files_fetch(struct hl_symd *symd, struct hl_cache *cache, const struct hl_files *files,
			  struct hl_debug_lacks *lacks, uint32_t ms, struct hl_debug_counts *counts)
{
	uint64_t start_ns = hl_monotonic_ns(), spent_ms;
	size_t kept = 0;

	qsort(lacks->items, lacks->n, sizeof(*lacks->items), by_samples);
	for (size_t i = 0; i < lacks->n; i++) {
		const struct hl_debug_lack *lack = &lacks->items[i];
		bool fetched = false;

		spent_ms = (hl_monotonic_ns() - start_ns) / 1000000;
		if (lack->build_id_len && !counts->fetch_error[0]) {
			if (spent_ms < ms)
				fetched = fetch_one(symd, cache, files, lack, (uint32_t)(ms - spent_ms),
						    counts);
			else
				count_unfetched(counts, files, lack, "the time was over before its turn");
		}
		if (!fetched)
			lacks->items[kept++] = *lack;
	}
	lacks->n = kept;
}
