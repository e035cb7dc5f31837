// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "sample/unwind_table.h"
#include "symd/client_answers.h"
#include "symd/client_call.h"
#include "symd/client_rescue.h"
#include "symd/number.h"
#include "symd/server.h"
#include "symd/transport.h"
#include "symd/wire.h"

enum { MAX_ERRNO = 4095 };

struct hl_symd {
	struct hl_symd_transport transport;
	struct hl_str payload; /* of the last reply */
	struct hl_str brief;   /* queries, shortened */
	uint64_t unanswered, parsed, restored;
	struct hl_symd_content *contents; /* by number of file */
	size_t n_contents, cap_contents;
};

struct hl_symd *hl_symd_new_over(struct hl_symd_transport transport, struct hl_err *err)
{
	struct hl_symd *symd = calloc(1, sizeof(*symd));

	if (!symd) {
		if (transport.free)
			transport.free(transport.ctx);
		(void)hl_err_errno(err, -ENOMEM, "cannot start symd");
		return NULL;
	}
	symd->transport = transport;
	return symd;
}

struct hl_symd *hl_symd_new_with(const struct hl_symd_options *options, struct hl_err *err)
{
	const struct hl_symd_options defaults = HL_SYMD_DEFAULTS;
	struct hl_symd_transport transport;

	if (hl_symd_transport_child(options ? options : &defaults, &transport, err) < 0)
		return NULL;
	return hl_symd_new_over(transport, err);
}

struct hl_symd *hl_symd_new(struct hl_err *err)
{
	return hl_symd_new_with(NULL, err);
}

void hl_symd_free(struct hl_symd *symd)
{
	if (!symd)
		return;
	if (symd->transport.free)
		symd->transport.free(symd->transport.ctx);
	hl_str_done(&symd->payload);
	hl_str_done(&symd->brief);
	free(symd->contents);
	free(symd);
}

/* Whether the server has to read more of a file than its bytes. */
static bool parses(uint32_t type)
{
	return type == HL_SYMD_ADD_FILE || type == HL_SYMD_ADD_DEBUG || type == HL_SYMD_UNWIND ||
	       type == HL_SYMD_LINES || type == HL_SYMD_WANTED || type == HL_SYMD_ADD_ALT ||
	       type == HL_SYMD_ADD_DWO;
}

/*
 * Sends a request and leaves the payload of the reply in symd->payload. The server parses hostile files and
 * may be in their hands: what it says is checked here and by the callers.
 */
static int call(struct hl_symd *symd, const struct hl_symd_request *request, const void *payload, int fd,
		struct hl_symd_reply *reply, struct hl_err *err)
{
	int r = symd->transport.call(symd->transport.ctx, request, payload, fd, reply, &symd->payload, err);

	if (r < 0)
		return r;
	symd->parsed += parses(request->type);
	symd->restored += reply->status == 0 &&
			  (request->type == HL_SYMD_ADD_NAMES || request->type == HL_SYMD_ADD_LINES);
	if (reply->status > 0 || reply->status < -MAX_ERRNO)
		return hl_err_set(err, -EPROTO, "symd answered with status %d", reply->status);
	if (reply->status < 0) {
		reply->error[sizeof(reply->error) - 1] = '\0';
		return hl_err_set(err, reply->status, "%s", reply->error);
	}
	if (symd->payload.failed || reply->length != symd->payload.len)
		return hl_err_set(err, -EPROTO, "symd announced %llu bytes and sent %zu",
				  (unsigned long long)reply->length, symd->payload.len);
	return 0;
}

int hl_symd_checked(struct hl_symd *symd, int r)
{
	if (r == -EPROTO && symd->transport.distrust)
		symd->transport.distrust(symd->transport.ctx);
	return r;
}

void hl_symd_stats(const struct hl_symd *symd, struct hl_symd_stats *ret)
{
	*ret = (struct hl_symd_stats){ 0 };
	if (symd->transport.stats)
		symd->transport.stats(symd->transport.ctx, ret);
	ret->unanswered = symd->unanswered;
	ret->parsed = symd->parsed;
	ret->restored = symd->restored;
}

int hl_symd_call(struct hl_symd *symd, const struct hl_symd_request *request, const void *payload, int fd,
		 const struct hl_str **ret, struct hl_err *err)
{
	struct hl_symd_reply reply = { 0 };
	int r = call(symd, request, payload, fd, &reply, err);

	*ret = &symd->payload;
	return r;
}

static bool is_file_sound(const struct hl_symd_file *file)
{
	const char *end = memchr(file->debuglink, 0, sizeof(file->debuglink));

	return file->build_id_len <= sizeof(file->build_id) && end && !strchr(file->debuglink, '/') &&
	       strcmp(file->debuglink, ".") != 0 && strcmp(file->debuglink, "..") != 0;
}

struct hl_symd_content *hl_symd_content_of(struct hl_symd *symd, uint32_t file)
{
	if (hl_grow(&symd->contents, &symd->cap_contents, (size_t)file + 1, sizeof(*symd->contents),
		    (size_t)UINT32_MAX + 1) < 0)
		return NULL;
	while (symd->n_contents <= file)
		symd->contents[symd->n_contents++] = (struct hl_symd_content){ .known = false };
	return &symd->contents[file];
}

static void forget_content(struct hl_symd *symd, uint32_t file)
{
	if (file < symd->n_contents)
		symd->contents[file].known = false;
}

int hl_symd_take_file(uint32_t file, const void *bytes, size_t len, struct hl_symd_file *ret,
		      struct hl_err *err)
{
	struct hl_symd_file answer;

	if (len != sizeof(answer))
		return hl_err_set(err, -EPROTO, "symd described a file in %zu bytes, not %zu", len,
				  sizeof(answer));
	memcpy(&answer, bytes, sizeof(answer));
	if (!is_file_sound(&answer))
		return hl_err_set(err, -EPROTO, "symd described %s with a damaged build-id or debuglink",
				  HL_FILE_CALLED(file));
	answer.has_symtab = answer.has_symtab != 0;
	answer.refused &= HL_SYMD_REFUSED_DEBUGDATA | HL_SYMD_REFUSED_FAR;
	*ret = answer;
	return 0;
}

/* Copies the table behind the first @skip bytes of the payload. */
static int take_table(const struct hl_symd *symd, size_t skip, uint8_t **ret, size_t *ret_len,
		      struct hl_err *err)
{
	size_t len = symd->payload.len - skip;
	uint8_t *table = malloc(len + 1);

	if (!table)
		return hl_err_errno(err, -ENOMEM, "no room for a table of functions");
	if (len)
		memcpy(table, symd->payload.data + skip, len);
	*ret = table;
	*ret_len = len;
	return 0;
}

static int add_file(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
		    uint8_t **ret_table, size_t *ret_len, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_FILE,
					   .file = file,
					   .flags = ret_table ? HL_SYMD_WANT_TABLE : 0 };
	struct hl_symd_reply reply = { 0 };
	struct hl_symd_file about;
	size_t len;
	int r;

	forget_content(symd, file);
	r = call(symd, &request, NULL, fd, &reply, err);
	if (r < 0)
		return r;
	len = symd->payload.len;
	if (ret_table && len > sizeof(about))
		len = sizeof(about);
	r = hl_symd_take_file(file, symd->payload.data, len, &about, err);
	if (r == 0 && ret_table)
		r = take_table(symd, len, ret_table, ret_len, err);
	if (r == 0)
		*ret = about;
	return r;
}

int hl_symd_add_file(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
		     struct hl_err *err)
{
	return hl_symd_checked(symd, add_file(symd, file, fd, ret, NULL, NULL, err));
}

int hl_symd_add_file_whole(struct hl_symd *symd, uint32_t file, int fd, struct hl_symd_file *ret,
			   uint8_t **ret_table, size_t *ret_len, struct hl_err *err)
{
	return hl_symd_checked(symd, add_file(symd, file, fd, ret, ret_table, ret_len, err));
}

int hl_symd_add_debug_whole(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret_table, size_t *ret_len,
			    struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_DEBUG,
					   .file = file,
					   .flags = ret_table ? HL_SYMD_WANT_TABLE : 0 };
	struct hl_symd_reply reply = { 0 };
	int r = call(symd, &request, NULL, fd, &reply, err);

	if (r == 0)
		forget_content(symd, file);
	if (r == 0 && ret_table)
		r = take_table(symd, 0, ret_table, ret_len, err);
	return hl_symd_checked(symd, r);
}

int hl_symd_add_debug(struct hl_symd *symd, uint32_t file, int fd, struct hl_err *err)
{
	return hl_symd_add_debug_whole(symd, file, fd, NULL, NULL, err);
}

int hl_symd_add_kallsyms(struct hl_symd *symd, int fd, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_KALLSYMS };
	struct hl_symd_reply reply = { 0 };

	return hl_symd_checked(symd, call(symd, &request, NULL, fd, &reply, err));
}

static int unwind(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret, size_t *ret_len,
		  struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_UNWIND, .file = file };
	struct hl_symd_reply reply = { 0 };
	int r = call(symd, &request, NULL, fd, &reply, err);

	if (r < 0)
		return r;
	if (hl_unwind_check(symd->payload.data, symd->payload.len, err) < 0)
		return hl_err_prefix(err, -EPROTO, "symd's answer for %s", HL_FILE_CALLED(file));
	/* The table is as large as a payload gets: it changes hands rather than being copied. */
	*ret = (uint8_t *)symd->payload.data;
	*ret_len = symd->payload.len;
	symd->payload = (struct hl_str){ 0 };
	return 0;
}

int hl_symd_unwind(struct hl_symd *symd, uint32_t file, int fd, uint8_t **ret, size_t *ret_len,
		   struct hl_err *err)
{
	return hl_symd_checked(symd, unwind(symd, file, fd, ret, ret_len, err));
}

int hl_symd_add_map(struct hl_symd *symd, uint32_t process, int fd, const struct hl_symd_map *map,
		    struct hl_symd_map_counts *ret, struct hl_err *err)
{
	struct hl_symd_request request = { .type = HL_SYMD_ADD_MAP, .file = process, .length = sizeof(*map) };
	struct hl_symd_reply reply = { 0 };
	int r = call(symd, &request, map, fd, &reply, err);

	if (r == 0 && symd->payload.len != sizeof(*ret))
		r = hl_err_set(err, -EPROTO, "symd counted a map in %zu bytes, not %zu", symd->payload.len,
			       sizeof(*ret));
	if (r < 0)
		return hl_symd_checked(symd, r);
	memcpy(ret, symd->payload.data, sizeof(*ret));
	return 0;
}

/* How many of the first ones of @queries ask for functions only. */
static size_t count_brief(const struct hl_symd_query *queries, size_t n, uint32_t flags)
{
	size_t i = 0;

	if (flags & (HL_SYMD_WANT_INLINES | HL_SYMD_WANT_LINES))
		return 0;
	while (i < n && !(queries[i].flags & (HL_SYMD_WANT_TEXT | HL_SYMD_SW_CLOCK)))
		i++;
	return i;
}

/* What @queries ask, in short. NULL: no memory. Lives until the next call of this. */
static const void *shorten(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n)
{
	struct hl_symd_brief_query *brief;

	hl_str_clear(&symd->brief);
	brief = (struct hl_symd_brief_query *)(void *)hl_str_extend(&symd->brief, n * sizeof(*brief));
	for (size_t i = 0; brief && i < n; i++)
		brief[i] = (struct hl_symd_brief_query){ queries[i].where, queries[i].file, queries[i].place,
							 0 };
	return brief;
}

int hl_symd_ask(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		struct hl_symd_answers *ret, struct hl_err *err)
{
	bool brief = flags & HL_SYMD_BRIEF;
	const void *payload = brief ? shorten(symd, queries, n) : queries;
	struct hl_symd_request request = { .type = HL_SYMD_RESOLVE, .count = (uint32_t)n, .flags = flags };
	struct hl_symd_reply reply = { 0 };
	int r;

	if (!payload)
		return hl_err_errno(err, -ENOMEM, "no room for %zu queries", n);
	request.length = n * hl_symd_query_size(&request);
	r = call(symd, &request, payload, -1, &reply, err);
	if (r == 0 && reply.count != n)
		r = hl_err_set(err, -EPROTO, "symd answered %u of %zu queries", reply.count, n);
	if (r == 0)
		r = hl_symd_take_answers(&symd->payload, n, brief, ret, err);
	return hl_symd_checked(symd, r);
}

/* As many of the first queries as go into one request, all of a kind; says in *@flags of which. */
static size_t choose_batch(const struct hl_symd_query *queries, size_t n, uint32_t *flags)
{
	size_t most = n < HL_SYMD_QUERIES_MAX ? n : HL_SYMD_QUERIES_MAX;
	size_t brief = count_brief(queries, n < HL_SYMD_BRIEF_MAX ? n : HL_SYMD_BRIEF_MAX, *flags);

	*flags &= ~HL_SYMD_BRIEF;
	/* Not for a few, of which each change of the kind would make a request. */
	if (brief < most)
		return most;
	*flags |= HL_SYMD_BRIEF;
	return brief;
}

void hl_symd_leave_unanswered(struct hl_symd *symd, const struct hl_symd_query *query,
			      struct hl_symd_answers *ret)
{
	struct hl_symd_answer *a = &ret->items[ret->n++];

	*a = (struct hl_symd_answer){ .address = query->where, .function = query->where };
	a->flags = (uint16_t)((query->place == HL_SYMD_FILE ? HL_SYMD_UNMAPPED : 0) |
			      (query->flags & HL_SYMD_WANT_TEXT ? HL_SYMD_NO_BYTES : 0));
	symd->unanswered++;
}

int hl_symd_resolve(struct hl_symd *symd, const struct hl_symd_query *queries, size_t n, uint32_t flags,
		    struct hl_symd_answers *ret, struct hl_err *err)
{
	size_t i, here;
	int r;

	ret->n = ret->n_inlined = ret->strings_len = 0;
	r = hl_grow(&ret->items, &ret->cap, n, sizeof(*ret->items), UINT32_MAX);
	if (r < 0)
		return hl_err_errno(err, r, "no room for %zu answers", n);
	for (i = 0; i < n && r == 0; i += here) {
		here = choose_batch(queries + i, n - i, &flags);
		r = hl_symd_ask(symd, queries + i, here, flags, ret, err);
		/* A transport that says whom it trusts has another server by now. */
		if (r < 0 && symd->transport.distrust)
			r = hl_symd_rescue(symd, queries + i, here, flags, ret, err);
	}
	if (r < 0)
		ret->n = ret->n_inlined = ret->strings_len = 0;
	return r;
}
