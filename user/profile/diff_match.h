/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_PROFILE_DIFF_MATCH_H
#define HL_PROFILE_DIFF_MATCH_H

struct hl_profile;

/* The tree of both profiles, as struct hl_diff describes it, without a header. 0 or -ENOMEM. */
int hl_diff_match(const struct hl_profile *const sides[2], struct hl_profile **ret);

#endif
