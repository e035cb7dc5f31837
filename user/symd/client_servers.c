// SPDX-License-Identifier: BSD-2-Clause
/*
 * A server that does not stay dead. A request that kills its child is put to a fresh one, which is first given
 * what the request is about; a file that kills two of them is denied. A request about several files at once
 * says nothing about who is to blame: it fails, and the client asks about each of them alone.
 */
#include "symd/transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "symd/client.h"
#include "symd/client_child.h"
#include "symd/client_keep.h"
#include "symd/number.h"

/*
 * REAP_MS is how long a killed child may take to end before it is left in the kernel, and so many may be left
 * there. TURNS bounds one request whatever its child and its files do.
 */
enum { REAP_MS = 1000, MAX_STUCK = 8, TURNS = 32 };

struct servers {
	struct hl_symd_options options;
	struct hl_symd_child *child; /* NULL: to be started */
	bool fresh;                  /* it has answered nothing yet */
	struct hl_symd_child *stuck[MAX_STUCK];
	size_t n_stuck;
	struct hl_symd_keep keep;
	struct hl_symd_stats stats;
	struct hl_symd_culprits last; /* of the last request, should its answer prove to be nonsense */
};

/* One request on its way. */
struct errand {
	const struct hl_symd_request *request;
	const void *payload;
	int fd;
	struct hl_symd_subject subject; /* what it is about */
	bool is_several;                /* it is about more than that */
};

static struct errand make_errand(const struct hl_symd_request *request, const void *payload, int fd)
{
	struct errand e = { .request = request, .payload = payload, .fd = fd };

	if (request->type != HL_SYMD_RESOLVE) {
		e.subject = hl_symd_subject_of(request);
		return e;
	}
	if (request->count)
		e.subject = hl_symd_query_subject(request, payload, 0);
	/* Each batch goes through this loop. */
	for (uint32_t i = 1; i < request->count && !e.is_several; i++) {
		struct hl_symd_subject other = hl_symd_query_subject(request, payload, i);

		e.is_several = other.place != e.subject.place || other.number != e.subject.number;
	}
	return e;
}

static void reap(struct servers *s, struct hl_symd_child *child, uint32_t ms)
{
	if (child && !hl_symd_child_reap(child, ms, &s->stats.cpu_ns))
		s->stuck[s->n_stuck++] = child;
}

static void stop(struct servers *s)
{
	if (!s->child)
		return;
	hl_symd_child_kill(s->child);
	reap(s, s->child, REAP_MS);
	s->child = NULL;
	hl_symd_keep_forget_given(&s->keep);
}

static void reap_stuck(struct servers *s)
{
	struct hl_symd_child *stuck[MAX_STUCK];
	size_t n = s->n_stuck;

	memcpy(stuck, s->stuck, sizeof(stuck));
	s->n_stuck = 0;
	for (size_t i = 0; i < n; i++)
		reap(s, stuck[i], 0);
}

static int start(struct servers *s, struct hl_err *err)
{
	int r;

	if (s->child)
		return 0;
	reap_stuck(s);
	if (s->n_stuck == MAX_STUCK)
		return hl_err_set(err, -EBUSY, "%d symd processes are stuck in the kernel", MAX_STUCK);
	r = hl_symd_child_start(&s->options, &s->child, err);
	s->stats.starts++;
	s->fresh = true;
	if (r < 0)
		stop(s);
	else
		s->stats.guards = hl_symd_child_guards(s->child);
	return r;
}

/* Writes how @subject is called to @ret. */
static const char *call_subject(struct hl_symd_subject subject, char *ret, size_t size)
{
	if (subject.place != HL_SYMD_RAW)
		return hl_symd_call_file(ret, size, subject.number);
	(void)snprintf(ret, size, "the code of process %u", subject.number);
	return ret;
}

/* Counts a failure of the child while it had to do with @whom. */
static void blame(struct servers *s, const struct hl_symd_culprits *whom, const char *why)
{
	char called[48];
	const char *name = call_subject(whom->subject, called, sizeof(called));
	uint64_t denied = s->keep.denied;

	s->stats.failures++;
	stop(s);
	hl_symd_keep_blame(&s->keep, whom);
	if (s->keep.denied > denied)
		hl_log_once(HL_LOG_WARNING, "symd", "%s is given up, symd failed on it twice: %s", name, why);
	else
		hl_debug("symd", "failed on %s: %s", name, why);
}

/* Gives the child what @e is about and it lacks. -EAGAIN: it did not survive that. */
static int give(struct servers *s, const struct errand *e)
{
	struct hl_str payload = { 0 };
	struct hl_symd_reply reply;
	struct hl_symd_kept *kept;
	struct hl_err err = { "" };
	size_t at = 0;
	int r = 0;

	while (r == 0 && (kept = hl_symd_keep_next(&s->keep, e->request, e->payload, &at))) {
		if (kept->request.type == HL_SYMD_ADD_KALLSYMS)
			(void)lseek(kept->fd, 0, SEEK_SET);
		r = hl_symd_child_call(s->child, &kept->request, kept->payload, kept->fd, &reply, &payload,
				       &err);
		kept->given = true;
		s->keep.n_given++;
		if (r < 0) {
			const struct hl_symd_culprits whom = { 1,
							       { kept->id },
							       hl_symd_subject_of(&kept->request) };

			blame(s, &whom, err.text);
		}
	}
	hl_str_done(&payload);
	return r < 0 ? -EAGAIN : 0;
}

static struct hl_symd_culprits find_culprits(const struct servers *s, const struct errand *e)
{
	struct hl_symd_culprits whom = { .n = 0 };

	if (!e->is_several)
		hl_symd_keep_culprits(&s->keep, e->subject, e->fd, &whom);
	return whom;
}

static void note(struct servers *s, const struct errand *e, const struct hl_symd_reply *reply)
{
	s->last = find_culprits(s, e);
	if (reply->status == 0)
		hl_symd_keep_note(&s->keep, e->request, e->payload, e->fd);
	s->fresh = false;
}

/* One try. -EAGAIN: it failed and is worth another. */
static int attempt(struct servers *s, const struct errand *e, struct hl_symd_reply *ret,
		   struct hl_str *ret_payload, unsigned int *failures, struct hl_err *err)
{
	struct hl_symd_culprits whom;
	bool was_fresh;
	int r = start(s, err);

	if (r < 0)
		return r;
	was_fresh = s->fresh;
	r = give(s, e);
	if (r < 0)
		return r;
	r = hl_symd_child_call(s->child, e->request, e->payload, e->fd, ret, ret_payload, err);
	if (r == 0 && ret->status == -ENOMEM && !was_fresh) {
		/* Perhaps for what other files left behind. */
		stop(s);
		return -EAGAIN;
	}
	if (r == 0) {
		note(s, e, ret);
		return 0;
	}
	if (r == -EPIPE && !was_fresh) {
		/* It had ended before: by the OOM killer, or the last answer was its undoing. */
		s->stats.failures++;
		stop(s);
		return -EAGAIN;
	}
	(*failures)++;
	whom = find_culprits(s, e);
	blame(s, &whom, err->text);
	/* The client asks in smaller parts where that can tell more. */
	return e->request->type == HL_SYMD_RESOLVE && !whom.n ? r : -EAGAIN;
}

static int refuse(const struct errand *e, struct hl_symd_reply *ret, struct hl_str *ret_payload)
{
	char called[48];

	*ret = (struct hl_symd_reply){ .status = -ENOTRECOVERABLE };
	(void)snprintf(ret->error, sizeof(ret->error), "symd failed on %s twice",
		       call_subject(e->subject, called, sizeof(called)));
	hl_str_clear(ret_payload);
	return 0;
}

/* Three failures: two that deny the file, and one without it. */
static int servers_call(void *ctx, const struct hl_symd_request *request, const void *payload, int fd,
			struct hl_symd_reply *ret, struct hl_str *ret_payload, struct hl_err *err)
{
	const struct errand e = make_errand(request, payload, fd);
	struct hl_err reason = { "" };
	struct servers *s = ctx;
	unsigned int failures = 0;
	int r = -EAGAIN;

	for (int turn = 0; r == -EAGAIN && failures < 3 && turn < TURNS; turn++) {
		if (fd >= 0 && hl_symd_keep_is_denied(&s->keep, fd))
			return refuse(&e, ret, ret_payload);
		r = attempt(s, &e, ret, ret_payload, &failures, &reason);
	}
	return r < 0 ? hl_err_set(err, r, "symd: %s", reason.text) : 0;
}

static void servers_distrust(void *ctx)
{
	struct servers *s = ctx;

	blame(s, &s->last, "its answer is damaged");
}

static void servers_stats(const void *ctx, struct hl_symd_stats *ret)
{
	const struct servers *s = ctx;

	*ret = s->stats;
	ret->denied = s->keep.denied;
	ret->unkept = s->keep.unkept;
	if (s->child)
		ret->cpu_ns += hl_symd_child_cpu_ns(s->child);
}

static void servers_free(void *ctx)
{
	struct servers *s = ctx;

	stop(s);
	reap_stuck(s);
	hl_symd_keep_done(&s->keep);
	free(s);
}

int hl_symd_transport_child(const struct hl_symd_options *options, struct hl_symd_transport *ret,
			    struct hl_err *err)
{
	struct servers *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return hl_err_errno(err, -ENOMEM, "cannot start symd");
	s->options = *options;
	r = start(s, err);
	if (r < 0) {
		servers_free(s);
		return r;
	}
	*ret = (struct hl_symd_transport){ .call = servers_call,
					   .distrust = servers_distrust,
					   .stats = servers_stats,
					   .free = servers_free,
					   .ctx = s };
	return 0;
}
