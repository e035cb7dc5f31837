// SPDX-License-Identifier: BSD-2-Clause
#include "symd/client_keep.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "symd/wire.h"

/*
 * Each kept request holds a descriptor beside the caller's own. Files that fail are few; a host full of them makes
 * the oldest forgotten, which costs two more restarts.
 */
enum { MAX_KEPT = 8192, MAX_PAYLOAD = 64 << 10, MAX_FAILING = 1024, MAX_FAILURES = 2 };

static void release(struct hl_symd_kept *kept)
{
	hl_cleanup_close(&kept->fd);
	free(kept->payload);
}

void hl_symd_keep_done(struct hl_symd_keep *keep)
{
	for (size_t i = 0; i < keep->n; i++)
		release(&keep->items[i]);
	free(keep->items);
	free(keep->failing);
	*keep = (struct hl_symd_keep){ 0 };
}

static struct hl_symd_identity identify(int fd)
{
	struct statx st;

	/* What is known here: a server that is gone is not asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
		return (struct hl_symd_identity){ 0 };
	return (struct hl_symd_identity){ .device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
					  .inode = st.stx_ino,
					  .size = st.stx_size,
					  .mtime_sec = st.stx_mtime.tv_sec,
					  .mtime_nsec = st.stx_mtime.tv_nsec };
}

static bool is_same(const struct hl_symd_identity *a, const struct hl_symd_identity *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

struct hl_symd_subject hl_symd_subject_of(const struct hl_symd_request *request)
{
	switch (request->type) {
	case HL_SYMD_ADD_KALLSYMS:
		return (struct hl_symd_subject){ HL_SYMD_KERNEL, 0 };
	case HL_SYMD_ADD_MAP:
	case HL_SYMD_CODE:
		return (struct hl_symd_subject){ HL_SYMD_RAW, request->file };
	default:
		return (struct hl_symd_subject){ HL_SYMD_FILE, request->file };
	}
}

struct hl_symd_subject hl_symd_query_subject(const struct hl_symd_request *request, const void *payload,
					     uint32_t i)
{
	struct hl_symd_brief_query query;

	memcpy(&query, (const char *)payload + i * hl_symd_query_size(request), sizeof(query));
	return (struct hl_symd_subject){ query.place, query.file };
}

bool hl_symd_is_same_subject(struct hl_symd_subject a, struct hl_symd_subject b)
{
	return a.place == b.place && a.number == b.number;
}

static bool is_about(const struct hl_symd_kept *kept, struct hl_symd_subject subject)
{
	return hl_symd_is_same_subject(hl_symd_subject_of(&kept->request), subject);
}

/* Whether a request with a descriptor leaves something in the server. */
static bool adds(const struct hl_symd_request *request)
{
	return request->type != HL_SYMD_UNWIND && request->type != HL_SYMD_CONTENT;
}

/* Whether all that the server had of a file goes with @request. */
static bool begins_anew(const struct hl_symd_request *request)
{
	return request->type == HL_SYMD_ADD_FILE || request->type == HL_SYMD_DROP_FILE ||
	       request->type == HL_SYMD_ADD_KALLSYMS ||
	       (request->type == HL_SYMD_ADD_UNREAD && !(request->flags & HL_SYMD_OF_DEBUG));
}

static uint32_t kind_of_map(const void *payload)
{
	struct hl_symd_map map;

	memcpy(&map, payload, sizeof(map));
	return map.kind;
}

/* A request that was done, with its payload. */
struct deed {
	const struct hl_symd_request *request;
	const void *payload;
};

/* Whether @old means nothing any more once @deed was done. */
static bool is_replaced(const struct hl_symd_kept *old, const struct deed *deed)
{
	if (!is_about(old, hl_symd_subject_of(deed->request)))
		return false;
	if (begins_anew(deed->request))
		return true;
	switch (deed->request->type) {
	case HL_SYMD_ADD_NAMES:
		return old->request.type == HL_SYMD_ADD_NAMES;
	case HL_SYMD_ADD_MAP:
		return old->request.length == sizeof(struct hl_symd_map) &&
		       deed->request->length == sizeof(struct hl_symd_map) &&
		       kind_of_map(old->payload) == kind_of_map(deed->payload);
	default:
		return false;
	}
}

static bool is_replaced_by(const struct hl_symd_kept *kept, const void *deed)
{
	return is_replaced(kept, deed);
}

static bool has_identity(const struct hl_symd_kept *kept, const void *id)
{
	return is_same(&kept->id, id);
}

static void remove_if(struct hl_symd_keep *keep, bool (*goes)(const struct hl_symd_kept *, const void *),
		      const void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < keep->n; i++) {
		if (goes(&keep->items[i], arg)) {
			keep->n_given -= keep->items[i].given;
			release(&keep->items[i]);
		} else {
			keep->items[n++] = keep->items[i];
		}
	}
	keep->n = n;
}

/* False: no room, or no descriptor. */
static bool keep_one(struct hl_symd_keep *keep, const struct hl_symd_request *request, const void *payload,
		     int fd)
{
	struct hl_symd_kept kept = { .request = *request, .fd = -1, .id = identify(fd), .given = true };

	/* Nobody would take the table again. */
	kept.request.flags &= ~HL_SYMD_WANT_TABLE;
	if (request->length > MAX_PAYLOAD ||
	    hl_grow(&keep->items, &keep->cap, keep->n + 1, sizeof(*keep->items), MAX_KEPT) < 0)
		return false;
	if (request->length) {
		kept.payload = malloc(request->length);
		if (!kept.payload)
			return false;
		memcpy(kept.payload, payload, request->length);
	}
	kept.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (kept.fd < 0) {
		free(kept.payload);
		return false;
	}
	keep->items[keep->n++] = kept;
	keep->n_given++;
	return true;
}

void hl_symd_keep_note(struct hl_symd_keep *keep, const struct hl_symd_request *request, const void *payload,
		       int fd)
{
	const struct deed deed = { request, payload };

	remove_if(keep, is_replaced_by, &deed);
	if (fd >= 0 && adds(request) && !keep_one(keep, request, payload, fd))
		keep->unkept++;
}

void hl_symd_keep_forget_given(struct hl_symd_keep *keep)
{
	for (size_t i = 0; i < keep->n; i++)
		keep->items[i].given = false;
	keep->n_given = 0;
}

static bool is_kernel_file(struct hl_symd_subject subject)
{
	return subject.place == HL_SYMD_FILE && subject.number == HL_SYMD_KERNEL_FILE;
}

static bool is_wanted(const struct hl_symd_kept *kept, const struct hl_symd_request *request,
		      const void *payload)
{
	const struct deed deed = { request, payload };
	struct hl_symd_subject subject, query;

	if (request->type == HL_SYMD_UNWIND || is_replaced(kept, &deed))
		return false;
	subject = hl_symd_subject_of(&kept->request);
	if (request->type != HL_SYMD_RESOLVE || subject.place == HL_SYMD_KERNEL)
		return subject.place == HL_SYMD_KERNEL || is_about(kept, hl_symd_subject_of(request));
	for (uint32_t i = 0; i < request->count; i++) {
		query = hl_symd_query_subject(request, payload, i);
		if ((query.place == subject.place && query.number == subject.number) ||
		    (query.place == HL_SYMD_KERNEL && is_kernel_file(subject)))
			return true;
	}
	return false;
}

struct hl_symd_kept *hl_symd_keep_next(struct hl_symd_keep *keep, const struct hl_symd_request *request,
				       const void *payload, size_t *at)
{
	if (keep->n_given == keep->n)
		return NULL;
	while (*at < keep->n) {
		struct hl_symd_kept *kept = &keep->items[(*at)++];

		if (!kept->given && is_wanted(kept, request, payload))
			return kept;
	}
	return NULL;
}

static struct hl_symd_failing *find(const struct hl_symd_keep *keep, const struct hl_symd_identity *id)
{
	for (size_t i = 0; i < keep->n_failing; i++)
		if (is_same(&keep->failing[i].id, id))
			return &keep->failing[i];
	return NULL;
}

bool hl_symd_keep_is_denied(const struct hl_symd_keep *keep, int fd)
{
	struct hl_symd_identity id;
	const struct hl_symd_failing *failing;

	if (!keep->n_failing)
		return false;
	id = identify(fd);
	failing = find(keep, &id);
	return failing && failing->failures >= MAX_FAILURES;
}

static void blame(struct hl_symd_keep *keep, const struct hl_symd_identity *id)
{
	struct hl_symd_failing *failing = find(keep, id);

	if (!failing && keep->n_failing == MAX_FAILING) {
		keep->n_failing--;
		memmove(keep->failing, keep->failing + 1, keep->n_failing * sizeof(*keep->failing));
	}
	if (!failing) {
		if (hl_grow(&keep->failing, &keep->cap_failing, keep->n_failing + 1, sizeof(*keep->failing),
			    MAX_FAILING) < 0)
			return;
		failing = &keep->failing[keep->n_failing++];
		*failing = (struct hl_symd_failing){ .id = *id };
	}
	if (++failing->failures != MAX_FAILURES)
		return;
	keep->denied++;
	remove_if(keep, has_identity, id);
}

/* A file may have been given twice, for its names and for its lines: it fails once. */
static void add_culprit(struct hl_symd_culprits *whom, const struct hl_symd_identity *id)
{
	const size_t most = sizeof(whom->ids) / sizeof(whom->ids[0]);

	for (size_t i = 0; i < whom->n; i++)
		if (is_same(&whom->ids[i], id))
			return;
	if (whom->n < most)
		whom->ids[whom->n++] = *id;
}

void hl_symd_keep_culprits(const struct hl_symd_keep *keep, struct hl_symd_subject subject, int fd,
			   struct hl_symd_culprits *ret)
{
	ret->n = 0;
	ret->subject = subject;
	if (fd >= 0)
		ret->ids[ret->n++] = identify(fd);
	/* The kernel's names are not foreign: what kills is the bytes that are asked about. */
	if (fd >= 0 || subject.place == HL_SYMD_KERNEL)
		return;
	for (size_t i = 0; i < keep->n; i++)
		if (is_about(&keep->items[i], subject))
			add_culprit(ret, &keep->items[i].id);
}

void hl_symd_keep_blame(struct hl_symd_keep *keep, const struct hl_symd_culprits *whom)
{
	for (size_t i = 0; i < whom->n; i++)
		blame(keep, &whom->ids[i]);
}
