// SPDX-License-Identifier: BSD-2-Clause
/* Names that were made at an earlier start: symd is given a file unread, and the table that belongs to its content. */
#include "symd/client_cached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "symd/client.h"
#include "symd/client_cache.h"
#include "symd/client_call.h"
#include "symd/number.h"

void hl_symd_combine(const uint8_t file[HL_SYMD_CONTENT_ID], const uint8_t other[HL_SYMD_CONTENT_ID],
		     uint8_t ret[HL_SYMD_CONTENT_ID])
{
	uint8_t both[2 * HL_SYMD_CONTENT_ID];
	struct hl_id id;

	memcpy(both, file, HL_SYMD_CONTENT_ID);
	memcpy(both + HL_SYMD_CONTENT_ID, other, HL_SYMD_CONTENT_ID);
	id = hl_id_of(both, sizeof(both));
	memcpy(ret, &id, sizeof(id));
}

static int add_unread(struct hl_symd *symd, uint32_t file, int fd, uint32_t flags)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_UNREAD, .file = file, .flags = flags };
	const struct hl_str *answer;

	return hl_symd_checked(symd, hl_symd_call(symd, &request, NULL, fd, &answer, NULL));
}

/* Gives symd the names at @extent of the file at @fd. */
static int add_names(struct hl_symd *symd, uint32_t file, int fd, const struct hl_symd_extent *extent,
		     struct hl_symd_file *ret)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_NAMES,
					   .file = file,
					   .length = sizeof(*extent) };
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, extent, fd, &answer, NULL);

	if (r == 0)
		r = hl_symd_take_file(file, answer->data, answer->len, ret, NULL);
	return hl_symd_checked(symd, r);
}

/* What is kept is what symd said of the file, and its table. */
static void save(struct hl_cache *cache, const uint8_t id[16], const struct hl_symd_file *about,
		 const uint8_t *table, size_t len)
{
	_cleanup_str_ struct hl_str bytes = { 0 };

	/* Of such a file not all segments are told. */
	if (about->n_segments > HL_SYMD_SEGMENTS_MAX)
		return;
	hl_str_add(&bytes, about, sizeof(*about));
	hl_str_add(&bytes, table, len);
	if (hl_str_status(&bytes) == 0)
		hl_cache_save(cache, HL_CACHE_NAMES, id, bytes.data, bytes.len);
}

static void note_content(struct hl_symd *symd, uint32_t file, const uint8_t id[16])
{
	struct hl_symd_content *content = hl_symd_content_of(symd, file);

	if (!content)
		return;
	memcpy(content->id, id, sizeof(content->id));
	content->known = true;
}

/* A descriptor of what is kept under @id, and where it stands there. */
static int open_entry(struct hl_cache *cache, const uint8_t id[16], struct hl_symd_extent *ret)
{
	uint64_t offset = 0, length = 0;
	int fd = hl_cache_open_entry(cache, HL_CACHE_NAMES, id, &offset, &length);

	*ret = (struct hl_symd_extent){ .offset = offset, .length = length };
	return fd;
}

/* The file at @fd by what is kept of it. -ENOENT: nothing is. */
static int restore(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd, const uint8_t id[16],
		   struct hl_symd_file *ret)
{
	struct hl_symd_extent extent;
	_cleanup_close_ int entry = open_entry(cache, id, &extent);

	if (entry < 0 || add_unread(symd, file, fd, 0) < 0)
		return -ENOENT;
	if (add_names(symd, file, entry, &extent, ret) == 0)
		return 0;
	hl_cache_reject(cache, HL_CACHE_NAMES, id);
	return -ENOENT;
}

int hl_symd_add_file_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd,
			    struct hl_symd_file *ret, struct hl_err *err)
{
	_cleanup_free_ uint8_t *table = NULL;
	uint8_t id[HL_SYMD_CONTENT_ID];
	size_t len = 0;
	int r;

	if (!cache || hl_symd_find_content(symd, cache, file, fd, id, err) < 0)
		return hl_symd_add_file(symd, file, fd, ret, err);
	r = restore(symd, cache, file, fd, id, ret);
	if (r < 0) {
		r = hl_symd_add_file_whole(symd, file, fd, ret, &table, &len, err);
		if (r == 0)
			save(cache, id, ret, table, len);
	}
	if (r == 0)
		note_content(symd, file, id);
	return r;
}

/* The same of a debug file; -ESTALE: it is known to be of another build. */
static int restore_debug(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd,
			 const uint8_t id[16])
{
	struct hl_symd_extent extent;
	_cleanup_close_ int entry = open_entry(cache, id, &extent);
	struct hl_symd_file about;

	if (entry < 0)
		return -ENOENT;
	if (extent.length == 0)
		return -ESTALE;
	/* In this order, so that a table that is refused leaves no debug file behind. */
	if (add_names(symd, file, entry, &extent, &about) == 0)
		return add_unread(symd, file, fd, HL_SYMD_OF_DEBUG) < 0 ? -ENOENT : 0;
	hl_cache_reject(cache, HL_CACHE_NAMES, id);
	return -ENOENT;
}

int hl_symd_add_debug_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file,
			     const struct hl_symd_file *about, int fd, struct hl_err *err)
{
	const struct hl_symd_content *content = cache ? hl_symd_content_of(symd, file) : NULL;
	uint8_t own[HL_SYMD_CONTENT_ID], debug[HL_SYMD_CONTENT_ID], id[HL_SYMD_CONTENT_ID];
	_cleanup_free_ uint8_t *table = NULL;
	size_t len = 0;
	int r;

	if (!content || !content->known)
		return hl_symd_add_debug(symd, file, fd, err);
	memcpy(own, content->id, sizeof(own));
	if (hl_symd_find_content(symd, cache, file, fd, debug, err) < 0)
		return hl_symd_add_debug(symd, file, fd, err);
	hl_symd_combine(own, debug, id);
	r = restore_debug(symd, cache, file, fd, id);
	if (r == -ESTALE)
		return hl_err_set(err, r, "the debug file of %s is of another build", HL_FILE_CALLED(file));
	if (r == -ENOENT) {
		r = hl_symd_add_debug_whole(symd, file, fd, &table, &len, err);
		if (r == 0)
			save(cache, id, about, table, len);
		else if (r == -ESTALE)
			hl_cache_save(cache, HL_CACHE_NAMES, id, "", 0);
	}
	if (r == 0)
		note_content(symd, file, id);
	return r;
}

void hl_symd_drop_file(struct hl_symd *symd, uint32_t file)
{
	struct hl_symd_request request = { .type = HL_SYMD_DROP_FILE, .file = file };
	struct hl_symd_content *content = hl_symd_content_of(symd, file);
	const struct hl_str *answer;

	if (content)
		content->known = false;
	(void)hl_symd_checked(symd, hl_symd_call(symd, &request, NULL, -1, &answer, NULL));
}
