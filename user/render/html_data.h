/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HL_RENDER_HTML_DATA_H
#define HL_RENDER_HTML_DATA_H

#include "base/str.h"
#include "profile/profile.h"

struct hl_diff;

/*
 * The profile as the page reads it (user/render/page/decode.js), before gzip and base64. "v" is an unsigned
 * LEB128 varint, "s" a zigzag one; a string is a v, its index in the string table; a column is one value for
 * each item.
 *
 *   v version, 2
 *   v length of the string table in bytes; strings as clean UTF-8 without controls, "\n" between,
 *     sorted by their bytes before cleaning
 *   header
 *   v 0, or for a comparison 1 and then: header of the profile before; v 1 by time, 0 by samples; samples that
 *     were due before, after: v each, 0 not known; v thousandths of the standard deviations that are noise
 *   v number of nodes, in preorder, the root of roots first; v period; columns:
 *     of all but the first: v depth of the node before + 1 - depth
 *     of all but the first: v 1 + place of its frame in the list of its caller's frame, which holds the first
 *       HL_HTML_CALLEES frames called from that one, in the order of the nodes; 0 if not there
 *     where that is 0: v 0 if its frame is the next new one, else that one's number
 *     v samples of itself | s weight of itself less samples * period; of a comparison samples after | before,
 *       and the period is 0
 *   v number of frames; they stand in the order in which the nodes first use them, counted from 1; columns:
 *     v kind | v 2 * instruction class + kernel code | string name | string module | v address >> 32
 *     s address less offset, of an instruction less its first caller's address, of others less that number of
 *       the last one of them; modulo 2³²
 *     v offset
 *
 * where a header is
 *
 *   title host kernel version event decoders unit: strings
 *   v precise, frequency, cpus; start, end: each v seconds, v nanoseconds since the epoch
 *   v expected, seen, idle, filtered
 *   v busy CPUs, cost of programs, cost of process: 0 not known, else 1 + millionths of a CPU
 *   v number of losses; each: string name, string help, v samples, v kind
 *   v number of notes; each: string
 */

/* Long lists cost time and save nothing. */
enum { HL_HTML_CALLEES = 64 };
/* What a name longer than this many bytes is cut to; its length is said behind it. */
enum { HL_HTML_NAME_MAX = 4096 };

/* Appends the columns of the finished @profile to @out. 0 or -ENOMEM. */
int hl_html_data(const struct hl_profile *profile, const char *title, struct hl_str *out);
/* The same of a comparison. */
int hl_html_diff_data(const struct hl_diff *diff, const char *title, struct hl_str *out);

#endif
