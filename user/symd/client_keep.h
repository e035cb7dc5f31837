/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_SYMD_CLIENT_KEEP_H
#define HL_SYMD_CLIENT_KEEP_H

/* What the parent remembers of files, across children; private to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hotleaf/symd.h>

/* A file as the kernel names it; `size` and `mtime` since a file may be rewritten in place. */
struct hl_symd_identity {
	uint64_t device, inode, size;
	int64_t mtime_sec, mtime_nsec;
};

/* What a request or a query is about, by the client's number: files and processes have numbers of their own. */
struct hl_symd_subject {
	uint32_t place; /* enum hl_symd_place: a file, the kernel, the code that a process made */
	uint32_t number;
};
struct hl_symd_subject hl_symd_subject_of(const struct hl_symd_request *request); /* not of RESOLVE */
/* Of query @i of RESOLVE; @payload holds them. */
struct hl_symd_subject hl_symd_query_subject(const struct hl_symd_request *request, const void *payload,
					     uint32_t i);
bool hl_symd_is_same_subject(struct hl_symd_subject a, struct hl_symd_subject b);

struct hl_symd_failing {
	struct hl_symd_identity id;
	unsigned int failures;
};

/* A request that made something known to the child, to be repeated to the next one. */
struct hl_symd_kept {
	struct hl_symd_request request;
	void *payload; /* owned; NULL: none */
	int fd;        /* owned */
	struct hl_symd_identity id;
	bool given; /* the child of now has it */
};

/* Zero-initialised is empty. */
struct hl_symd_keep {
	struct hl_symd_kept *items; /* in the order in which they came */
	size_t n, cap;
	size_t n_given;
	struct hl_symd_failing *failing;
	size_t n_failing, cap_failing;
	uint64_t denied, unkept;
};

void hl_symd_keep_done(struct hl_symd_keep *keep);

/* Notes a request that succeeded: what it added, replaced or dropped. */
void hl_symd_keep_note(struct hl_symd_keep *keep, const struct hl_symd_request *request, const void *payload,
		       int fd);
/* There is a new child, which has nothing. */
void hl_symd_keep_forget_given(struct hl_symd_keep *keep);

/*
 * The next kept request, at or after *@at, that the child lacks and that @request, with its payload, is
 * about; NULL: none. *@at is moved past it.
 */
struct hl_symd_kept *hl_symd_keep_next(struct hl_symd_keep *keep, const struct hl_symd_request *request,
				       const void *payload, size_t *at);

bool hl_symd_keep_is_denied(const struct hl_symd_keep *keep, int fd);

/* What a request had to do with. */
struct hl_symd_culprits {
	size_t n; /* 0: with no file, or with several */
	struct hl_symd_identity ids[8];
	struct hl_symd_subject subject;
};

/* The file at @fd; without one (-1), what is kept of @subject. */
void hl_symd_keep_culprits(const struct hl_symd_keep *keep, struct hl_symd_subject subject, int fd,
			   struct hl_symd_culprits *ret);
/* The child failed on them. The second time, a file is denied and no longer kept. */
void hl_symd_keep_blame(struct hl_symd_keep *keep, const struct hl_symd_culprits *whom);

#endif
