// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_cached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "sample/unwind_table.h"
#include "symd/client.h"
#include "symd/client_cache.h"
#include "symd/client_call.h"
#include "symd/number.h"

/* The content of the file at @fd or, if that is -1, of all that symd knows @file by. */
static int ask_content(struct hl_symd *symd, uint32_t file, int fd, uint8_t ret[HL_SYMD_CONTENT_ID],
		       struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_CONTENT, .file = file };
	const struct hl_str *answer;
	int r = hl_symd_call(symd, &request, NULL, fd, &answer, err);

	if (r == 0 && answer->len != HL_SYMD_CONTENT_ID)
		r = hl_err_set(err, -EPROTO, "symd named the content of %s in %zu bytes",
			       HL_FILE_CALLED(file), answer->len);
	if (r == 0)
		memcpy(ret, answer->data, HL_SYMD_CONTENT_ID);
	return hl_symd_checked(symd, r);
}

int hl_symd_find_content(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd,
			 uint8_t ret[HL_SYMD_CONTENT_ID], struct hl_err *err)
{
	struct hl_cache_stamp before, after;
	bool settled;
	int r;

	if (hl_cache_recall(cache, fd, ret) == 0)
		return 0;
	settled = hl_cache_stamp(fd, &before) == 0;
	r = ask_content(symd, file, fd, ret, err);
	if (r == 0 && settled && hl_cache_stamp(fd, &after) == 0 &&
	    memcmp(&before, &after, sizeof(after)) == 0)
		hl_cache_remember(cache, &before, ret);
	return r;
}

int hl_symd_unwind_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd, uint8_t **ret,
			  size_t *ret_len, struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t id[HL_SYMD_CONTENT_ID];
	size_t len;
	int r;

	/* A file of which the content cannot be told may have a table all the same. */
	if (!cache || hl_symd_find_content(symd, cache, file, fd, id, err) < 0)
		return hl_symd_unwind(symd, file, fd, ret, ret_len, err);
	if (hl_cache_load(cache, HL_CACHE_UNWIND, id, &bytes, &len) == 0) {
		if (len == 0)
			return hl_err_set(err, -ENODATA, "%s has no unwind table", HL_FILE_CALLED(file));
		if (hl_unwind_check(bytes, len, NULL) == 0) {
			*ret = TAKE_PTR(bytes);
			*ret_len = len;
			return 0;
		}
	}
	r = hl_symd_unwind(symd, file, fd, ret, ret_len, err);
	if (r == 0)
		hl_cache_save(cache, HL_CACHE_UNWIND, id, *ret, *ret_len);
	else if (r == -ENODATA)
		hl_cache_save(cache, HL_CACHE_UNWIND, id, "", 0);
	return r;
}

/* Gives a table that was kept to symd. */
static int add_kept_lines(struct hl_symd *symd, uint32_t file, const uint8_t *bytes, size_t len,
			  struct hl_symd_lines *ret)
{
	_cleanup_close_ int fd = memfd_create("lines", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		return -EIO;
	return hl_symd_add_lines(symd, file, fd, ret, NULL);
}

/* The content of all that symd has of @file, and of @package; what is not known is asked, once. */
static int content_given(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int package,
			 uint8_t ret[HL_SYMD_CONTENT_ID], struct hl_err *err)
{
	struct hl_symd_content *content = hl_symd_content_of(symd, file);
	uint8_t more[HL_SYMD_CONTENT_ID];
	int r = 0;

	if (!content)
		return hl_err_errno(err, -ENOMEM, "%s", HL_FILE_CALLED(file));
	if (!content->known)
		r = ask_content(symd, file, -1, content->id, err);
	if (r < 0)
		return r;
	content->known = true;
	memcpy(ret, content->id, sizeof(content->id));
	if (package < 0)
		return 0;
	r = hl_symd_find_content(symd, cache, file, package, more, err);
	if (r == 0)
		hl_symd_combine(ret, more, ret);
	return r;
}

int hl_symd_restore_lines(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int package,
			  struct hl_symd_lines *ret, struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t id[HL_SYMD_CONTENT_ID];
	size_t len;

	if (!cache || content_given(symd, cache, file, package, id, NULL) < 0 ||
	    hl_cache_load(cache, HL_CACHE_LINES, id, &bytes, &len) < 0)
		return -ENOENT;
	if (len == 0)
		return hl_err_set(err, -ENODATA, "%s has no debug information", HL_FILE_CALLED(file));
	if (add_kept_lines(symd, file, bytes, len, ret) == 0)
		return 0;
	hl_cache_reject(cache, HL_CACHE_LINES, id);
	return -ENOENT;
}

int hl_symd_lines_cached(struct hl_symd *symd, struct hl_cache *cache, uint32_t file, int fd, int package,
			 const struct hl_symd_lines_limits *limits, struct hl_symd_lines *ret,
			 struct hl_err *err)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t id[HL_SYMD_CONTENT_ID];
	int r;

	r = hl_symd_restore_lines(symd, cache, file, package, ret, err);
	if (r != -ENOENT)
		return r;
	if (!cache || content_given(symd, cache, file, package, id, err) < 0)
		return hl_symd_lines(symd, file, fd, limits, ret, NULL, err);
	r = hl_symd_lines(symd, file, fd, limits, ret, &bytes, err);
	/* What is lacking is counted by who reads it: a table that lacks something is made again. */
	if (r == 0 && !ret->damaged_units && !ret->deep_functions && !ret->missing_dwo)
		hl_cache_save(cache, HL_CACHE_LINES, id, bytes, ret->length);
	else if (r == -ENODATA)
		hl_cache_save(cache, HL_CACHE_LINES, id, "", 0);
	return r;
}
