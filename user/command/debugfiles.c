// SPDX-License-Identifier: BSD-2-Clause
#include "command/debugfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "process/debug.h"
#include "process/files.h"
#include "symd/client.h"

/* There are no more places below one root than this. */
enum { MAX_PLACES = 8 };

struct search {
	struct hl_symd *symd;
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
static int open_place(const struct search *s, int root, bool by_link, unsigned int skip)
{
	const char *home = getenv("HOME");

	if (by_link)
		return hl_debug_link_open(root, s->file->path, s->about->debuglink, skip);
	/* The home directory of whoever runs this is none in a container. */
	return hl_debug_file_open(root, home && root == s->own_root ? home + strspn(home, "/") : NULL,
				  s->about->build_id, s->about->build_id_len, skip);
}

/* True if a debug file was found below @root and taken. */
static bool search_root(struct search *s, int root, bool by_link)
{
	struct hl_err err = { "" };
	int code;

	for (unsigned int skip = 0; skip < MAX_PLACES; skip++) {
		_cleanup_close_ int fd = open_place(s, root, by_link, skip);

		if (fd == -EMEDIUMTYPE)
			refuse(s, "it is no regular file");
		if (fd < 0)
			return false;
		code = hl_symd_add_debug(s->symd, s->id, fd, &err);
		if (!code)
			return true;
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

static void count(const struct search *s, bool has_link, struct hl_debug_counts *counts)
{
	if (s->refused && !counts->refused++)
		(void)snprintf(counts->refusal, sizeof(counts->refusal), "of '%.60s': %.160s",
			       name_of(s->file), s->why);
	if (!s->refused && has_link && !counts->missing++)
		(void)snprintf(counts->missed, sizeof(counts->missed), "'%.60s', of '%.60s'",
			       s->about->debuglink, name_of(s->file));
}

void hl_debug_file_add(struct hl_symd *symd, uint32_t id, const struct hl_symd_file *about,
		       const struct hl_open_file *file, struct hl_debug_counts *counts)
{
	_cleanup_close_ int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct search s = { .symd = symd, .id = id, .about = about, .file = file, .own_root = own_root };
	bool has_link = about->debuglink[0] && file && file->has_path;

	counts->damaged += (about->refused & HL_SYMD_REFUSED_DEBUGDATA) != 0;
	if (about->has_symtab || own_root < 0)
		return;
	if (about->build_id_len && search_roots(&s, false))
		return;
	if (has_link && search_roots(&s, true))
		return;
	count(&s, has_link, counts);
}
