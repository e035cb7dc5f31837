/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_STORE_DAY_OWNERS_H
#define HL_STORE_DAY_OWNERS_H

#include <stdint.h>

#include "base/err.h"

struct day_reader;
struct hl_profile;
struct hl_store_query;

/* Under which frames the samples of a day's threads stand, found when a thread is first met. */
struct day_owners;

/* @event is that of the windows to be read; frames go to @profile. 0 or -errno. */
int day_owners_new(struct day_reader *day, const struct hl_store_query *query, const char *event,
		   struct hl_profile *profile, struct day_owners **ret, struct hl_err *err);
void day_owners_free(struct day_owners *owners);

/* No root: the samples are not shown, for the reason of hl_store_query.root. */
enum { DAY_ROOT_NOT_ASKED = 0, DAY_ROOT_EXCLUDED = 1, DAY_ROOT_FIRST = 2 };

/*
 * The root of @thread on the host of source number @source, counted from 0. 0; -EBADMSG: there is no such
 * thread, or what it points to is damaged; or -errno.
 */
int day_owners_root(struct day_owners *owners, uint32_t source, uint32_t thread, uint32_t *ret,
		    struct hl_err *err);
/* The root of piece @piece of a query that has pieces. 0 or -errno. */
int day_owners_piece(struct day_owners *owners, uint64_t piece, uint32_t *ret);
/* The frames of a root, outermost first, at most DAY_ROOT_MAX. */
enum { DAY_ROOT_MAX = 64 };
const uint32_t *day_owners_frames(const struct day_owners *owners, uint32_t root, uint32_t *ret_n);

#endif
